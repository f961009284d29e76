package uitest

import (
	"testing"
	"testing/synctest"

	tea "charm.land/bubbletea/v2"
)

// echo shows the last key it got and quits on q.
type echo struct{ last string }

func (e *echo) Init() tea.Cmd { return nil }

func (e *echo) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		e.last = k.String()
		if e.last == "q" {
			return e, tea.Quit
		}
	}
	return e, nil
}

func (e *echo) View() tea.View {
	v := tea.NewView("first line\nkey=" + e.last)
	v.AltScreen = true
	v.WindowTitle = "echo"
	return v
}

// The harness shows what a terminal shows, decodes input and ends cleanly.
func TestTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tm := Start(t, &echo{}, Options{W: 20, H: 4})
		tm.Must("first line")
		tm.Keys("ctrl+a")
		tm.Must("key=ctrl+a")
		tm.Raw("\x1b[A")
		tm.Must("key=up")
		if x, y := tm.Find("key="); x != 0 || y != 1 {
			t.Errorf("Find gave %d,%d", x, y)
		}
		if !tm.AltScreen() || tm.Title() != "echo" {
			t.Errorf("alternate screen %v, title %q", tm.AltScreen(), tm.Title())
		}
		tm.Keys("space")
		tm.Must("key=space")
		tm.Keys("q")
		if !tm.Ended() || tm.AltScreen() {
			t.Errorf("ended %v, alternate screen %v", tm.Ended(), tm.AltScreen())
		}
	})
}
