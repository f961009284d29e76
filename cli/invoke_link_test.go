package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	buyer "signalbox/client/acmp"
	"signalbox/model/acmp"
	provider "signalbox/server/acmp"
)

// breaker passes TCP on to a server and can cut all that passes.
type breaker struct {
	net.Listener
	target string

	mu    sync.Mutex
	conns []net.Conn
	cut   atomic.Int32 // cuts still to make, each after after bytes of answer
	after int
}

func newBreaker(t *testing.T, target string, cuts int32, after int) *breaker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &breaker{Listener: l, target: strings.TrimPrefix(target, "http://"), after: after}
	b.cut.Store(cuts)
	go b.serve()
	t.Cleanup(func() {
		l.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, c := range b.conns {
			c.Close()
		}
	})
	return b
}

func (b *breaker) serve() {
	for {
		c, err := b.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial("tcp", b.target)
		if err != nil {
			c.Close()
			continue
		}
		b.mu.Lock()
		b.conns = append(b.conns, c, up)
		b.mu.Unlock()
		go func() { _, _ = io.Copy(up, c); up.Close() }()
		go b.answer(c, up)
	}
}

func (b *breaker) answer(c, up net.Conn) {
	defer c.Close()
	defer up.Close()
	if _, err := io.CopyN(c, up, int64(b.after)); err != nil {
		return
	}
	if b.cut.Add(-1) >= 0 {
		return
	}
	_, _ = io.Copy(c, up)
}

// end to end: the stream breaks, the task runs once, and stdout
// holds the output once.
func TestInvokeOverBreakingLink(t *testing.T) {
	var runs atomic.Int32
	const lines = 400
	p, err := provider.New(t.Context(), provider.Options{
		ProviderID: "agent:test:local", HeartbeatInterval: 200 * time.Millisecond,
		Capabilities: []provider.Capability{{Info: acmp.Capability{Name: "long"}, Handler: func(_ context.Context, t *provider.Task) (provider.Output, error) {
			runs.Add(1)
			for i := range lines {
				if i%100 == 0 {
					<-time.After(50 * time.Millisecond)
				}
				if err := t.Emit(acmp.Text(fmt.Sprintf("line %d\n", i))); err != nil {
					return provider.Output{}, err
				}
			}
			return provider.Output{}, t.EmitFinal(acmp.Text(""))
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(p.Handler())
	defer srv.Close()
	link := newBreaker(t, srv.URL, 3, 20_000)
	var want strings.Builder
	for i := range lines {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	got := runWith(t.Context(), "", invokeEnv(t), "invoke", "long", "--provider", "p=http://"+link.Addr().String())
	if got.code != 0 || got.stdout != want.String() {
		t.Errorf("code %d, %d bytes of %d, stderr %s", got.code, len(got.stdout), want.Len(), got.stderr)
	}
	if n := strings.Count(got.stderr, "sent again"); n < 1 || runs.Load() != 1 {
		t.Errorf("sent again %d times, ran %d times", n, runs.Load())
	}
}

// Many tasks at once over one connection to a provider of ours: each gets its
// own output, whole.
func TestManyTasksAtOnce(t *testing.T) {
	url := servedProvider(t)
	const tasks = 60
	type outcome struct {
		text string
		ev   acmp.TaskEvent
	}
	var mu sync.Mutex
	texts := map[string]string{}
	done := make(chan outcome, tasks)
	b, err := buyer.New(buyer.Options{
		Providers: []buyer.ProviderSpec{{Name: "p", URL: url, Token: buyer.NewSecret("SECRET123")}},
		StateDir:  t.TempDir(),
		// At 400 ms between heartbeats a busy machine would be taken for a dead provider.
		KeepSilent: true,
		Events: func(ev acmp.TaskEvent) {
			mu.Lock()
			defer mu.Unlock()
			if ev.Kind == acmp.EventChunk {
				texts[ev.TaskID] += string(ev.Chunk.Raw())
			}
			if ev.Kind.Final() {
				done <- outcome{texts[ev.TaskID], ev}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(t.Context())
	for range tasks {
		in := acmp.Text("x")
		_, err := b.Invoke(t.Context(), acmp.Invocation{Provider: "p", Params: acmp.InvokeParams{Capability: "lines", Input: &in, Stream: true}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range tasks {
		if o := <-done; o.ev.Kind != acmp.EventResult || o.text != "line 0\nline 1\nline 2\n" {
			t.Errorf("%q %+v", o.text, o.ev.Err)
		}
	}
}
