package acmp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"signalbox/model/acmp"
)

func jsonNumber(s string) json.Number { return json.Number(s) }

func transcript(t *testing.T, b *Buyer, id string) string {
	t.Helper()
	r, err := b.Transcript(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// B84: a long output passes through without staying in memory.
func TestMemoryStaysBounded(t *testing.T) {
	const chunks, size = 320, 128 << 10 // 40 MiB
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
		for i := range chunks {
			w.chunk(i, strings.Repeat("x", size), i == chunks-1)
		}
		w.streamed()
	})
	done := make(chan struct{})
	dir := t.TempDir()
	b, _ := newBuyer(t, p.URL, func(o *Options) {
		o.StateDir = dir
		o.Events = func(ev acmp.TaskEvent) {
			if ev.Kind.Final() {
				close(done)
			}
		}
	})
	before := heap()
	id := invoke(t, b, invocation(func(p *acmp.InvokeParams) { p.TimeoutMS = 300_000 }))
	<-done
	if grown := heap() - before; grown > 16<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	eventually(t, func() bool { _, err := b.find(id); return err != nil }, "the task to be over")
	fi, err := os.Stat(b.disk.path(id, ".out"))
	if err != nil || fi.Size() != chunks*size || fi.Mode().Perm() != 0o600 {
		t.Errorf("transcript %v, %v", fi, err)
	}
}

// B105, A-151: the token is in no log, error, event or format.
func TestTokenIsNowhere(t *testing.T) {
	const token = "SECRET123"
	var log logBuffer
	spec := ProviderSpec{Name: "p", URL: "http://127.0.0.1:1/mcp", Token: NewSecret(token)}
	asJSON, _ := json.Marshal(struct{ P ProviderSpec }{spec})
	for _, s := range []string{fmt.Sprintf("%v %+v %#v %s", spec, spec, spec, spec.Token), string(asJSON)} {
		if strings.Contains(s, token) {
			t.Errorf("printed: %s", s)
		}
	}
	for _, status := range []int{0, 400, 401, 403, 500} {
		p := newFakeProvider(t, 0, func(w *answerWriter, r wireRequest, _ int) {
			w.fail(-33099, `"`+"gone"+`"`)
		})
		p.setStatus(status)
		b, rec := newBuyer(t, p.URL, func(o *Options) {
			o.Providers[0].Token = NewSecret(token)
			o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			o.ConnectTimeout = time.Second
		})
		id, err := b.Invoke(t.Context(), invocation(nil))
		if err == nil {
			rec.outcome(t, id)
		}
		if s := fmt.Sprintf("%v %+v %+v", err, rec.of(id), rec.lastProvider()); strings.Contains(s, token) {
			t.Errorf("status %d: %s", status, s)
		}
	}
	if strings.Contains(log.String(), token) {
		t.Errorf("log: %s", log.String())
	}
}

// What is known of a provider follows it: there, gone, back.
func TestReachability(t *testing.T) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { w.output("x") })
	_, rec := newBuyer(t, p.URL, func(o *Options) { o.ProbeEvery = 20 * time.Millisecond })
	reachable := func(want bool) func() bool {
		return func() bool {
			r := rec.lastProvider().Reachable
			return r != nil && *r == want
		}
	}
	eventually(t, reachable(true), "the provider to be reachable")
	if s := rec.lastProvider().Settings; s == nil || !s.Features.OutputStreaming {
		t.Errorf("settings %+v", s)
	}
	p.setStatus(http.StatusBadGateway)
	eventually(t, reachable(false), "the provider to be gone")
	if got := rec.lastProvider(); !strings.Contains(got.Problem, "502") || got.Settings == nil || got.Since.IsZero() {
		t.Errorf("gone: %+v", got)
	}
	p.setStatus(0)
	eventually(t, reachable(true), "the provider to be back")
}

// The journal lets the next run take up what this one left (R: acmp.md, the
// buyer's heart); the ledger has one line per outcome.
func TestReattach(t *testing.T) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, n int) {
		w.chunk(0, "one ", false)
		if n == 1 {
			w.hang()
		}
		w.chunk(1, "two", true)
		w.streamed()
	})
	dir := t.TempDir()
	keep := func(o *Options) { o.StateDir = dir }
	b1, rec1 := newBuyer(t, p.URL, keep)
	id := invoke(t, b1, invocation(nil))
	evs := rec1.await(t, id, acmp.EventChunk)
	if b2, _ := New(Options{StateDir: dir, Providers: []ProviderSpec{{Name: "p", URL: p.URL}}}); b2 != nil {
		if _, err := b2.find(id); err == nil {
			t.Error("a task that runs elsewhere was taken up")
		}
		_ = b2.Close(t.Context())
	}
	if err := b1.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := p.seen(acmp.MethodCancel); len(got) > 0 {
		t.Error("closing cancelled the task")
	}
	b3, rec3 := newBuyer(t, p.URL, keep)
	evs3 := rec3.outcome(t, id)
	if got := kinds(evs3); got != "sent resent chunk chunk result" {
		t.Errorf("events: %s", got)
	}
	if d := evs3[0].Deadline.Sub(evs[0].Deadline).Abs(); d > 100*time.Millisecond {
		t.Errorf("the deadline moved by %s", d)
	}
	eventually(t, func() bool { _, err := b3.find(id); return err != nil }, "the task to be over")
	if got := transcript(t, b3, id); got != "one two" {
		t.Errorf("transcript %q", got)
	}
	eventually(t, func() bool {
		left, _ := filepath.Glob(filepath.Join(dir, "tasks", "*.task"))
		return len(left) == 0
	}, "the journal to go")
	ledger, err := os.ReadFile(filepath.Join(dir, "ledger.jsonl"))
	if err != nil || strings.Count(string(ledger), id) != 1 {
		t.Errorf("ledger %q, %v", ledger, err)
	}
}

// A task that was left unfinished is for the provider it was sent to. Another one
// under the same name gets neither its input nor the work (promise 2), and the
// person is told.
func TestReattachOnlyToTheSameProvider(t *testing.T) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
		w.chunk(0, "one ", false)
		w.hang()
	})
	dir := t.TempDir()
	keep := func(o *Options) { o.StateDir = dir }
	b1, rec1 := newBuyer(t, p.URL, keep)
	id := invoke(t, b1, invocation(nil))
	rec1.await(t, id, acmp.EventChunk)
	if err := b1.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	stranger := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { w.streamed() })
	told := make(chan string, 8)
	b2, _ := newBuyer(t, stranger.URL, func(o *Options) {
		keep(o)
		o.Left = func(taskID, why string) { told <- taskID + ": " + why }
	})
	if _, err := b2.find(id); err == nil {
		t.Error("the task was taken up at another provider")
	}
	if left := <-told; !strings.Contains(left, id) || !strings.Contains(left, p.URL) {
		t.Errorf("told: %q, want the task and where it was sent", left)
	}
	if err := b2.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := stranger.seen(acmp.MethodInvoke); len(got) > 0 {
		t.Errorf("another provider got the invoke: %v", got)
	}
	b3, rec3 := newBuyer(t, p.URL, keep) // its own one is back
	rec3.await(t, id, acmp.EventChunk)
	if err := b3.Cancel(t.Context(), id, "test over"); err != nil {
		t.Error(err)
	}
}

// Old transcripts go by count and by bytes; those of unfinished tasks stay, and
// so does the newest (B84).
func TestTranscriptsArePruned(t *testing.T) {
	cases := map[string]struct {
		bounds Bounds
		want   string // of 0 (oldest) to 5; 1 is unfinished
	}{
		"by count":         {Bounds{Keep: 3}, ".1.345"},
		"by bytes":         {Bounds{MaxBytes: 20}, ".1..45"},
		"newest too large": {Bounds{MaxBytes: 5}, ".1...5"},
		"default":          {Bounds{}, "012345"},
	}
	for name, c := range cases {
		d, err := openDisk(t.TempDir(), c.bounds, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			path := d.path(fmt.Sprint(i), ".out")
			if err := os.WriteFile(path, []byte("ten bytes."), 0o600); err != nil {
				t.Fatal(err)
			}
			_ = os.Chtimes(path, time.Now(), time.Now().Add(time.Duration(i-10)*time.Minute))
		}
		_ = os.WriteFile(d.path("1", ".task"), nil, 0o600)
		d.prune()
		got := ""
		for i := range 6 {
			if exists(d.path(fmt.Sprint(i), ".out")) {
				got += fmt.Sprint(i)
			} else {
				got += "."
			}
		}
		if got != c.want {
			t.Errorf("%s: kept %s, want %s", name, got, c.want)
		}
	}
}

// The bounds hold while the program runs, not only when it starts.
func TestTranscriptsStayBounded(t *testing.T) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { w.output("x") })
	dir := t.TempDir()
	b, rec := newBuyer(t, p.URL, func(o *Options) { o.StateDir, o.Transcripts = dir, Bounds{Keep: 4} })
	for range 12 {
		rec.outcome(t, invoke(t, b, invocation(nil)))
	}
	eventually(t, func() bool {
		left, _ := filepath.Glob(filepath.Join(dir, "tasks", "*.out"))
		return len(left) == 4
	}, "old transcripts to go")
}

// a million ids differ, and each holds 128 bits that are random: over all of
// them each bit is set as often as not.
func TestTaskIDs(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a million ids one after the other")
	}
	const n = 1_000_000
	seen := make(map[[16]byte]bool, n)
	var ones [128]int
	for range n {
		raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(NewTaskID(), "task_"))
		if err != nil || len(raw) != 16 || seen[[16]byte(raw)] {
			t.Fatalf("id of %x, %v", raw, err)
		}
		seen[[16]byte(raw)] = true
		for i := range ones {
			ones[i] += int(raw[i/8] >> (i % 8) & 1)
		}
	}
	for i, k := range ones {
		if d := k - n/2; d > 5000 || d < -5000 { // ten standard deviations
			t.Errorf("bit %d is set in %d of %d ids", i, k, n)
		}
	}
}

// Whoever finds the session finds what its server offers: many tasks at once with
// the first look at a provider, none of which may be told that it offers nothing.
func TestSessionComesWithItsSettings(t *testing.T) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { w.output("x") })
	for range 100 {
		b, _ := newBuyer(t, p.URL, nil)
		l := b.links["p"]
		for {
			s, set, err := l.current()
			if s == nil && err == nil {
				continue
			}
			if err != nil || set == nil {
				t.Fatalf("settings %v, %v", set, err)
			}
			l.release(s)
			break
		}
	}
}
