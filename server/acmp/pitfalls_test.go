package acmp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// B79: a caller that does not read stalls its own task and no other.
func TestSlowReaderHarmsNoOther(t *testing.T) {
	big := acmp.Text(strings.Repeat("x", 32<<10)) // more in all than sockets hold
	o := only(func(_ context.Context, task *Task) (Output, error) {
		for range 300 {
			if err := task.Emit(big); err != nil {
				return Output{}, err
			}
		}
		return Output{}, task.EmitFinal(big)
	})()
	o.Limits.TaskBytes = 256 << 10
	p := newProvider(t, o)
	c := overHTTP(t, p)
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := encode(t, acmp.MethodInvoke, 1, withMeta(invokeParamsOf(taskID(), map[string]any{"stream": true})))
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"Mcp-Protocol-Version: %s\r\nMcp-Method: acmp/invoke\r\nContent-Length: %d\r\n\r\n%s", conn.RemoteAddr(), protocolVersion, len(body), body)
	if line, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q %v", line, err)
	}
	for range 3 { // the others go through while it stands
		ms := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"stream": true})).all(t)
		if ms[len(ms)-1].Result == nil {
			t.Errorf("answer: %s", ms[len(ms)-1].raw)
		}
	}
}

// settles polls until at most n goroutines are left.
func settles(t *testing.T, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("at most %d goroutines", n), func() bool { return runtime.NumGoroutine() <= n })
}

// B80: callers that vanish from idle streams leave nothing behind once their tasks
// are over.
func TestVanishedCallersAreReaped(t *testing.T) {
	o := only(func(ctx context.Context, _ *Task) (Output, error) { <-ctx.Done(); return Output{}, ctx.Err() })()
	o.Grace = 50 * time.Millisecond
	o.HeartbeatInterval = 100 * time.Millisecond
	p := newProvider(t, o)
	c := overHTTP(t, p)
	before := runtime.NumGoroutine()
	for range 100 {
		c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"stream": true, "timeout_ms": 600_000})).drop()
	}
	eventually(t, "no task runs", func() bool {
		p.table.mu.Lock()
		defer p.table.mu.Unlock()
		return p.table.running == 0
	})
	settles(t, before+5)
}

// B81: there are no sessions to pile up, whatever callers leave without a word.
func TestNoSessionsPileUp(t *testing.T) {
	_, c := idleProvider(t, nil)
	exchange(t, c.url, "POST", discoverBody("1"), discoverHeader)
	before := runtime.NumGoroutine()
	for range 200 {
		exchange(t, c.url, "POST", discoverBody("1"), discoverHeader)
		exchange(t, c.url, "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, nil)
	}
	settles(t, before+5)
}

// B87: bodies that are deep, wide or never whole cost an error and no other caller.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	_, c := idleProvider(t, func(o *Options) { o.Limits.MessageBytes = 4 << 20 })
	var wide strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&wide, `"k%d":0,`, i)
	}
	for name, body := range map[string]string{
		"nested":      strings.Repeat("[", 100_000),
		"nested meta": `{"jsonrpc":"2.0","id":1,"method":"acmp/invoke","params":` + strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000) + "}",
		"wide":        `{"jsonrpc":"2.0","id":1,"method":"acmp/invoke","params":{` + wide.String() + `"z":0}}`,
		"twice":       `{"jsonrpc":"2.0","id":1,"id":2,"method":"acmp/invoke"}`,
		"invalid":     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
		"huge":        strings.Repeat(" ", 5<<20),
	} {
		res, text := exchange(t, c.url, "POST", body, discoverHeader)
		if res.StatusCode/100 != 4 {
			t.Errorf("%s: %d %.200s", name, res.StatusCode, text)
		}
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", conn.RemoteAddr())
	_ = conn.(*net.TCPConn).CloseWrite() // shorter than it said
	answer, err := io.ReadAll(conn)
	conn.Close()
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400") {
		t.Errorf("short body: %.100s %v", answer, err)
	}
	if res, _ := exchange(t, c.url, "POST", discoverBody("1"), discoverHeader); res.StatusCode != 200 {
		t.Errorf("afterwards: %d", res.StatusCode)
	}
}

// B29, B77: nothing bounds a stream but its task: an idle one outlives every timeout
// of the server.
func TestLongIdleStreamLives(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	h := func(ctx context.Context, task *Task) (Output, error) {
		if err := task.Emit(acmp.Text("a")); err != nil {
			return Output{}, err
		}
		<-release
		return Output{}, task.EmitFinal(acmp.Text("b"))
	}
	onBoth(t, only(h), func(t *testing.T, _ *Provider, c peer) {
		r := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"stream": true, "timeout_ms": 60_000}))
		r.next(t)
		select {
		case m := <-r.msgs:
			t.Fatalf("while it is silent: %s", m.raw)
		case <-time.After(1500 * time.Millisecond):
		}
		release <- struct{}{}
		if m := r.answer(t); m.Result == nil {
			t.Errorf("answer: %s", m.raw)
		}
	})
}
