package ui

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"signalbox/model/acop"
	"signalbox/ui/screen"
	"signalbox/ui/uitest"
)

// However many items fit what was typed, an action whose name begins so is found, and
// stands before them.
func TestPaletteFindsActionsAmongManyItems(t *testing.T) {
	m := model(t, Options{})
	now := time.Now()
	for i := range 3 * paletteLimit {
		it := uitest.Item(fmt.Sprintf("re:%d", i), "re", acop.StatusReady, uint64(3000+i), now)
		m.apply(uitest.Changed(it, acop.VerbPut, uint64(3000+i), now))
	}
	m.openPalette(nil)
	for typed, want := range map[string]string{"re": "re-send", "r": "requeue", "mark": "mark all"} {
		m.input.ed.Set(typed)
		m.search()
		at, firstItem := -1, len(m.input.found)
		for i, c := range m.input.found {
			if c.name == want && at < 0 {
				at = i
			}
			if c.kind == "item" {
				firstItem = min(firstItem, i)
			}
		}
		if at < 0 || at > firstItem {
			t.Errorf("%q: %s is at %d, the first item at %d of %d", typed, want, at, firstItem, len(m.input.found))
		}
		if n := len(m.input.found); n > paletteLimit {
			t.Errorf("%q: %d are listed", typed, n)
		}
	}
}

// Letters scattered over a description find nothing; what somebody holds is found by
// the holder, several words in any order, and a name by its scattered letters.
func TestPaletteFindsWhatWasMeant(t *testing.T) {
	m := model(t, Options{})
	m.openPalette(nil)
	for typed, want := range map[string][]string{
		"worker-2":     {"worker-2", "work:http:pool"},
		"table draw":   {"work:ui:table"},
		"rvk":          {"revoke"},
		"wrkhttppool":  {"work:http:pool"},
		"zzzz":         nil,
		"index events": {"work:db:index"},
	} {
		m.input.ed.Set(typed)
		m.search()
		var got []string
		for _, c := range m.input.found {
			got = append(got, c.name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", typed, got, want)
		}
	}
}

// What cannot act now stays picked and says why; enter must not run another action
// only because its description speaks of what was typed.
func TestPaletteRunsOnlyWhatWasNamed(t *testing.T) {
	m := model(t, Options{})
	m.goTo(screen.Tasks) // no row of it can be granted
	m.openPalette(nil)
	m.input.ed.Set("gr")
	m.search()
	at := m.input.found[m.input.pick]
	if at.name != "grant" || at.why == "" {
		t.Errorf("picked %q (%q), want grant, which cannot act", at.name, at.why)
	}
}
