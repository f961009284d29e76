package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// wireMessage is one JSON-RPC message as it came.
type wireMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		TaskID string `json:"task_id"`
		Seq    int64  `json:"seq"`
		Chunk  struct {
			Type string          `json:"type"`
			Data json.RawMessage `json:"data"`
		} `json:"chunk"`
		Final bool `json:"final"`
	} `json:"params"`
	Result map[string]json.RawMessage `json:"result"`
	Error  *struct {
		Code    int                        `json:"code"`
		Message string                     `json:"message"`
		Data    map[string]json.RawMessage `json:"data"`
	} `json:"error"`

	raw string
	at  time.Time
}

func (m *wireMessage) response() bool { return m.Method == "" }

func (m *wireMessage) code() int {
	if m.Error == nil {
		return 0
	}
	return m.Error.Code
}

// text is the chunk's data as a string.
func (m *wireMessage) text() string {
	var s string
	_ = json.Unmarshal(m.Params.Chunk.Data, &s) // what is no string is empty
	return s
}

// wire is a connection to a provider in a process of its own.
type wire interface {
	// start sends a request whose params already hold _meta.
	start(t *testing.T, id, method string, params map[string]any) *wireReply
	notify(t *testing.T, method string, params map[string]any)
}

// wireReply is what comes for one request; the channel is closed behind its response.
type wireReply struct {
	msgs chan wireMessage
	drop func() // breaks the connection, or cancels the request on stdio
}

const wirePatience = 30 * time.Second

func (r *wireReply) next(t *testing.T) wireMessage {
	t.Helper()
	select {
	case m, ok := <-r.msgs:
		if !ok {
			t.Fatal("the stream ended too soon")
		}
		return m
	case <-time.After(wirePatience):
		t.Fatal("no message came")
	}
	return wireMessage{}
}

// chunk skips to the next chunk.
func (r *wireReply) chunk(t *testing.T) wireMessage {
	t.Helper()
	for {
		if m := r.next(t); m.Method == "acmp/streamChunk" {
			return m
		}
	}
}

// all gives everything; exactly the last message is a response.
func (r *wireReply) all(t *testing.T) []wireMessage {
	t.Helper()
	var ms []wireMessage
	for {
		select {
		case m, ok := <-r.msgs:
			if !ok {
				if len(ms) == 0 || !ms[len(ms)-1].response() {
					t.Fatalf("no response at the end of %d messages", len(ms))
				}
				return ms
			}
			if len(ms) > 0 && ms[len(ms)-1].response() {
				t.Fatalf("behind the response: %s", m.raw)
			}
			if m.Method != "" && m.ID != nil {
				t.Fatalf("a request of the provider's: %s", m.raw)
			}
			if m.Method == "acmp/result" || m.Method == "acmp/error" {
				t.Fatalf("not a method: %s", m.raw)
			}
			ms = append(ms, m)
		case <-time.After(wirePatience):
			t.Fatalf("the stream did not end; so far %d messages", len(ms))
		}
	}
}

func (r *wireReply) answer(t *testing.T) wireMessage {
	t.Helper()
	ms := r.all(t)
	return ms[len(ms)-1]
}

var wireNumber atomic.Int64

func wireTask() string { return "task_conf_" + strconv.FormatInt(wireNumber.Add(1), 10) }

// invokeOf is the params of an invoke; a nil value takes a member away.
func invokeOf(task, capability string, more map[string]any) map[string]any {
	p := map[string]any{"task_id": task, "capability": capability, "input": map[string]any{"type": "text", "data": "hello"}, "timeout_ms": 30000}
	for k, v := range more {
		if v == nil {
			delete(p, k)
			continue
		}
		p[k] = v
	}
	return p
}

func request(t *testing.T, w wire, method string, params map[string]any) *wireReply {
	t.Helper()
	return w.start(t, strconv.FormatInt(wireNumber.Add(1), 10), method, params)
}

func invokeWire(t *testing.T, w wire, capability string, more map[string]any) *wireReply {
	t.Helper()
	return request(t, w, "acmp/invoke", invokeOf(wireTask(), capability, more))
}

func rawRequest(t *testing.T, id, method string, params map[string]any) []byte {
	t.Helper()
	m := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id != "" {
		m["id"] = json.RawMessage(id)
		all := map[string]any{"_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}}}
		for k, v := range params {
			all[k] = v
		}
		m["params"] = all
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readWire(raw []byte) wireMessage {
	m := wireMessage{raw: string(raw), at: time.Now()}
	_ = json.Unmarshal(raw, &m) // the raw form shows what it was
	return m
}

// httpWire speaks Streamable HTTP.
type httpWire struct{ p *provided }

func (h httpWire) start(t *testing.T, id, method string, params map[string]any) *wireReply {
	t.Helper()
	res := h.p.post(t, string(rawRequest(t, id, method, params)), "Mcp-Method", method)
	r := &wireReply{msgs: make(chan wireMessage, 4096), drop: func() { res.Body.Close() }}
	go func() {
		defer close(r.msgs)
		if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
			if raw, err := io.ReadAll(res.Body); err == nil {
				r.msgs <- readWire(raw)
			}
			return
		}
		lines := bufio.NewReader(res.Body)
		for {
			line, err := lines.ReadBytes('\n')
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				r.msgs <- readWire(bytes.TrimSpace(data))
			}
			if err != nil {
				return
			}
		}
	}()
	return r
}

func (h httpWire) notify(t *testing.T, method string, params map[string]any) {
	t.Helper()
	res := h.p.post(t, string(rawRequest(t, "", method, params)), "Mcp-Method", method)
	if body := bodyOf(t, res); res.StatusCode != http.StatusAccepted || body != "" {
		t.Fatalf("%s: status %d, body %q", method, res.StatusCode, body)
	}
}

// stdioWire speaks with `provide --stdio`.
type stdioWire struct {
	in io.Writer

	mu    sync.Mutex
	calls map[string]*wireReply
	tasks map[string][]*wireReply
	stray []wireMessage
}

func startStdioWire(t *testing.T, config string) *stdioWire {
	t.Helper()
	cmd := exec.Command(binary(t), "provide", "--stdio", "--config", config)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &stdioWire{in: in, calls: map[string]*wireReply{}, tasks: map[string][]*wireReply{}}
	read := make(chan struct{})
	go func() { defer close(read); s.read(out) }()
	t.Cleanup(func() { // it goes when its input ends
		in.Close()
		select {
		case <-read:
		case <-time.After(wirePatience):
			t.Error("the provider does not end with its input")
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait()
		for _, m := range s.stray {
			if !strings.HasPrefix(m.raw, `{"jsonrpc":"2.0",`) {
				t.Errorf("on stdout: %q", m.raw)
			}
		}
	})
	return s
}

func (s *stdioWire) read(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			s.take(readWire(bytes.TrimSpace(line)))
		}
		if err != nil {
			return
		}
	}
}

func (s *stdioWire) take(m wireMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.calls[string(m.ID)]; r != nil && m.response() {
		r.msgs <- m
		close(r.msgs)
		delete(s.calls, string(m.ID))
		for task, rs := range s.tasks {
			for i := range rs {
				if rs[i] == r {
					s.tasks[task] = append(rs[:i:i], rs[i+1:]...)
					break
				}
			}
		}
		return
	}
	if rs := s.tasks[m.Params.TaskID]; len(rs) > 0 && !m.response() {
		rs[0].msgs <- m // several requests for one task are told apart over HTTP
		return
	}
	s.stray = append(s.stray, m)
}

func (s *stdioWire) write(t *testing.T, line []byte) {
	t.Helper()
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
}

func (s *stdioWire) start(t *testing.T, id, method string, params map[string]any) *wireReply {
	t.Helper()
	task, _ := params["task_id"].(string)
	r := &wireReply{msgs: make(chan wireMessage, 4096)}
	r.drop = func() {
		s.mu.Lock()
		s.tasks[task] = nil
		s.mu.Unlock()
		s.write(t, rawRequest(t, "", "notifications/cancelled", map[string]any{"requestId": json.RawMessage(id)}))
	}
	s.mu.Lock()
	s.calls[id] = r
	s.tasks[task] = append(s.tasks[task], r)
	s.mu.Unlock()
	s.write(t, rawRequest(t, id, method, params))
	return r
}

func (s *stdioWire) notify(t *testing.T, method string, params map[string]any) {
	t.Helper()
	s.write(t, rawRequest(t, "", method, params))
}
