package acmp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// testLog writes a log into b.
func testLog(b *logBuffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// logBuffer is a log that is read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// B36, B37, A-045, A-050: a bad line is answered and harms no other.
func TestBadLines(t *testing.T) {
	p := newProvider(t, only(stream(1))())
	c := overStdio(t, p)
	for _, line := range []string{
		"\xc3\x28", "ready on stdio", "", "{}", "[]", `{"jsonrpc":"2.0","id":null,"method":"x"}`, `{"jsonrpc":"2.0","id":1.5,"method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"acmp/cancel","params":[]}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody"}}`,
	} {
		c.write(t, []byte(line))
	}
	m := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"input": text("line\u2028separator")})).answer(t)
	if m.Result == nil {
		t.Errorf("answer: %s", m.raw)
	}
	eventually(t, "each bad line is answered", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.stray) >= 7
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	var codes []int
	for _, s := range c.stray {
		if s.Error == nil || s.ID != nil {
			t.Errorf("stray: %s", s.raw)
			continue
		}
		codes = append(codes, s.Error.Code)
	}
	if len(codes) != 7 || codes[0] != -32700 || codes[1] != -32700 || codes[2] != -32600 {
		t.Errorf("codes %v", codes)
	}
}

func TestStdioInitializeNamesTheRevision(t *testing.T) {
	p := newProvider(t, only(stream(1))())
	m := overStdio(t, p).request(t, "initialize", map[string]any{"protocolVersion": "2025-06-18"}).answer(t)
	if m.Error == nil || m.Error.Code != -32022 || !strings.Contains(string(m.raw), protocolVersion) {
		t.Errorf("answer: %s", m.raw)
	}
}

// a slow task does not delay a fast one on the same pipe.
func TestSlowDoesNotDelayFast(t *testing.T) {
	slow := make(chan struct{})
	h := func(ctx context.Context, task *Task) (Output, error) {
		if task.Params().OutputType == "slow" {
			<-slow
		}
		return stream(1)(ctx, task)
	}
	p := newProvider(t, only(h)())
	c := overStdio(t, p)
	r := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"output_type": "slow"}))
	if code := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), nil)).code(t); code != 0 {
		t.Errorf("fast: %d", code)
	}
	close(slow)
	if code := r.code(t); code != 0 {
		t.Errorf("slow: %d", code)
	}
}

// The order of the pipe holds: thousands of chunks directly behind their invoke.
func TestStdioInputBehindInvoke(t *testing.T) {
	p := newProvider(t, only(echoInput)())
	c := overStdio(t, p)
	id := taskID()
	r := c.request(t, acmp.MethodInvoke, map[string]any{"task_id": id, "capability": "work", "input_stream": true})
	const n = 3000
	for i := range n {
		c.notify(t, acmp.MethodInputChunk, inputChunk(id, i, "x", i == n-1))
	}
	if m := r.answer(t); m.Result == nil || len(m.Result.Output.Data) != n+2 {
		t.Errorf("answer: %.200s", m.raw)
	}
}

// whoever writes requests and closes the pipe gets the answers.
func TestStdioAnswersBehindTheEnd(t *testing.T) {
	p := newProvider(t, only(stream(2))())
	var in, out bytes.Buffer
	in.WriteString(discoverBody("1") + "\n")
	in.Write(encode(t, acmp.MethodInvoke, 2, withMeta(invokeParamsOf(taskID(), nil)))) // no line end
	if err := p.ServeStdio(t.Context(), &in, &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, `"id":1,`) || !strings.Contains(got, `"0 1 "`) {
		t.Errorf("output:\n%s", got)
	}
}

// B39: a reader that goes away ends the session instead of spinning.
func TestStdioBrokenOutput(t *testing.T) {
	p := newProvider(t, only(stream(1))())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	outR.CloseWithError(errors.New("nobody reads"))
	served := make(chan error, 1)
	go func() { served <- p.ServeStdio(t.Context(), inR, outW) }()
	go func() { _, _ = inW.Write([]byte(discoverBody("1") + "\n")) }()
	select {
	case err := <-served:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(patience):
		t.Fatal("the session lives on")
	}
}
