package acmp

import (
	"testing"

	"signalbox/model/acmp"
)

// a provider that says the same part of its output and breaks off, again and
// again, is asked at growing distances.
func TestResendsGrowApart(t *testing.T) {
	t.Parallel()
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
		w.chunk(0, "x", false)
		w.chunk(1, "y", false)
		w.cut()
	})
	b, rec := newBuyer(t, p.URL, nil)
	id := invoke(t, b, invocation(func(p *acmp.InvokeParams) { p.TimeoutMS = 2500 }))
	if ev := last(rec.outcome(t, id)); ev.Err == nil || ev.Err.Code != acmp.CodeTimeout {
		t.Errorf("outcome: %+v", ev)
	}
	if n := len(p.seen(acmp.MethodInvoke)); n < 2 || n > 7 { // after 0, 0.1, 0.3, 0.7 and 1.5 s
		t.Errorf("asked %d times", n)
	}
}

// A provider whose output gets further each time is no longer waited for than before.
func TestResendAfterProgress(t *testing.T) {
	t.Parallel()
	const enough = 12
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, n int) {
		for i := range n {
			w.chunk(i, "x", i == enough-1)
		}
		if n < enough {
			w.cut()
		}
		w.streamed()
	})
	b, rec := newBuyer(t, p.URL, nil)
	id := invoke(t, b, invocation(nil)) // growing waits alone would pass its deadline
	if ev := last(rec.outcome(t, id)); ev.Kind != acmp.EventResult {
		t.Errorf("outcome: %+v", ev)
	}
}
