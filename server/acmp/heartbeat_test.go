package acmp

import (
	"context"
	"strings"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// beats at the nominal interval, none behind the response.
func TestHeartbeats(t *testing.T) {
	const interval = 50 * time.Millisecond
	h := func(ctx context.Context, task *Task) (Output, error) {
		task.Progress(1.7, "nearly")
		select {
		case <-time.After(10*interval + interval/2):
		case <-ctx.Done():
		}
		p := acmp.Text("done")
		return Output{Payload: &p}, nil
	}
	opts := func() Options { o := only(h)(); o.HeartbeatInterval = interval; return o }
	onBoth(t, opts, func(t *testing.T, _ *Provider, c peer) {
		begin := time.Now()
		r := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), nil))
		ms := r.all(t)
		beats := len(ms) - 1
		due := int(ms[beats].at.Sub(begin) / interval) // a busy machine may take longer
		if beats < due/2 || beats > due {
			t.Errorf("%d beats in %d intervals", beats, due)
		}
		for i, m := range ms[:beats] {
			if m.Method != acmp.MethodHeartbeat || m.Params.Progress == nil || *m.Params.Progress != 1 || m.Params.Detail != "nearly" {
				t.Errorf("beat %d: %s", i, m.raw)
			}
		}
		if !ms[beats].response() {
			t.Errorf("last: %s", ms[beats].raw)
		}
		if c.name() == "http" && !strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") {
			t.Errorf("content type %q", r.header.Get("Content-Type"))
		}
	})
}

// no interval, no beats. A-028: beats flow between chunks, too.
func TestHeartbeatsBetweenChunks(t *testing.T) {
	enough := make(chan struct{})
	h := func(ctx context.Context, task *Task) (Output, error) {
		for {
			select {
			case <-enough:
				return Output{}, task.EmitFinal(acmp.Text("end"))
			case <-ctx.Done():
				return Output{}, ctx.Err()
			case <-time.After(time.Millisecond):
				_ = task.Emit(acmp.Text("x"))
			}
		}
	}
	for _, interval := range []time.Duration{0, 30 * time.Millisecond} {
		o := only(h)()
		o.HeartbeatInterval = interval
		p := newProvider(t, o)
		r := overHTTP(t, p).request(t, acmp.MethodInvoke, streamed(taskID()))
		beats, sent := 0, 0
		r.until(t, func(m message) bool {
			if m.Method == acmp.MethodHeartbeat {
				beats++
			} else {
				sent++
			}
			return beats == 3 || interval == 0 && sent == 100
		})
		enough <- struct{}{}
		r.all(t)
		if sent == 0 || interval == 0 && beats > 0 {
			t.Errorf("interval %v: %d beats, %d chunks", interval, beats, sent)
		}
	}
}
