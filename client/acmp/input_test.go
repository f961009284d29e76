package acmp

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"signalbox/model/acmp"
)

func withInput(p *acmp.InvokeParams) { p.Input, p.InputStream = nil, true }

func giveInput(t *testing.T, b *Buyer, id, s string, final bool) {
	t.Helper()
	if err := b.Input(t.Context(), id, acmp.Text(s), final); err != nil {
		t.Fatalf("input %q: %v", s, err)
	}
}

// D-13: a chunk whose answer did not come is kept and sent again with
// the same seq before the next, whether the provider had taken it or not.
func TestInputIsNotLost(t *testing.T) {
	for _, taken := range []bool{false, true} {
		hold := make(chan struct{})
		it := newInputTaker(t, nil)
		it.spoil = func(w *answerWriter, c acmp.InputChunk, n int) bool {
			switch {
			case c.Seq != 1 || n > 2:
				return false
			case n == 2:
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			}
			if taken {
				it.keep(c)
			}
			<-hold
			w.cut()
			return true
		}
		b, rec := newBuyer(t, it.URL, nil)
		id := invoke(t, b, invocation(withInput))
		giveInput(t, b, id, "a", false)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := b.Input(ctx, id, acmp.Text("b"), false)
		cancel()
		if !errors.Is(err, ErrUnconfirmed) {
			t.Errorf("unconfirmed: %v", err)
		}
		close(hold)
		giveInput(t, b, id, "c", true)
		if end := last(rec.outcome(t, id)); end.Kind != acmp.EventResult || it.whole() != "abc" {
			t.Errorf("taken %t: the provider has %q, outcome %+v", taken, it.whole(), end.Err)
		}
	}
}

// The last chunk needs nobody to give another behind it.
func TestFinalInputGoesOutByItself(t *testing.T) {
	it := newInputTaker(t, nil)
	it.spoil = func(w *answerWriter, c acmp.InputChunk, n int) bool {
		if n == 1 {
			w.cut()
		}
		return false
	}
	b, rec := newBuyer(t, it.URL, nil)
	id := invoke(t, b, invocation(withInput))
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nobody waits
	if err := b.Input(ctx, id, acmp.Text("all"), true); !errors.Is(err, ErrUnconfirmed) {
		t.Errorf("unconfirmed: %v", err)
	}
	if end := last(rec.outcome(t, id)); end.Kind != acmp.EventResult || it.whole() != "all" {
		t.Errorf("the provider has %q, outcome %+v", it.whole(), end.Err)
	}
}

// 7.1, A-110: behind a broken stream the input is there again from the start, for
// what was sent may have been lost with it.
func TestInputFollowsAResend(t *testing.T) {
	cutC := make(chan struct{})
	it := newInputTaker(t, cutC)
	b, rec := newBuyer(t, it.URL, nil)
	id := invoke(t, b, invocation(withInput))
	giveInput(t, b, id, "a", false)
	giveInput(t, b, id, "b", false)
	cutC <- struct{}{}
	eventually(t, func() bool { return len(it.got()) >= 4 }, "the input to come again")
	giveInput(t, b, id, "c", true)
	if end := last(rec.outcome(t, id)); end.Kind != acmp.EventResult || it.whole() != "abc" {
		t.Errorf("the provider has %q, outcome %+v", it.whole(), end.Err)
	}
	if got := it.got(); !slices.Equal(got, []int64{0, 1, 0, 1, 2}) {
		t.Errorf("chunks came as %v", got)
	}
}

// A chunk that the provider will not have is told and not in the way of the next,
// which gets its seq.
func TestRefusedInput(t *testing.T) {
	it := newInputTaker(t, nil)
	it.spoil = func(w *answerWriter, c acmp.InputChunk, _ int) bool {
		if len(c.Chunk.Data) > 100 {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return true
		}
		return false
	}
	dir := t.TempDir()
	b, rec := newBuyer(t, it.URL, func(o *Options) { o.StateDir = dir })
	id := invoke(t, b, invocation(withInput))
	giveInput(t, b, id, "a", false)
	err := b.Input(t.Context(), id, acmp.Text(strings.Repeat("x", 200)), true)
	if err == nil || errors.Is(err, ErrUnconfirmed) || !strings.Contains(err.Error(), "413") {
		t.Errorf("too large: %v", err)
	}
	giveInput(t, b, id, "b", true)
	if end := last(rec.outcome(t, id)); end.Kind != acmp.EventResult || it.whole() != "ab" {
		t.Errorf("the provider has %q, outcome %+v", it.whole(), end.Err)
	}
	eventually(t, func() bool {
		left, _ := filepath.Glob(filepath.Join(dir, "tasks", "*.in"))
		return len(left) == 0
	}, "the kept input to go")
}

// After a restart of the program the input goes on with the seq that comes next:
// what was not confirmed is sent first, as it was; what a crash cut off was never
// sent.
func TestInputGoesOnAfterARestart(t *testing.T) {
	hold := make(chan struct{})
	it := newInputTaker(t, nil)
	it.spoil = func(w *answerWriter, c acmp.InputChunk, n int) bool {
		if c.Seq == 1 && n == 1 {
			it.keep(c) // and nobody learns of it
			<-hold
			w.cut()
		}
		return false
	}
	dir := t.TempDir()
	keep := func(o *Options) { o.StateDir = dir }
	b, rec := newBuyer(t, it.URL, keep)
	id := invoke(t, b, invocation(withInput))
	giveInput(t, b, id, "a", false)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	if err := b.Input(ctx, id, acmp.Text("b"), false); !errors.Is(err, ErrUnconfirmed) {
		t.Errorf("unconfirmed: %v", err)
	}
	cancel()
	rec.await(t, id, acmp.EventSent)
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(hold)
	f, err := os.OpenFile(b.disk.path(id, ".in"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"seq":2,"chunk":{"type":"te`)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	b, rec = newBuyer(t, it.URL, keep)
	if err := b.Input(t.Context(), id, acmp.Text("c"), false); err != nil {
		t.Fatalf("%v; %s %+v", err, kinds(rec.of(id)), last(rec.of(id)).Err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, rec = newBuyer(t, it.URL, keep)
	if err := b.Input(t.Context(), id, acmp.Text("d"), true); err != nil {
		t.Fatalf("%v; %s %+v", err, kinds(rec.of(id)), rec.of(id))
	}
	if err := b.Input(t.Context(), id, acmp.Text("e"), true); !errors.Is(err, errInputEnded) && !errors.Is(err, ErrEnded) {
		t.Errorf("input after the final chunk: %v", err)
	}
	if end := last(rec.outcome(t, id)); end.Kind != acmp.EventResult || it.whole() != "abcd" {
		t.Errorf("the provider has %q, outcome %+v", it.whole(), end.Err)
	}
}

// B84: of an input without end a bounded part is held, in memory and on disk.
func TestInputStaysBounded(t *testing.T) {
	it := newInputTaker(t, nil)
	it.forget = true
	it.spoil = func(w *answerWriter, c acmp.InputChunk, _ int) bool {
		c.Chunk = acmp.Text("") // the test needs no copy
		it.keep(c)
		w.WriteHeader(http.StatusAccepted)
		return true
	}
	b, rec := newBuyer(t, it.URL, func(o *Options) { o.StateDir = t.TempDir() })
	id := invoke(t, b, invocation(func(p *acmp.InvokeParams) { withInput(p); p.TimeoutMS = 300_000 }))
	tk, err := b.find(id)
	if err != nil {
		t.Fatal(err)
	}
	const size = 64 << 10
	var most int
	var file int64
	for i := range 128 { // 8 MiB
		giveInput(t, b, id, strings.Repeat("x", size), false)
		tk.in.mu.Lock()
		n := 0
		for _, p := range tk.in.kept {
			n += pieceSize(&p.msg)
		}
		if n != tk.in.bytes {
			t.Fatalf("chunk %d: %d bytes counted, %d held", i, tk.in.bytes, n)
		}
		most, file = max(most, n), max(file, tk.in.file.size)
		tk.in.mu.Unlock()
	}
	if most > maxInputKept+2*size || file > 2*maxInputKept+2*size {
		t.Errorf("%d bytes held, %d on disk", most, file)
	}
	giveInput(t, b, id, "", true)
	if end := last(rec.outcome(t, id)); end.Kind != acmp.EventResult {
		t.Errorf("outcome %+v", end.Err)
	}
}

// While nothing is confirmed, no more is taken than can be held; whoever gives it
// learns that it was not.
func TestInputIsNotTakenWithoutEnd(t *testing.T) {
	it := newInputTaker(t, nil)
	it.spoil = func(w *answerWriter, _ acmp.InputChunk, _ int) bool {
		select {
		case <-w.req.Ctx.Done():
		case <-t.Context().Done():
		}
		return true
	}
	b, _ := newBuyer(t, it.URL, nil)
	id := invoke(t, b, invocation(withInput))
	var err error
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		err = b.Input(ctx, id, acmp.Text(strings.Repeat("x", 128<<10)), false)
		cancel()
		if !errors.Is(err, ErrUnconfirmed) {
			break
		}
	}
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "was not taken") {
		t.Errorf("%v", err)
	}
}

// A-078, 7.1: a task that may run twice gets its whole input again; where the first
// part is no longer held it is not run on the rest.
func TestInputOfASecondRun(t *testing.T) {
	for _, large := range []bool{false, true} {
		b, rec, _ := childBuyer(t, "reads", nil)
		inv := invocation(withInput)
		inv.RunTwice = true
		id := invoke(t, b, inv)
		rec.await(t, id, acmp.EventSent)
		giveInput(t, b, id, "a", false)
		if large {
			for range 20 {
				giveInput(t, b, id, strings.Repeat("x", 128<<10), false)
			}
		}
		giveInput(t, b, id, "die", false)
		if large {
			e := last(rec.outcome(t, id)).Err
			if e == nil || !strings.Contains(e.Message, "no longer held") {
				t.Errorf("outcome %+v", e)
			}
			continue
		}
		rec.await(t, id, acmp.EventResent)
		giveInput(t, b, id, "z", true)
		if evs := rec.outcome(t, id); outputText(evs) != "adiez" {
			t.Errorf("%s: %q %+v", kinds(evs), outputText(evs), last(evs).Err)
		}
	}
}

// Input of a task that has ended, or of none, is refused.
func TestInputAfterTheEnd(t *testing.T) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { w.output("x") })
	b, rec := newBuyer(t, p.URL, nil)
	id := invoke(t, b, invocation(withInput))
	rec.outcome(t, id)
	eventually(t, func() bool { return errors.Is(b.Input(t.Context(), id, acmp.Text("a"), false), ErrEnded) }, "the task to be over")
	if err := b.Input(t.Context(), "nobody", acmp.Text("a"), false); !errors.Is(err, ErrUnknownTask) {
		t.Error(err)
	}
}

// a task that was started without streamed input takes none, and nothing goes
// out.
func TestInputNotAskedFor(t *testing.T) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { w.hang() })
	b, rec := newBuyer(t, p.URL, nil)
	id := invoke(t, b, invocation(nil))
	rec.await(t, id, acmp.EventSent)
	var e *acmp.Error
	if err := b.Input(t.Context(), id, acmp.Text("a"), false); !errors.As(err, &e) || e.Code != acmp.CodeFeatureUnsupported || !e.Local {
		t.Errorf("%v", err)
	}
	if got := p.seen(acmp.MethodInputChunk); len(got) > 0 {
		t.Errorf("sent: %v", got)
	}
}
