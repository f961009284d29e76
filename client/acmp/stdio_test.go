package acmp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// childVar makes the test binary a provider on stdio; its value is the role.
const childVar = "ACMP_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childVar); role != "" {
		runChild(role)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runChild answers raw lines as role says.
func runChild(role string) {
	say := func(format string, a ...any) { fmt.Printf(format+"\n", a...) }
	switch role {
	case "relay":
		runRelay()
		return
	case "noisy":
		fmt.Fprint(os.Stderr, strings.Repeat("x", 200<<10)+"\xff")
		os.Stdout.WriteString("ready on stdio\n\n\xc3\x28\n{\"broken\n")
	case "glued":
		os.Stdout.WriteString("cache warm {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n")
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		grandchild := exec.Command("sleep", "1000")
		_ = grandchild.Start()
		_ = os.WriteFile(os.Getenv("PID_FILE"), []byte(strconv.Itoa(grandchild.Process.Pid)), 0o600)
	case "once":
		// The second life does not get as far as an answer.
		if mark := os.Getenv("PID_FILE"); exists(mark) {
			os.Exit(4)
		} else {
			_ = os.WriteFile(mark, nil, 0o600)
		}
	case "fails":
		fmt.Fprintln(os.Stderr, "first line\nno licence found")
		os.Exit(4)
	}
	in := bufio.NewReader(os.Stdin)
	input := ""
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			if role == "stubborn" {
				select {}
			}
			return
		}
		var req wireRequest
		_ = json.Unmarshal([]byte(line), &req)
		w := &answerWriter{req: req}
		switch req.Method {
		case "server/discover":
			if role == "glued" {
				continue // that was its answer
			}
			settings := strings.ReplaceAll(settingsJSON(0), "\n", "")
			if os.Getenv("MEMORY") != "" {
				settings = strings.Replace(settings, `"features":{`, `"features":{"task_memory":true,`, 1)
			}
			say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"extensions":{"org.a2agora/acmp":%s}},"ttlMs":0,"cacheScope":"private"}}`,
				req.ID, settings)
			if role == "stuck" {
				select {}
			}
		case acmp.MethodInvoke:
			childInvoke(role, w, say)
		case acmp.MethodInputChunk:
			var c acmp.InputChunk
			_ = json.Unmarshal(req.Params, &c)
			input += string(c.Chunk.Raw())
			if mark := os.Getenv("PID_FILE"); strings.HasSuffix(input, "die") && !exists(mark) {
				_ = os.WriteFile(mark, nil, 0o600)
				os.Exit(3)
			}
			if c.Final {
				w.req.Params, w.req.ID = req.Params, json.RawMessage(os.Getenv("LAST_ID"))
				say("%s", chunkJSON(c.TaskID, 0, input, true))
				say("%s", w.resultJSON(`"output_streamed":true`))
			}
		case acmp.MethodOfferRequest:
			if req.capability() == "silence" {
				continue
			}
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, req.ID)
		case acmp.MethodCancel:
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-33004,"message":"Task cancelled"}}`, os.Getenv("LAST_ID"))
		}
	}
}

func childInvoke(role string, w *answerWriter, say func(string, ...any)) {
	id := w.req.taskID()
	os.Setenv("LAST_ID", string(w.req.ID))
	switch role {
	case "flood":
		out := bufio.NewWriterSize(os.Stdout, 32<<10)
		writeChunks(out, "", "\n", id, benchCount(w.req))
		_ = out.Flush()
		say("%s", w.resultJSON(`"output_streamed":true`))
		return
	case "huge":
		big := chunkJSON(id, 0, strings.Repeat("y", 3<<20), true)
		if w.req.capability() == "result" {
			big = w.resultJSON(`"task_id":"-","output":{"type":"text","data":"` + strings.Repeat("y", 3<<20) + `"}`)
		}
		say("%s", big)
		return
	case "dies":
		// The first life breaks off in the middle.
		if mark := os.Getenv("PID_FILE"); !exists(mark) {
			_ = os.WriteFile(mark, nil, 0o600)
			say("%s", chunkJSON(id, 0, "lost", false))
			fmt.Fprintln(os.Stderr, "out of luck")
			os.Exit(3)
		}
	case "waits", "reads":
		return
	case "late":
		if os.Getenv("SECOND") == "" {
			os.Setenv("SECOND", "yes")
			say("%s", chunkJSON(id, 0, "old", false))
			return
		}
		say("%s", chunkJSON(id, 1, "old", false))
		say("%s", chunkJSON(id, 2, "old", true))
		say("%s", chunkJSON(id, 0, "hel", false))
		say("%s", chunkJSON(id, 1, "lo", true))
		say("%s", w.resultJSON(`"output_streamed":true`))
		return
	case "env":
		say("%s", chunkJSON(id, 0, strings.Join(os.Environ(), "\n")+strings.Join(os.Args, " "), true))
		say("%s", w.resultJSON(`"output_streamed":true`))
		return
	case "noisy":
		os.Stdout.WriteString("{\"a\":\xff\xfe}\r\n")
		say("%s\r", strings.Replace(chunkJSON(id, 0, "SEP bad", false), "SEP", "\u2028", 1))
		os.Stdout.WriteString(strings.Repeat("y", 3<<20) + "\n")
		say("%s", strings.Replace(chunkJSON(id, 1, "BYTE", true), "BYTE", "a\xffb", 1))
		say("%s", w.resultJSON(`"output_streamed":true`))
		return
	}
	say("%s", chunkJSON(id, 0, "hello", true))
	say("%s", w.resultJSON(`"output_streamed":true`))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// childBuyer starts a buyer with the test binary as its provider.
func childBuyer(t *testing.T, role string, change func(*Options)) (*Buyer, *recorder, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pid")
	b, rec := newBuyer(t, "", func(o *Options) {
		o.Providers[0].Command = []string{exe, "an argument"}
		o.Providers[0].Env = []string{childVar + "=" + role, "PID_FILE=" + file}
		if change != nil {
			change(o)
		}
	})
	return b, rec, file
}

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
	if syscall.Kill(pid, 0) != nil {
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
