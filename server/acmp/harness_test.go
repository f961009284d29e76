package acmp

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// TestMain lets the test binary be the watchdog, and a provider that can be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "watchdog":
			Watchdog(os.Stdin)
			os.Exit(0)
		case "provider":
			os.Exit(providerProcess(os.Args[2]))
		}
	}
	// Most tests here wait for commands and times. A -parallel on the command line wins.
	_ = flag.Set("test.parallel", "8")
	os.Exit(m.Run())
}

// message is one JSON-RPC message as it came over the wire.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		TaskID   string       `json:"task_id"`
		Seq      int64        `json:"seq"`
		Chunk    acmp.Payload `json:"chunk"`
		Final    bool         `json:"final"`
		Progress *float64     `json:"progress"`
		Detail   string       `json:"detail"`
	} `json:"params"`
	Result *acmp.Result `json:"result"`
	Error  *acmp.Error  `json:"error"`

	raw []byte
	at  time.Time
}

func (m *message) response() bool { return m.Method == "" }

// peer is the other end of a provider, over HTTP or stdio.
type peer interface {
	// request sends one request and gives the messages that belong to it; the
	// channel is closed behind the response or when the connection ends.
	request(t *testing.T, method string, params map[string]any) *reply
	notify(t *testing.T, method string, params map[string]any)
	name() string
}

type reply struct {
	msgs   chan message
	status int
	header http.Header
	drop   func() // breaks the connection, or cancels the request on stdio
}

const patience = 30 * time.Second

// next gives the next message; it fails the test when none comes.
func (r *reply) next(t *testing.T) message {
	t.Helper()
	select {
	case m, ok := <-r.msgs:
		if !ok {
			t.Fatal("the stream ended without a further message")
		}
		return m
	case <-time.After(patience):
		t.Fatal("no message came")
	}
	return message{}
}

// all collects everything up to the end of the stream.
func (r *reply) all(t *testing.T) []message {
	t.Helper()
	var ms []message
	end := time.After(patience)
	for {
		select {
		case m, ok := <-r.msgs:
			if !ok {
				return ms
			}
			ms = append(ms, m)
		case <-end:
			t.Fatalf("the stream did not end; so far %d messages", len(ms))
		}
	}
}

// answer collects everything and gives the one response, which must be the last.
func (r *reply) answer(t *testing.T) message {
	t.Helper()
	ms := r.all(t)
	for i, m := range ms {
		if m.response() != (i == len(ms)-1) {
			t.Fatalf("message %d of %d: %s", i, len(ms), m.raw)
		}
	}
	if len(ms) == 0 {
		t.Fatal("no response")
	}
	return ms[len(ms)-1]
}

// code gives the error code of the response, 0 for a result.
func (r *reply) code(t *testing.T) int {
	t.Helper()
	m := r.answer(t)
	if m.Error == nil {
		return 0
	}
	return m.Error.Code
}

var requestID atomic.Int64

func withMeta(params map[string]any) map[string]any {
	p := map[string]any{"_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion":    protocolVersion,
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}}
	for k, v := range params {
		p[k] = v
	}
	return p
}

func encode(t *testing.T, method string, id any, params map[string]any) []byte {
	t.Helper()
	m := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id != nil {
		m["id"] = id
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// newProvider makes a provider that ends with the test.
func newProvider(t *testing.T, opts Options) *Provider {
	t.Helper()
	if self, err := os.Executable(); err == nil && opts.Watchdog == nil {
		opts.Watchdog = []string{self, "watchdog"}
	}
	p, err := New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return p
}

// overHTTP serves p on a real socket.
func overHTTP(t *testing.T, p *Provider) httpPeer {
	t.Helper()
	srv := httptest.NewServer(p.Handler())
	t.Cleanup(srv.Close)
	return httpPeer{url: srv.URL}
}

// overStdio serves p on pipes.
func overStdio(t *testing.T, p *Provider) *stdioPeer {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	peer := newStdioPeer(inW, outR)
	served := make(chan error, 1)
	go func() {
		served <- p.ServeStdio(context.Background(), inR, outW)
		outW.Close()
	}()
	t.Cleanup(func() {
		inW.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		<-peer.done
	})
	return peer
}

// onBoth runs a test over both transports.
func onBoth(t *testing.T, opts func() Options, test func(t *testing.T, p *Provider, c peer)) {
	t.Run("http", func(t *testing.T) {
		p := newProvider(t, opts())
		test(t, p, overHTTP(t, p))
	})
	t.Run("stdio", func(t *testing.T) {
		p := newProvider(t, opts())
		test(t, p, overStdio(t, p))
	})
}

// eventually polls until cond holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	for !cond() {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func text(s string) map[string]any { return map[string]any{"type": "text", "data": s} }

var taskNumber atomic.Int64

// taskID makes an id that no other test uses.
func taskID() string { return fmt.Sprintf("task_%06d", taskNumber.Add(1)) }

// capability wraps a handler.
func capability(name string, h Handler) Capability {
	return Capability{Info: acmp.Capability{Name: name}, Handler: h}
}

func only(h Handler) func() Options {
	return func() Options { return Options{Capabilities: []Capability{capability("work", h)}} }
}
