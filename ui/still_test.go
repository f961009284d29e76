package ui

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"signalbox/ui/pane/worlds"
	"signalbox/ui/uitest"
)

// B95: behind a terminal that takes nothing the frame stays what it is, but for another
// size, and for the blank one at the end.
func TestFrameStandsStill(t *testing.T) {
	m := sweepModel(t, worlds.One(), [2]int{120, 40})
	behind := false
	m.opts.TerminalBehind = func() bool { return behind }
	first := m.View().Content
	behind = true
	m.onKey(uitest.Key("2"))
	if m.View().Content != first {
		t.Error("a key draws a frame that only waits")
	}
	m.onSize(tea.WindowSizeMsg{Width: 80, Height: 24})
	small := m.View().Content
	worlds.Exact(t, "behind", small, 80, 24)
	m.onKey(uitest.Key("3"))
	if m.View().Content != small {
		t.Error("the second key draws a frame")
	}
	m.leave()
	if m.View().Content != "" {
		t.Error("what is left is not blank")
	}
}
