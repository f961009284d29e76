package ui_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// detailOwner is an owner that counts how often it is asked for details, and whose
// answers to that can be made to fail.
type detailOwner struct {
	uitest.FakeOwner
	mu    sync.Mutex
	down  bool
	asked map[string]int
	rev   uint64
}

func (o *detailOwner) Detail(_ context.Context, id string) (*acop.Detail, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked[id]++
	if o.down {
		return nil, errors.New("connection refused")
	}
	return &acop.Detail{Revision: o.rev}, nil
}

// set makes answers fail or be as of rev.
func (o *detailOwner) set(down bool, rev uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down, o.rev = down, rev
}

func (o *detailOwner) count(id string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked[id]
}

// sheetRig opens the sheets of two items, the second over the first.
func sheetRig(t *testing.T) (*rig, *detailOwner) {
	o := &detailOwner{asked: map[string]int{}, rev: 1842}
	r := world(t, ui.Options{Owner: o}, uitest.Options{W: 120, H: 40})
	r.onBoard("work:auth:token-rotation")
	r.onBoard("work:cli:flags")
	return r, o
}

// A read that failed is not repeated with every fact that comes, whatever streams;
// it is when the item changes again and when the owner is back.
func TestFailedDetailIsNotAskedForWithEveryFact(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const id = "work:cli:flags"
		r, o := sheetRig(t)
		o.set(true, 0)
		r.facts(uitest.Changed(item(t, id), acop.VerbPut, 1900, time.Now()))
		r.Must("the owner did not tell it")
		n := o.count(id)
		for i := range 20 {
			r.facts(output("task_a7c9d1e2f3", int64(5+i), "more"))
		}
		if got := o.count(id); got != n {
			t.Fatalf("asked %d times more while only output came", got-n)
		}
		o.set(false, 1900)
		r.facts(fleet.LinkChanged{Link: fleet.Link{State: fleet.LinkDegraded, Since: time.Now()}})
		r.Wait(time.Second)
		r.facts(uitest.Live(time.Now()))
		r.Must("as of rev 1900")
		r.MustNot("the owner did not tell it")
		if got := o.count(id); got != n+1 {
			t.Errorf("asked %d times when the owner was back", got-n)
		}
	})
}

// A sheet that comes to light again is as of now.
func TestSheetBelowIsReadAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const id = "work:auth:token-rotation"
		r, o := sheetRig(t)
		o.set(false, 1901)
		n := o.count(id)
		r.facts(uitest.Changed(item(t, id), acop.VerbPut, 1901, time.Now()))
		r.Keys("esc")
		r.Must("Item "+id, "as of rev 1901")
		if got := o.count(id); got != n+1 {
			t.Errorf("it was read %d times", got-n)
		}
	})
}
