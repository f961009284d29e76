package ui_test

import (
	"os"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"signalbox/ui"
	"signalbox/ui/uitest"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // the wall clock in the header
	os.Exit(m.Run())
}

// The canonical screens. Run with -update after a change that was looked at.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		name string
		w, h int
		keys []string
	}{
		{"queue-80x24", 80, 24, nil},
		{"queue-120x40", 120, 40, nil},
		{"accept-80x24", 80, 24, []string{"down", "a"}},
		{"sheet-120x40", 120, 40, []string{"enter"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := world(t, ui.Options{CarriesOwner: true}, uitest.Options{W: c.w, H: c.h})
				r.Keys(c.keys...)
				golden.RequireEqual(t, r.Screen()+"\n")
			})
		})
	}
}
