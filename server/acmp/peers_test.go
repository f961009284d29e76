package acmp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

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
