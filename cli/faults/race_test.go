package faults

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	buyer "signalbox/client/acmp"
	"signalbox/model/acmp"
)

// B34: a thousand tasks whose end, cancel (often twice) and
// deadline fall together in a few ms. Each has one outcome with the right code and
// runs at most once, nothing follows the outcome, and a success is whole.
func TestRaces(t *testing.T) {
	const tasks, callers = 1000, 16
	r := &runs{}
	c := newCaller(t, buyer.ProviderSpec{URL: serve(t, r)})
	usual := usualTime(t, c, callers)
	d := newDice(uint64(time.Now().UnixNano()), &tally{})
	some := func(times int) time.Duration { return time.Duration(d.n(times * int(usual))) }
	var mu sync.Mutex
	var ids []string
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range tasks / callers {
				takes, deadline := some(1), usual/2+some(4)
				id := c.start(t, "wait", strconv.FormatInt(takes.Microseconds(), 10), deadline)
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
				for range d.n(3) {
					<-time.After(some(2))
					_ = c.Cancel(t.Context(), id, "race") // it may be over
				}
			}
		})
	}
	group.Wait()
	for range ids {
		select {
		case <-c.ended:
		case <-time.After(2 * time.Minute):
			t.Fatal("a task has no outcome")
		}
	}
	outcomes := map[string]int{}
	for _, id := range ids {
		outcomes[judge(t, c, r, id)]++
	}
	t.Logf("outcomes: %v", outcomes)
	if n := c.after.Load(); n > 0 {
		t.Errorf("%d events came behind an outcome", n)
	}
}

// usualTime is how long a task takes on this machine, now, that takes no time of
// its own.
func usualTime(t *testing.T, c *caller, callers int) time.Duration {
	t.Helper()
	const rounds = 4
	start := time.Now()
	for range rounds {
		for range callers {
			c.start(t, "wait", "0", time.Minute)
		}
		for range callers {
			<-c.ended
		}
	}
	return max(time.Since(start)/rounds, 4*time.Millisecond)
}

// judge checks one raced task and names its outcome.
func judge(t *testing.T, c *caller, r *runs, id string) string {
	t.Helper()
	evs := c.of(id)
	if err := lawful(evs); err != nil {
		t.Errorf("%v: %s", err, kindsOf(evs))
	}
	if n := r.of(id); n > 1 {
		t.Errorf("ran %d times", n)
	}
	end := evs[len(evs)-1]
	if end.Kind == acmp.EventResult {
		if got := assembled(evs); got != "begun done" {
			t.Errorf("output %q", got)
		}
		return "result"
	}
	cancelled := slices.ContainsFunc(evs, func(ev acmp.TaskEvent) bool { return ev.Kind == acmp.EventCancelRequested })
	switch {
	case end.Err.Code == acmp.CodeTimeout:
	case end.Err.Code == acmp.CodeCancelled && cancelled:
	default:
		t.Errorf("%+v after %s", end.Err, kindsOf(evs))
	}
	return fmt.Sprintf("%s local %t", acmp.CodeName(end.Err.Code), end.Err.Local)
}
