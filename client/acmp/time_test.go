package acmp

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"signalbox/model/acmp"
)

// pipeListener is a network inside the test, so that a fake clock rules it.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	mine, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return mine, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// timed is a buyer and a provider under the fake clock. Intervals are 1 s.
type timed struct {
	*Buyer
	rec *recorder
	p   *fakeProvider
}

// runTimed runs test in synctest with a provider that advertises intervalMS.
func runTimed(t *testing.T, intervalMS int, invoke func(*answerWriter, wireRequest, int), change func(*Options), test func(*testing.T, *timed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &fakeProvider{t: t, invoke: invoke, changed: make(chan struct{}, 1)}
		p.settings = settingsJSON(intervalMS)
		l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
		srv := &http.Server{Handler: p}
		go func() { _ = srv.Serve(l) }()
		rec := &recorder{}
		o := Options{
			Providers: []ProviderSpec{{Name: "p", URL: "http://provider/mcp"}},
			Events:    rec.event, ProviderSeen: rec.provider, ProbeEvery: 24 * time.Hour, dial: l.dial,
		}
		if change != nil {
			change(&o)
		}
		b, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		test(t, &timed{b, rec, p})
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		_ = srv.Close()
	})
}

// outcome waits, on the fake clock, for the end of the task and gives its last
// event and when it came after the send.
func (d *timed) outcome(t *testing.T, id string) (acmp.TaskEvent, time.Duration) {
	t.Helper()
	for range 100_000 {
		if evs := d.rec.of(id); len(evs) > 0 && last(evs).Kind.Final() {
			return last(evs), last(evs).At.Sub(evs[0].At)
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("no outcome in 100 s")
	return acmp.TaskEvent{}, 0
}

func hangs(w *answerWriter, _ wireRequest, _ int) { w.hang() }

// beats sends heartbeats every half interval for ever.
func beats(w *answerWriter, _ wireRequest, _ int) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-w.req.Ctx.Done():
			return
		case <-tick.C:
			w.heartbeat("")
		}
	}
}

func timeout(ms int64) func(*acmp.InvokeParams) {
	return func(p *acmp.InvokeParams) { p.TimeoutMS = ms }
}

// B33: heartbeats for ever, and still -33003 at the deadline.
func TestDeadlineIsHard(t *testing.T) {
	runTimed(t, 1000, beats, nil, func(t *testing.T, d *timed) {
		end, after := d.outcome(t, invoke(t, d.Buyer, invocation(timeout(5000))))
		if end.Err == nil || end.Err.Code != acmp.CodeTimeout || !end.Err.Local || end.Err.Data["timeout_ms"] != int64(5000) || after != 5*time.Second {
			t.Errorf("after %s: %+v", after, end.Err)
		}
		synctest.Wait()
		if got := d.p.seen(acmp.MethodCancel); len(got) != 1 {
			t.Errorf("%d cancels", len(got))
		}
	})
}

// no interval, no verdict; the default deadline is 30 s.
func TestNoVerdictWithoutInterval(t *testing.T) {
	runTimed(t, 0, hangs, nil, func(t *testing.T, d *timed) {
		id := invoke(t, d.Buyer, invocation(timeout(0)))
		end, after := d.outcome(t, id)
		if end.Err == nil || after != 30*time.Second || kinds(d.rec.of(id)) != "sent error" {
			t.Errorf("after %s: %s %+v", after, kinds(d.rec.of(id)), end.Err)
		}
	})
}

// B30, D-15: stalled is told before three intervals, -33003 comes
// just after; a chunk is a sign of life as well.
func TestLiveness(t *testing.T) {
	run := func(w *answerWriter, _ wireRequest, _ int) {
		time.Sleep(900 * time.Millisecond)
		w.chunk(0, "x", false)
		w.hang()
	}
	runTimed(t, 1000, run, nil, func(t *testing.T, d *timed) {
		id := invoke(t, d.Buyer, invocation(timeout(60000)))
		end, after := d.outcome(t, id)
		if end.Err == nil || end.Err.Code != acmp.CodeTimeout || !end.Err.Local || end.Err.Data["liveness"] != true || after != 3901*time.Millisecond {
			t.Errorf("after %s: %+v", after, end.Err)
		}
		evs := d.rec.of(id)
		if kinds(evs) != "sent chunk stalled error" {
			t.Errorf("events: %s", kinds(evs))
		}
		if at := evs[2].At.Sub(evs[1].At); at != 2*time.Second {
			t.Errorf("stalled after %s of silence", at)
		}
		synctest.Wait()
		if len(d.p.seen(acmp.MethodCancel)) != 1 {
			t.Error("no cancel after lost liveness")
		}
	})
}

// after the verdict the provider is told to stop and why; what it says
// then is dropped.
func TestLateResultIsDropped(t *testing.T) {
	var d0 *timed
	run := func(w *answerWriter, _ wireRequest, _ int) {
		d0.p.awaitRequest(acmp.MethodCancel, 1)
		w.output("late")
	}
	for ms, why := range map[int64]string{60_000: "liveness lost", 2_500: "timeout_ms exceeded"} {
		runTimed(t, 1000, run, nil, func(t *testing.T, d *timed) {
			d0 = d
			id := invoke(t, d.Buyer, invocation(timeout(ms)))
			end, _ := d.outcome(t, id)
			time.Sleep(time.Minute)
			if evs := d.rec.of(id); end.Err == nil || end.Err.Code != acmp.CodeTimeout || kinds(evs) != "sent stalled error" {
				t.Errorf("%s %+v", kinds(evs), end.Err)
			}
			if got := d.p.seen(acmp.MethodCancel); len(got) != 1 || !strings.Contains(got[0].Body, `"reason":"`+why+`"`) {
				t.Errorf("cancels: %v", got)
			}
		})
	}
}

// With KeepSilent the lead decides; the deadline still holds.
func TestKeepSilent(t *testing.T) {
	runTimed(t, 1000, hangs, func(o *Options) { o.KeepSilent = true }, func(t *testing.T, d *timed) {
		id := invoke(t, d.Buyer, invocation(timeout(60000)))
		if _, after := d.outcome(t, id); after != time.Minute || kinds(d.rec.of(id)) != "sent stalled error" {
			t.Errorf("after %s: %s", after, kinds(d.rec.of(id)))
		}
	})
}

// breaks do not move the deadline; the last one is followed by no more.
func TestDeadlineOverRetries(t *testing.T) {
	run := func(w *answerWriter, _ wireRequest, _ int) {
		time.Sleep(time.Second)
		w.cut()
	}
	runTimed(t, 0, run, nil, func(t *testing.T, d *timed) {
		end, after := d.outcome(t, invoke(t, d.Buyer, invocation(timeout(10000))))
		if end.Err == nil || end.Err.Code != acmp.CodeTimeout || after != 10*time.Second {
			t.Errorf("after %s: %+v", after, end.Err)
		}
		if n := len(d.p.seen(acmp.MethodInvoke)); n < 3 || n > 8 {
			t.Errorf("%d sends", n) // backed off
		}
	})
}

// A late chunk within a second heals a gap; the default wait for -33004 is 5 s.
func TestGapAndCancelWaits(t *testing.T) {
	run := func(w *answerWriter, _ wireRequest, _ int) {
		w.chunk(1, "b", false)
		time.Sleep(900 * time.Millisecond)
		w.chunk(0, "a", false)
		w.hang()
	}
	runTimed(t, 0, run, nil, func(t *testing.T, d *timed) {
		id := invoke(t, d.Buyer, invocation(timeout(60000)))
		time.Sleep(10 * time.Second)
		if got := kinds(d.rec.of(id)); got != "sent chunk chunk" {
			t.Fatalf("events: %s", got)
		}
		if err := d.Cancel(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
		end, after := d.outcome(t, id)
		if end.Err == nil || end.Err.Code != acmp.CodeCancelled || after != 15*time.Second {
			t.Errorf("after %s: %+v", after, end.Err)
		}
	})
}

// Silence of our own making is no verdict on the provider: while the consumer
// stalls the stream, liveness waits; the deadline does not.
func TestStalledConsumerIsNoSilence(t *testing.T) {
	run := func(w *answerWriter, _ wireRequest, _ int) {
		const chunks = 2 * maxQueuedEvents
		for i := range chunks {
			w.chunk(i, "x", i == chunks-1)
		}
		w.streamed()
	}
	var gate chan struct{} // made under the fake clock
	stall := func(o *Options) {
		take := o.Events
		o.Events = func(ev acmp.TaskEvent) {
			if ev.Kind == acmp.EventChunk {
				<-gate
			}
			take(ev)
		}
	}
	test := func(t *testing.T, d *timed) {
		id := invoke(t, d.Buyer, invocation(timeout(60000)))
		time.Sleep(10 * time.Second)
		if got := kinds(d.rec.of(id)); got != "sent" {
			t.Fatalf("events: %s", got)
		}
		close(gate)
		if end, _ := d.outcome(t, id); end.Kind != acmp.EventResult {
			t.Errorf("outcome %+v", end.Err)
		}
	}
	runTimed(t, 1000, run, func(o *Options) { gate = make(chan struct{}); stall(o) }, test)
}

// B31: the response counts when it is there, even if the stream stays open.
func TestStreamHeldOpen(t *testing.T) {
	run := func(w *answerWriter, _ wireRequest, _ int) {
		w.output("x")
		w.hang()
	}
	runTimed(t, 0, run, nil, func(t *testing.T, d *timed) {
		end, after := d.outcome(t, invoke(t, d.Buyer, invocation(timeout(60000))))
		if end.Kind != acmp.EventResult || after != 0 {
			t.Errorf("after %s: %+v", after, end.Err)
		}
	})
}

// B29: a stream lives as long as its task, whatever bounds connecting.
func TestLongStream(t *testing.T) {
	run := func(w *answerWriter, _ wireRequest, _ int) {
		for i := range 36 {
			time.Sleep(5 * time.Second)
			w.chunk(i, "x", i == 35)
		}
		w.streamed()
	}
	short := func(o *Options) { o.ConnectTimeout = time.Second }
	runTimed(t, 0, run, short, func(t *testing.T, d *timed) {
		id := invoke(t, d.Buyer, invocation(timeout(600_000)))
		time.Sleep(3*time.Minute + time.Second)
		if evs := d.rec.of(id); last(evs).Kind != acmp.EventResult || len(evs) != 38 {
			t.Errorf("%s", kinds(evs))
		}
	})
}

// B79, B84: a consumer that stalls stalls the stream: nothing is dropped and what
// waits is bounded.
func TestBackPressure(t *testing.T) {
	const chunks, size = 64, 64 << 10 // 4 MiB
	run := func(w *answerWriter, _ wireRequest, _ int) {
		for i := range chunks {
			w.chunk(i, strings.Repeat("x", size), i == chunks-1)
		}
		w.streamed()
	}
	var gate chan struct{} // made under the fake clock
	stall := func(o *Options) {
		gate = make(chan struct{})
		take := o.Events
		o.Events = func(ev acmp.TaskEvent) {
			if ev.Kind == acmp.EventChunk {
				<-gate
			}
			take(ev)
		}
	}
	runTimed(t, 0, run, stall, func(t *testing.T, d *timed) {
		id := invoke(t, d.Buyer, invocation(timeout(60000)))
		tk, err := d.find(id)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second) // everything stands still now
		tk.q.mu.Lock()
		n := tk.q.bytes
		tk.q.mu.Unlock()
		if n < maxQueuedBytes-2*size || n > maxQueuedBytes+size {
			t.Errorf("%d bytes queued", n)
		}
		if got := kinds(d.rec.of(id)); got != "sent" {
			t.Errorf("events: %s", got)
		}
		close(gate)
		if end, _ := d.outcome(t, id); end.Kind != acmp.EventResult || len(outputText(d.rec.of(id))) != chunks*size {
			t.Errorf("%d bytes, outcome %+v", len(outputText(d.rec.of(id))), end.Err)
		}
	})
}

// A cancelled task whose provider stays silent waits for its timer, not in a loop.
func TestCancelledSilenceIsNoLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(newTask(&Buyer{}, &link{}, acmp.Invocation{}))
		r.interval, r.cancelled = time.Second, true
		r.att = newAttempt(r.t, false)
		r.att.wrote()
		r.att.setStalled()
		time.Sleep(time.Minute)
		if over := r.onQuiet(); over {
			t.Error("the task is over")
		}
		time.Sleep(time.Minute)
		select {
		case <-r.quiet.C:
			t.Error("the timer runs")
		default:
		}
		r.quit()
	})
}

// B84: what is kept for the check of a proof is bounded, however small the chunks.
func TestProofOfTinyChunksIsBounded(t *testing.T) {
	inv := acmp.Invocation{Params: acmp.InvokeParams{Stream: true, ProofMethod: acmp.ProofResultHash}}
	a := newAttempt(newTask(&Buyer{}, &link{}, inv), false)
	defer a.end()
	for i := range int64(maxProofChunks) {
		a.count(&acmp.StreamChunk{Seq: i, Chunk: acmp.Payload{Type: "json", Data: []byte("1")}})
	}
	if a.whole == nil || a.next != maxProofChunks {
		t.Fatalf("given up after %d chunks", a.next)
	}
	a.count(&acmp.StreamChunk{Seq: maxProofChunks, Chunk: acmp.Payload{Type: "json", Data: []byte("1")}})
	if d, _ := a.delivered(); a.whole != nil || d.whole != nil || d.chunks != maxProofChunks+1 {
		t.Errorf("%d chunks are held", d.chunks)
	}
}
