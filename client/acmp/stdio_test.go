package acmp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// one task over a pipe.
func TestStdioTask(t *testing.T) {
	b, rec, _ := childBuyer(t, "plain", nil)
	for range 3 {
		evs := rec.outcome(t, invoke(t, b, invocation(nil)))
		if kinds(evs) != "sent chunk result" || outputText(evs) != "hello" {
			t.Errorf("%s %q", kinds(evs), outputText(evs))
		}
	}
}

// B36, B37, B38, B27: stray text, broken bytes, a line above the limit and a
// flood on stderr do not end the transport.
func TestStdioNoise(t *testing.T) {
	b, rec, _ := childBuyer(t, "noisy", func(o *Options) { o.MaxMessage = 2 << 20 })
	evs := rec.outcome(t, invoke(t, b, invocation(nil)))
	if got := outputText(evs); got != "\u2028 bada\uFFFDb" || last(evs).Kind != acmp.EventResult {
		t.Errorf("%s %q %+v", kinds(evs), got, last(evs).Err)
	}
	tk := b.links["p"].sess.conn.proc
	tk.mu.Lock()
	defer tk.mu.Unlock()
	if n := len(tk.stderr.b); n != stderrTail {
		t.Errorf("%d bytes of stderr kept", n)
	}
}

// B27: a message above the limit is laid at the door of its task, which ends at
// once; the others go on.
func TestStdioTooLong(t *testing.T) {
	b, rec, _ := childBuyer(t, "huge", func(o *Options) { o.MaxMessage = 2 << 20 })
	for _, capability := range []string{"chunk", "result"} {
		id := invoke(t, b, invocation(func(p *acmp.InvokeParams) { p.Capability, p.TimeoutMS = capability, 300_000 }))
		if e := last(rec.outcome(t, id)).Err; e == nil || !strings.Contains(e.Message, "larger than the limit of 2097152 bytes") {
			t.Errorf("%s: %+v", capability, e)
		}
	}
}

// B37: what spoils the handshake is quoted, within the handshake's time; so is
// the last word of a child that ends.
func TestStdioHandshakeFails(t *testing.T) {
	for role, want := range map[string]string{
		"glued": `"cache warm {`, "fails": "(exit status 4): no licence found",
	} {
		// The glued one never answers: its time is doubled until it was enough for
		// this machine to start a process and read a line.
		var err error
		var seen string
		for wait := time.Second; wait <= time.Minute; wait *= 2 {
			b, rec, _ := childBuyer(t, role, func(o *Options) { o.ConnectTimeout = wait })
			_, err = b.Invoke(t.Context(), invocation(nil))
			if got := rec.lastProvider(); got.Reachable != nil && !*got.Reachable {
				seen = got.Problem
			}
			if err != nil && strings.Contains(err.Error(), want) && strings.Contains(seen, want) {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(seen, want) {
			t.Errorf("%s: %v; seen %q", role, err, seen)
		}
	}
	b, _ := newBuyer(t, "", func(o *Options) { o.Providers[0].Command = []string{"/nonexistent/agent"} })
	if _, err := b.Invoke(t.Context(), invocation(nil)); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("missing command: %v", err)
	}
}

// A-148, B105: the token is in the environment only, and nobody else's is.
func TestStdioToken(t *testing.T) {
	t.Setenv("SIGNALBOX_TOKEN_FILE", "other-secret")
	t.Setenv("ACOP_BACKEND_BEARER_TOKEN", "other-secret")
	b, rec, _ := childBuyer(t, "env", func(o *Options) { o.Providers[0].Token = NewSecret("SECRET123") })
	got := outputText(rec.outcome(t, invoke(t, b, invocation(nil))))
	if !strings.Contains(got, "ACMP_BEARER_TOKEN=SECRET123") || strings.Count(got, "SECRET123") != 1 {
		t.Error("the token is not in the environment alone")
	}
	if strings.Contains(got, "other-secret") {
		t.Error("a foreign token was inherited")
	}
}

// A-078, D-12: a child that dies in the middle took its task table with it, so the
// task is not sent to its next life, unless that life remembers the task or the
// user said so.
func TestStdioDeath(t *testing.T) {
	again := "sent chunk stream_broken resent chunk result"
	cases := map[string]struct {
		memory, runTwice bool
		want             string
	}{
		"no memory": {false, false, "sent chunk error"},
		"memory":    {true, false, again},
		"asked for": {false, true, again},
	}
	for name, c := range cases {
		b, rec, _ := childBuyer(t, "dies", func(o *Options) {
			if c.memory {
				o.Providers[0].Env = append(o.Providers[0].Env, "MEMORY=1")
			}
		})
		inv := invocation(nil)
		inv.RunTwice = c.runTwice
		evs := rec.outcome(t, invoke(t, b, inv))
		if kinds(evs) != c.want {
			t.Fatalf("%s: %s", name, kinds(evs))
		}
		cause := evs[2].Detail
		if e := evs[2].Err; e != nil {
			cause = e.Message
			if !e.Local || e.Code != acmp.CodeInternal || e.Data["provider_ended"] != true {
				t.Errorf("%s: %+v", name, e)
			}
		} else if outputText(evs) != "hello" {
			t.Errorf("%s: %q", name, outputText(evs))
		}
		if !strings.Contains(cause, "exit status 3") || !strings.Contains(cause, "out of luck") {
			t.Errorf("%s: cause %q", name, cause)
		}
	}
}

// a task that was on a pipe when the program ended is not run again by
// the next one; it ends, and says why.
func TestStdioReattach(t *testing.T) {
	dir := t.TempDir()
	keep := func(o *Options) { o.StateDir = dir }
	b, rec, _ := childBuyer(t, "waits", keep)
	id := invoke(t, b, invocation(nil))
	rec.await(t, id, acmp.EventSent)
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, rec, _ = childBuyer(t, "waits", keep)
	evs := rec.outcome(t, id)
	if e := last(evs).Err; kinds(evs) != "sent error" || e == nil || e.Data["provider_ended"] != true {
		t.Errorf("%s %+v", kinds(evs), e)
	}
}

// A-136 on a pipe.
func TestStdioCancel(t *testing.T) {
	b, rec, _ := childBuyer(t, "waits", nil)
	id := invoke(t, b, invocation(nil))
	rec.await(t, id, acmp.EventSent)
	if err := b.Cancel(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if end := last(rec.outcome(t, id)); end.Err == nil || end.Err.Code != acmp.CodeCancelled || end.Err.Local {
		t.Errorf("outcome %+v", end.Err)
	}
}

// B35: a child that does not read its input holds nobody up.
func TestStdioStuckReader(t *testing.T) {
	b, rec, _ := childBuyer(t, "stuck", func(o *Options) { o.CancelWait = 50 * time.Millisecond })
	in := acmp.Text(strings.Repeat("x", 1<<20))
	id := invoke(t, b, invocation(func(p *acmp.InvokeParams) { p.Input = &in }))
	rec.await(t, id, acmp.EventSent)
	start := time.Now()
	if err := b.Cancel(t.Context(), id, ""); err != nil || time.Since(start) > 100*time.Millisecond {
		t.Errorf("cancel took %s: %v", time.Since(start), err)
	}
	if end := last(rec.outcome(t, id)); end.Err == nil || end.Err.Code != acmp.CodeCancelled {
		t.Errorf("outcome %+v", end.Err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start = time.Now()
	if err := b.Close(ctx); err != nil || time.Since(start) > time.Second {
		t.Errorf("close took %s: %v", time.Since(start), err)
	}
}

// A-048, B39: a child that ignores the end of its input and SIGTERM is killed,
// and its own children with it.
func TestStdioGroupIsGone(t *testing.T) {
	if _, err := exec.LookPath("sleep"); err != nil {
		t.Skip("needs sleep")
	}
	b, rec, file := childBuyer(t, "stubborn", nil)
	rec.outcome(t, invoke(t, b, invocation(nil)))
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(string(raw))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Error(err)
	}
	eventually(t, func() bool { return gone(pid) }, "the grandchild to be gone")
}

// gone reports whether no living process has this id.
func gone(pid int) bool {
	if p, err := os.FindProcess(pid); err != nil || p.Signal(syscall.Signal(0)) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// Where two sends share a pipe, chunks of the first that still arrive are not
// taken for those of the second.
func TestStdioResend(t *testing.T) {
	b, rec, _ := childBuyer(t, "late", nil)
	id := invoke(t, b, invocation(nil))
	rec.await(t, id, acmp.EventChunk)
	if err := b.Resend(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	evs := rec.outcome(t, id)
	if kinds(evs) != "sent chunk stream_broken resent chunk chunk result" || outputText(evs) != "hello" {
		t.Errorf("%s %q %+v", kinds(evs), outputText(evs), last(evs).Err)
	}
}

// B84, A-041: a request that is given up leaves nothing behind on the pipe, and its
// late response is not taken for that of the next send.
func TestStdioForgetsWhatIsGivenUp(t *testing.T) {
	b, rec, _ := childBuyer(t, "waits", func(o *Options) { o.CancelWait = time.Millisecond })
	id := invoke(t, b, invocation(nil))
	for n := range 20 {
		rec.await(t, id, acmp.EventSent)
		if err := b.Resend(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return strings.Count(kinds(rec.of(id)), "resent") == n+1 }, "the task to be sent again")
	}
	l := b.links["p"]
	l.mu.Lock()
	c := l.sess.conn
	l.mu.Unlock()
	held := func() (calls, sinks int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.calls), len(c.sinks)
	}
	eventually(t, func() bool { calls, sinks := held(); return calls == 1 && sinks == 1 }, "given up requests to be forgotten")
	late := newAttempt(newTask(b, l, invocation(nil)), false)
	c.attach("t", late)
	if _, err := c.Write([]byte(`{"jsonrpc":"2.0","id":"first","method":"acmp/invoke","params":{"task_id":"t"}}` + "\n")); err != nil {
		t.Fatal(err)
	}
	next := newAttempt(late.t, true)
	c.attach("t", next)
	if s, ok := c.answer(`"first"`); !ok || s != sink(late) {
		t.Errorf("the first response goes to %p, want %p", s, late)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.Quote(ctx, "p", acmp.OfferRequest{Capability: "silence"}); err == nil {
		t.Error("a quote out of silence")
	}
	_ = b.Cancel(t.Context(), id, "")
	rec.outcome(t, id)
	c.detach("t", late)
	c.detach("t", next)
	eventually(t, func() bool { calls, sinks := held(); return calls == 0 && sinks == 0 }, "all to be forgotten")
}

// What a child wrote last is read though its time was over before we came to it, and
// what others go on writing to its pipe is not read for ever.
func TestEndOfThePipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want := strings.Repeat("x", 40<<10)
	if _, err := io.WriteString(w, want); err != nil {
		t.Fatal(err)
	}
	_ = r.SetReadDeadline(time.Unix(1, 0))
	end := &pipeEnd{f: r}
	got := make([]byte, len(want))
	if n, err := io.ReadFull(end, got); err != nil || string(got) != want {
		t.Fatalf("%d of %d bytes, %v", n, len(want), err)
	}
	go func() {
		defer w.Close()
		for {
			if _, err := io.WriteString(w, want); err != nil {
				return // nobody reads any more
			}
		}
	}()
	rest, err := io.ReadAll(end)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) || len(rest) > 2*maxLeft {
		t.Errorf("%d bytes more, %v", len(rest), err)
	}
}
