package acmp

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// B34: a thousand tasks in which results, errors, breaks,
// cancels, re-sends, input and deadlines meet at random: each has one outcome, which
// is its last event, and its events are of a life that the model allows.
func TestBuyerRaces(t *testing.T) {
	p := newFakeProvider(t, 20, func(w *answerWriter, _ wireRequest, _ int) {
		pause := func() {
			select {
			case <-w.req.Ctx.Done():
			case <-time.After(time.Duration(rand.IntN(4000)) * time.Microsecond):
			}
		}
		for i := range 1 + rand.IntN(4) {
			w.chunk(i, "x", false)
			w.heartbeat("")
			pause()
		}
		switch rand.IntN(6) {
		case 0:
			w.cut()
		case 1:
			w.fail(acmp.CodeCancelled, `{"task_id":"`+w.req.taskID()+`"}`)
		case 2:
			w.fail(acmp.CodeTimeout, `{}`)
		case 3:
			w.hang()
		default:
			w.output("done")
		}
	})
	p.forget = true
	b, rec := newBuyer(t, p.URL, func(o *Options) {
		o.StateDir, o.CancelWait = t.TempDir(), 2*time.Millisecond
	})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0)) // what the provider does is another matter
	slots, ids := make(chan struct{}, 32), make([]string, 1000)
	for i := range ids {
		slots <- struct{}{}
		id := invoke(t, b, invocation(func(p *acmp.InvokeParams) {
			p.TaskID, p.TimeoutMS, p.InputStream = fmt.Sprint("race-", i), 2+rnd.Int64N(60), rnd.IntN(2) == 0
		}))
		ids[i] = id
		acts := []int{rnd.IntN(4), rnd.IntN(4), rnd.IntN(4)}
		after := time.Duration(rnd.IntN(3000)) * time.Microsecond
		go func() {
			defer func() { <-slots }()
			for _, act := range acts {
				<-time.After(after)
				switch act { // errors: the task may have ended, or take no input
				case 0:
					_ = b.Cancel(t.Context(), id, "race")
				case 1:
					_ = b.Resend(t.Context(), id)
				case 2:
					_ = b.Input(t.Context(), id, acmp.Text("in"), rand.IntN(2) == 0)
				}
			}
			for tk, err := b.find(id); err == nil; tk, err = b.find(id) {
				<-tk.over
			}
		}()
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
	outcomes := map[string]int{}
	for _, id := range ids {
		rec.outcome(t, id)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, id := range ids {
		state := acmp.StatePending
		evs := rec.of(id)
		for i := range evs {
			next, ok := acmp.After(state, &evs[i])
			if !ok {
				t.Errorf("%s: %s after %s: %s", id, evs[i].Kind, state, kinds(evs))
				break
			}
			state = next
		}
		if !state.Final() {
			t.Errorf("%s is %s: %s", id, state, kinds(evs))
		}
		outcomes[string(state)]++
	}
	if len(outcomes) != 3 {
		t.Errorf("the races had only these outcomes: %v", outcomes)
	}
	if open := left(b.disk); len(open) > 0 {
		t.Errorf("%d journals left", len(open))
	}
}
