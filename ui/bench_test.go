package ui

import (
	"fmt"
	"testing"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/pane/worlds"
	"signalbox/ui/screen"
	"signalbox/ui/uitest"
)

// BenchmarkView draws a whole frame at 240×70 with 10 000 items, 200 agents and 50
// live tasks. The target is 4 ms, 2 ms on the Tasks screen.
func BenchmarkView(b *testing.B) {
	for _, id := range []screen.ID{screen.Queue, screen.Board, screen.Tasks, screen.Feed, screen.Agents, screen.Log} {
		b.Run(string(id), func(b *testing.B) {
			m := New(b.Context(), Options{})
			m.state = worlds.Many(10_000, 200, 50)
			m.size = size{240, 70, Layout(240, 70)}
			m.goTo(id)
			m.View()
			b.ResetTimer()
			for b.Loop() {
				m.View()
			}
		})
	}
}

// BenchmarkKey is what one key costs, with its frame.
func BenchmarkKey(b *testing.B) {
	m := New(b.Context(), Options{})
	m.state = worlds.Many(10_000, 200, 50)
	m.size = size{240, 70, Layout(240, 70)}
	keys := []string{"j", "j", "k", "pgdown", "pgup"}
	i := 0
	for b.Loop() {
		m.Update(uitest.Key(keys[i%len(keys)]))
		m.View()
		i++
	}
}

// BenchmarkPalette searches 10 000 items for what was typed.
func BenchmarkPalette(b *testing.B) {
	m := New(b.Context(), Options{})
	m.state = worlds.Many(10_000, 200, 50)
	m.size = size{240, 70, Layout(240, 70)}
	m.openPalette(nil)
	i := 0
	for b.Loop() {
		m.input.ed.Set(fmt.Sprintf("work %d", i%7))
		m.search()
		i++
	}
}

// BenchmarkFacts is what one event of the owner costs, with its frame.
func BenchmarkFacts(b *testing.B) {
	m := New(b.Context(), Options{})
	m.state = worlds.Many(10_000, 200, 50)
	m.size = size{240, 70, Layout(240, 70)}
	now := m.clock.now
	rev := m.state.Revision
	it := uitest.Item("work:bench", "Bench", acop.StatusReady, 1, now)
	for b.Loop() {
		rev++
		m.Update(FactsMsg{Facts: []fleet.Fact{uitest.Changed(it, acop.VerbPut, rev, now)}})
		m.View()
	}
}
