package acmp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
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

// httpPeer speaks Streamable HTTP with raw messages.
type httpPeer struct {
	url   string
	token string
}

func (httpPeer) name() string { return "http" }

func (h httpPeer) post(ctx context.Context, method string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", protocolVersion)
	req.Header.Set("Mcp-Method", method)
	if h.token != "" {
		req.Header.Set("Authorization", "Bearer "+h.token)
	}
	return http.DefaultClient.Do(req)
}

func (h httpPeer) request(t *testing.T, method string, params map[string]any) *reply {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	res, err := h.post(ctx, method, encode(t, method, requestID.Add(1), withMeta(params)))
	if err != nil {
		t.Fatal(err)
	}
	r := &reply{msgs: make(chan message, 1024), status: res.StatusCode, header: res.Header, drop: cancel}
	go func() {
		defer close(r.msgs)
		defer res.Body.Close()
		defer cancel()
		if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
			readSSE(res.Body, r.msgs)
			return
		}
		raw, _ := io.ReadAll(res.Body)
		if m, ok := decodeMessage(raw); ok {
			r.msgs <- m
		}
	}()
	return r
}

func readSSE(body io.Reader, out chan<- message) {
	lines := bufio.NewReader(body)
	for {
		line, err := lines.ReadString('\n')
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if m, ok := decodeMessage([]byte(data)); ok {
				out <- m
			}
		}
		if err != nil {
			return
		}
	}
}

func decodeMessage(raw []byte) (message, bool) {
	m := message{raw: bytes.TrimSpace(raw), at: time.Now()}
	return m, json.Unmarshal(raw, &m) == nil
}

func (h httpPeer) notify(t *testing.T, method string, params map[string]any) {
	t.Helper()
	res, err := h.post(t.Context(), method, encode(t, method, nil, params))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusAccepted || len(body) != 0 {
		t.Fatalf("notification %s: status %d, body %q", method, res.StatusCode, body)
	}
}

// stdioPeer speaks with ServeStdio over pipes.
type stdioPeer struct {
	in io.WriteCloser

	mu    sync.Mutex
	calls map[string]*reply
	tasks map[string][]*reply // notifications go to the calls of their task
	stray []message
	done  chan struct{}
}

func (*stdioPeer) name() string { return "stdio" }

func newStdioPeer(in io.WriteCloser, out io.Reader) *stdioPeer {
	s := &stdioPeer{in: in, calls: map[string]*reply{}, tasks: map[string][]*reply{}, done: make(chan struct{})}
	go s.read(out)
	return s
}

func (s *stdioPeer) read(out io.Reader) {
	defer close(s.done)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			s.take(line)
		}
		if err != nil {
			s.mu.Lock()
			for _, r := range s.calls {
				close(r.msgs)
			}
			s.calls = map[string]*reply{}
			s.mu.Unlock()
			return
		}
	}
}

func (s *stdioPeer) take(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := decodeMessage(line)
	if !ok {
		m = message{raw: line}
	}
	if r := s.calls[string(m.ID)]; r != nil && m.response() {
		r.msgs <- m
		close(r.msgs)
		delete(s.calls, string(m.ID))
		for id, rs := range s.tasks {
			if len(rs) > 0 && rs[0] == r {
				s.tasks[id] = rs[1:]
			}
		}
		return
	}
	if rs := s.tasks[m.Params.TaskID]; len(rs) > 0 && !m.response() {
		rs[0].msgs <- m
		return
	}
	s.stray = append(s.stray, m)
}

func (s *stdioPeer) write(t *testing.T, line []byte) {
	t.Helper()
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
}

func (s *stdioPeer) request(t *testing.T, method string, params map[string]any) *reply {
	t.Helper()
	id := requestID.Add(1)
	r := &reply{msgs: make(chan message, 1024), status: http.StatusOK}
	r.drop = func() {
		s.write(t, encode(t, "notifications/cancelled", nil, map[string]any{"requestId": id}))
	}
	s.mu.Lock()
	s.calls[fmt.Sprint(id)] = r
	if task, ok := params["task_id"].(string); ok {
		s.tasks[task] = append(s.tasks[task], r)
	}
	s.mu.Unlock()
	s.write(t, encode(t, method, id, withMeta(params)))
	return r
}

func (s *stdioPeer) notify(t *testing.T, method string, params map[string]any) {
	t.Helper()
	s.write(t, encode(t, method, nil, params))
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
