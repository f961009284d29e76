package acmp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"signalbox/model/acmp"
)

// a cancel that was asked for just before the end still goes out: the links
// are closed behind the tasks that use them.
func TestCancelJustBeforeClose(t *testing.T) {
	for range 20 {
		p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
			w.chunk(0, "x", false)
			w.hang()
		})
		b, rec := newBuyer(t, p.URL, nil)
		id := invoke(t, b, invocation(nil))
		rec.await(t, id, acmp.EventChunk)
		if err := b.Cancel(t.Context(), id, "enough"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := b.Close(ctx)
		cancel()
		if got := p.seen(acmp.MethodCancel); err != nil || len(got) != 1 {
			t.Fatalf("%d cancels, %v", len(got), err)
		}
	}
}

// Invoke and Close at once: whatever Invoke has taken is sent or left in the
// journal, and Close has waited for it.
func TestInvokeWhileClosing(t *testing.T) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { w.output("x") })
	for range 10 {
		dir := t.TempDir()
		b, rec := newBuyer(t, p.URL, func(o *Options) { o.StateDir = dir })
		if _, err := b.Settings(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		var taken sync.Map
		var n atomic.Int32
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for {
					id, err := b.Invoke(t.Context(), invocation(nil))
					if err != nil {
						return
					}
					taken.Store(id, true)
					n.Add(1)
				}
			})
		}
		eventually(t, func() bool { return n.Load() > 8 }, "the first tasks")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := b.Close(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		callers.Wait()
		unfinished := map[string]bool{}
		for _, id := range left(b.disk) {
			unfinished[id] = true
		}
		taken.Range(func(id, _ any) bool {
			evs := rec.of(id.(string))
			if ended := len(evs) > 0 && last(evs).Kind.Final(); ended == unfinished[id.(string)] {
				t.Errorf("%s: ended %t, in the journal %t", id, ended, !ended)
			}
			return true
		})
	}
}

// Reaching a provider takes no longer than the task may: the address swallows all.
func TestReachingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		swallow := func(context.Context, string, string) (net.Conn, error) {
			time.Sleep(5 * time.Second) // as a net.Dialer does
			return nil, context.DeadlineExceeded
		}
		b, err := New(Options{Providers: []ProviderSpec{{Name: "p", URL: "http://provider/mcp"}}, dial: swallow})
		if err != nil {
			t.Fatal(err)
		}
		for _, ms := range []int64{2000, 300} {
			start := time.Now()
			_, err = b.Invoke(t.Context(), invocation(timeout(ms)))
			var r *Refusal
			if !errors.As(err, &r) || !r.Unreachable || time.Since(start) != time.Duration(ms)*time.Millisecond {
				t.Errorf("after %s: %v", time.Since(start), err)
			}
			if want := fmt.Sprintf("within %s", time.Duration(ms)*time.Millisecond); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want it to say %q", err, want)
			}
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second) // the last dial ends by itself
	})
}

// A provider that goes between the first look and the send does not leave the task
// pending for ever.
func TestProviderGoesBeforeTheSend(t *testing.T) {
	b, rec, _ := childBuyer(t, "once", func(o *Options) { o.ConnectTimeout = time.Minute })
	if _, err := b.Settings(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	l := b.links["p"]
	tk := newTask(b, l, invocation(timeout(1500))) // as Invoke does behind its look
	tk.id, tk.inv.Params.TaskID = "t", "t"
	l.mu.Lock()
	proc := l.sess.conn.proc
	l.mu.Unlock()
	proc.stop(nil)
	if err := b.enter(tk); err != nil {
		t.Fatal(err)
	}
	b.start(tk)
	b.runners.Done()
	evs := rec.outcome(t, "t")
	if e := last(evs).Err; kinds(evs) != "error" || e == nil || e.Code != acmp.CodeTimeout || !strings.Contains(e.Message, "not sent") {
		t.Errorf("%s %+v", kinds(evs), e)
	}
}

// B39: when Close may wait no longer, the child goes, although a consumer still
// holds a task up.
func TestCloseDespiteAStuckConsumer(t *testing.T) {
	gate, stuck := make(chan struct{}), make(chan struct{})
	b, _, _ := childBuyer(t, "stubborn", func(o *Options) {
		o.Events = func(ev acmp.TaskEvent) {
			if ev.Kind == acmp.EventChunk {
				close(stuck)
				<-gate
			}
		}
	})
	invoke(t, b, invocation(nil))
	<-stuck
	l := b.links["p"]
	l.mu.Lock()
	proc := l.sess.conn.proc
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := b.Close(ctx); err == nil {
		t.Error("Close says that all has ended")
	}
	select {
	case <-proc.gone:
	case <-time.After(30 * time.Second):
		t.Error("the child lives")
	}
	close(gate)
}

// A provider on stdio that was given up is gone, too, once its link has closed.
func TestCloseWaitsForGivenUpProviders(t *testing.T) {
	b, _, _ := childBuyer(t, "stubborn", nil)
	l, err := newLink(b.links["p"].spec, b.env) // which nobody watches
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := l.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.retire(s)
	l.release(s)
	b.kill() // the child takes its time otherwise
	l.close()
	select {
	case <-s.dead():
	default:
		t.Error("its process is there still")
	}
}

// The end of a child says nothing of the one that has taken its place.
func TestLateNewsOfAnEarlierChild(t *testing.T) {
	b, rec, _ := childBuyer(t, "plain", nil)
	l := b.links["p"]
	s, _, err := l.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.release(s)
	eventually(t, func() bool { r := rec.lastProvider().Reachable; return r != nil && *r }, "it is reachable")
	l.lost(t.Context(), &session{conn: s.conn})
	if r := rec.lastProvider().Reachable; !*r {
		t.Error("it is said to be gone")
	}
	l.lost(t.Context(), s)
	if r := rec.lastProvider().Reachable; *r {
		t.Error("it is not said to be gone")
	}
}
