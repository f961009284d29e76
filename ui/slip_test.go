package ui_test

import (
	"sync/atomic"
	"testing"
	"time"

	"signalbox/model/acop"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// goes makes the selected ask of the queue leave: somebody else accepts its item.
func (r *rig) goes(id string, rev uint64) {
	r.t.Helper()
	it := item(r.t, id)
	it.WorkItem.Status = acop.StatusAccepted
	r.facts(uitest.Changed(it, acop.VerbAccept, rev, time.Now()))
}

// Promise 2: a key that comes as the selected row leaves does nothing to the row that
// stands there instead. Pressed once more, or a while later, it acts.
func TestNothingIsDoneToTheRowBehindOneThatLeft(t *testing.T) {
	second := uitest.Item("work:db:second", "Another one that is done", acop.StatusCompleted, 0, time.Now())
	for name, c := range map[string]struct {
		between func(*rig)
		again   bool
	}{
		"at once": {func(*rig) {}, true},
		"later":   {func(r *rig) { r.Wait(time.Second) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
				r.next(second, acop.VerbComplete)
				r.to("accept")
				r.goes("work:db:index", 1900)
				c.between(r)
				r.Keys("x")
				if c.again {
					r.Must("cancel: the row has just left")
					r.MustNot("─ Cancel")
					r.Keys("x")
				}
				r.Must("Cancel ")
				r.MustNot("Cancel work:db:index")
			})
		})
	}
	// One's own act is what makes the row leave: the next key goes on with the next row.
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.to("accept")
		r.Keys("a", "y")
		r.goes("work:db:index", 1842)
		r.Keys("x")
		r.MustNot("has just left")
	})
}

// As long as the terminal has not shown what is selected now, the pause goes on.
func TestRowThatLeftOnAStoppedTerminal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var behind atomic.Bool
		r := world(t, ui.Options{TerminalBehind: behind.Load}, uitest.Options{W: 120, H: 40})
		r.to("accept")
		behind.Store(true)
		r.goes("work:db:index", 1900)
		r.Wait(10 * time.Second)
		behind.Store(false)
		r.Keys("x")
		r.Must("cancel: the row has just left")
	})
}
