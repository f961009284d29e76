package ui_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// lose tells that the owner is gone, which makes a toast.
func (r *rig) lose() {
	r.facts(fleet.LinkChanged{Link: fleet.Link{State: fleet.LinkDegraded, Server: "http://127.0.0.1:7700",
		Since: time.Now(), LastSeen: time.Now(), Try: 1, Problem: "refused"}})
}

// What is open stays where it is when a toast comes and when it goes.
func TestToastMovesNothingOpen(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		sign string
	}{
		"dialog": {[]string{"i"}, "Invoke"}, "help": {[]string{"?"}, "Keys, as they are now"},
		"palette": {[]string{":"}, " Commands "}, "sheet": {[]string{"enter"}, "Item work:"},
		"sheet's text": {[]string{"enter"}, "summary  "},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 16}} {
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := world(t, ui.Options{}, uitest.Options{W: size[0], H: size[1]})
					r.Keys(c.keys...)
					at := func() int { _, y := r.Find(c.sign); return y }
					before := at()
					r.lose()
					r.Must("the owner does not answer")
					if got := at(); got != before || got < 0 {
						t.Errorf("it stood in row %d and stands in %d\n%s", before, got, r.Screen())
					}
					r.Wait(toastGone)
					if got := at(); got != before {
						t.Errorf("it stood in row %d and stands in %d without the toast\n%s", before, got, r.Screen())
					}
				})
			})
		}
	}
}

// A toast that something open stands over waits until it can be read.
func TestCoveredToastWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 60, H: 16})
		r.Keys("?")
		r.lose() // two rows, but for one of them behind the help
		r.Must("the owner does not answer")
		r.MustNot("Trying again")
		r.Wait(2 * toastGone)
		r.Keys("esc")
		r.Must("the owner does not answer", "Trying again")
		r.Wait(2 * toastGone)
		r.MustNot("the owner does not answer")
	})
}

// The clocks in a dialog about a work item go on while it is open.
func TestDialogClocksGoOn(t *testing.T) {
	for _, c := range []struct{ kind, key, before, after string }{
		{"grant", "g", "worker-7 3m ago", "worker-7 4m ago"},
		{"accept", "a", "worker-3 1m ago", "worker-3 2m ago"},
		{"lease", "r", "lease 47s left", "worker-4 · the lease has run out"},
	} {
		bubble(t, func(t *testing.T) {
			r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
			r.to(c.kind)
			r.Keys(c.key)
			r.Must(c.before)
			r.Wait(time.Minute + time.Second)
			r.Must(c.after)
			r.MustNot(c.before)
		})
	}
}

// Drawing changes nothing: keys that come before the next frame act on what they left.
func TestHelpScrollsWithoutFrames(t *testing.T) {
	m := ui.New(t.Context(), ui.Options{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	for _, k := range []string{"?", "end", "up"} {
		m.Update(uitest.Key(k))
	}
	place := regexp.MustCompile(`\((\d+) to (\d+) of (\d+)\)`)
	view := ansi.Strip(m.View().Content)
	at := place.FindStringSubmatch(view)
	var from, to, all int
	if fmt.Sscan(strings.Join(at[1:], " "), &from, &to, &all); to != all-1 {
		t.Errorf("%v after the end and one line back, want the last but one\n%s", at, view)
	}
}

// A form tells what really becomes ready by an accept, what waits on and for what, and
// what a cancel leaves blocked.
func TestFormsTellWhatHangsOnTheItem(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		rev := uint64(1900)
		wait := func(id string, on ...string) {
			it := uitest.Item(id, id, acop.StatusBlocked, rev, time.Now())
			for _, d := range on {
				it.Blockers = append(it.Blockers, acop.Blocker{BlockerCode: acop.BlockerDependency, DependsOnWorkItemID: d})
			}
			rev++
			r.facts(uitest.Changed(it, acop.VerbPut, rev, time.Now()))
		}
		wait("work:report", "work:db:index")
		wait("work:checkout", "work:db:index", "work:http:pool")
		r.to("accept")
		r.Keys("a")
		r.Must("unblocks  work:report", "not yet   work:checkout, still waits for work:http:pool")
		r.Keys("esc", "x")
		r.Must("work:checkout, work:report wait for it and stay blocked: b unblocks each")
	})
}

// The suspend key works over a form and a line too: who believes to be in the shell
// must not type into them.
func TestSuspendOverForms(t *testing.T) {
	for name, open := range map[string][]string{
		"form": {"d"}, "text of a form": {"x"}, "filter": {"/"}, "palette": {":"}, "help": {"?"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				suspended := false
				r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40, Filter: func(_ tea.Model, msg tea.Msg) tea.Msg {
					if _, ok := msg.(tea.SuspendMsg); ok {
						suspended = true
						return nil // this process goes on
					}
					return msg
				}})
				r.to("decide")
				r.Keys(open...)
				r.Keys("ctrl+z")
				if !suspended {
					t.Error("ctrl+z does nothing")
				}
			})
		})
	}
}
