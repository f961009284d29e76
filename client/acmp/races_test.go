package acmp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// racingAnswer answers an invoke in one of many ways, after some time.
func racingAnswer(w *answerWriter, _ wireRequest, _ int) {
	for i := range 1 + rand.IntN(4) {
		w.chunk(i, "x", false)
		w.heartbeat("")
		select {
		case <-w.req.Ctx.Done():
		case <-time.After(time.Duration(rand.IntN(4000)) * time.Microsecond):
		}
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
}

// B34: a thousand tasks in which results, errors, breaks,
// cancels, re-sends, input and deadlines meet at random: each has one outcome, which
// is its last event, and its events are of a life that the model allows.
func TestBuyerRaces(t *testing.T) {
	p := newFakeProvider(t, 20, racingAnswer)
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
		ids[i] = invoke(t, b, invocation(func(p *acmp.InvokeParams) {
			p.TaskID, p.TimeoutMS, p.InputStream = fmt.Sprint("race-", i), 2+rnd.Int64N(60), rnd.IntN(2) == 0
		}))
		acts := []int{rnd.IntN(4), rnd.IntN(4), rnd.IntN(4)}
		after := time.Duration(rnd.IntN(3000)) * time.Microsecond
		go func() {
			disturb(t.Context(), b, ids[i], acts, after)
			<-slots
		}()
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
	for _, id := range ids {
		rec.outcome(t, id)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	outcomes := map[acmp.State]int{}
	for _, id := range ids {
		outcomes[lifeOf(t, rec.of(id))]++
	}
	if len(outcomes) != 3 {
		t.Errorf("the races had only these outcomes: %v", outcomes)
	}
	if open := left(b.disk); len(open) > 0 {
		t.Errorf("%d journals left", len(open))
	}
}

// disturb does acts to a task, each after some time, and waits for its end. What it
// meets does not matter: the task may have ended, or take no input.
func disturb(ctx context.Context, b *Buyer, id string, acts []int, after time.Duration) {
	for _, act := range acts {
		<-time.After(after)
		switch act {
		case 0:
			_ = b.Cancel(ctx, id, "race")
		case 1:
			_ = b.Resend(ctx, id)
		case 2:
			_ = b.Input(ctx, id, acmp.Text("in"), act == acts[0])
		}
	}
	for tk, err := b.find(id); err == nil; tk, err = b.find(id) {
		<-tk.over
	}
}

// lifeOf holds the events of one task against the model and gives its last state.
func lifeOf(t *testing.T, evs []acmp.TaskEvent) acmp.State {
	t.Helper()
	state := acmp.StatePending
	for i := range evs {
		next, ok := acmp.After(state, &evs[i])
		if !ok {
			t.Errorf("%s after %s: %s", evs[i].Kind, state, kinds(evs))
			return state
		}
		state = next
	}
	if !state.Final() {
		t.Errorf("a task is %s: %s", state, kinds(evs))
	}
	return state
}
