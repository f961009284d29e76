package acmp

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"signalbox/model/acmp"
)

// exchange sends one raw HTTP request.
func exchange(t *testing.T, url, method, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range header {
		switch {
		case k == "Host":
			req.Host = v
		case v == "":
			req.Header.Del(k)
		default:
			req.Header.Set(k, v)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

func discoverBody(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
}

var discoverHeader = map[string]string{"MCP-Protocol-Version": protocolVersion, "Mcp-Method": "server/discover"}

func with(h map[string]string, more ...string) map[string]string {
	out := map[string]string{}
	for k, v := range h {
		out[k] = v
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

func idleProvider(t *testing.T, change func(*Options)) (*Provider, httpPeer) {
	t.Helper()
	o := only(stream(1))()
	if change != nil {
		change(&o)
	}
	p := newProvider(t, o)
	return p, overHTTP(t, p)
}

// A-035, B103: who is refused before token and body.
func TestHostAndOrigin(t *testing.T) {
	_, c := idleProvider(t, func(o *Options) {
		o.Authenticate = func(string) (string, bool) { return "", false }
		o.AllowedOrigins = []string{"https://good.test"}
	})
	port := c.url[strings.LastIndexByte(c.url, ':')+1:]
	for _, tc := range []struct {
		header map[string]string
		status int
	}{
		{map[string]string{"Host": "evil.test:" + port}, 403},
		{map[string]string{"Host": "127.0.0.1.evil.test"}, 403},
		{map[string]string{"Origin": "http://evil.test"}, 403},
		{map[string]string{"Origin": "null"}, 403},
		{nil, 401},
		{map[string]string{"Host": "[::1]:" + port}, 401},
		{map[string]string{"Host": "localhost:" + port}, 401},
		{map[string]string{"Origin": c.url}, 401},
		{map[string]string{"Origin": "https://good.test"}, 401},
	} {
		res, body := exchange(t, c.url, "POST", discoverBody("1"), tc.header)
		if res.StatusCode != tc.status {
			t.Errorf("%v: status %d, want %d: %s", tc.header, res.StatusCode, tc.status, body)
		}
		if res.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%v: cross-origin reading is allowed", tc.header)
		}
	}
	if res, _ := exchange(t, c.url, "OPTIONS", "", map[string]string{"Origin": "http://evil.test"}); res.StatusCode != 403 {
		t.Errorf("OPTIONS: %d", res.StatusCode)
	}
}

// D-11, B105: tokens and principals.
func TestBearer(t *testing.T) {
	var log logBuffer
	var runs atomic.Int64
	o := only(untilStopped(&runs))()
	o.Log = testLog(&log)
	o.Authenticate = func(token string) (string, bool) {
		who, ok := map[string]string{"SECRET123": "alice", "SECRET456": "bob"}[token]
		return who, ok
	}
	p := newProvider(t, o)
	c := overHTTP(t, p)
	for _, auth := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic SECRET123", "SECRET123", "Bearer SECRET1234"} {
		res, body := exchange(t, c.url, "POST", discoverBody("1"), with(discoverHeader, "Authorization", auth))
		if res.StatusCode != 401 || !strings.HasPrefix(res.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%q: %d %q", auth, res.StatusCode, res.Header.Get("WWW-Authenticate"))
		}
		if strings.Contains(body, "SECRET") || strings.Contains(body, `"id"`) {
			t.Errorf("%q: body %s", auth, body)
		}
	}
	if res, _ := exchange(t, c.url, "POST", `{"jsonrpc":"2.0","method":"acmp/cancel","params":{"task_id":"x"}}`, nil); res.StatusCode != 401 {
		t.Errorf("a notification without token: %d", res.StatusCode)
	}
	alice, bob := c, c
	alice.token, bob.token = "SECRET123", "SECRET456"
	id := taskID()
	r := alice.request(t, acmp.MethodInvoke, invokeParamsOf(id, map[string]any{"timeout_ms": 60000}))
	eventually(t, "it runs", func() bool { return runs.Load() == 1 })
	m := bob.request(t, acmp.MethodInvoke, invokeParamsOf(id, nil)).answer(t)
	if m.Error == nil || m.Error.Code != acmp.CodeInvalidParams || m.Error.Data["detail"] != "task_id already in use" {
		t.Errorf("another's task: %s", m.raw)
	}
	bob.notify(t, acmp.MethodCancel, map[string]any{"task_id": id})
	if err := p.table.find(id).task.ctx.Err(); err != nil {
		t.Error("another's cancel had an effect")
	}
	alice.notify(t, acmp.MethodCancel, map[string]any{"task_id": id})
	if code := r.code(t); code != acmp.CodeCancelled {
		t.Errorf("own cancel: %d", code)
	}
	// An early cancel of another principal is not ours either (D-14).
	id = taskID()
	bob.notify(t, acmp.MethodCancel, map[string]any{"task_id": id})
	if code := alice.request(t, acmp.MethodInvoke, invokeParamsOf(id, map[string]any{"timeout_ms": 50})).code(t); code != acmp.CodeTimeout {
		t.Errorf("another's early cancel: %d", code)
	}
	if strings.Contains(log.String(), "SECRET") {
		t.Error("a token is in the log")
	}
}

// the proof of a whole and of a streamed output is the same.
func TestProof(t *testing.T) {
	_, c := idleProvider(t, nil)
	id := taskID()
	m := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, map[string]any{"proof_method": "result-hash"})).answer(t)
	if m.Result == nil || acmp.CheckProof(m.Result.Proof, "result-hash", *m.Result.Output) != acmp.ProofMatches {
		t.Fatalf("answer: %s", m.raw)
	}
	s := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"proof_method": "result-hash", "stream": true})).answer(t)
	if s.Result == nil || s.Result.Proof == nil || s.Result.Proof.Hash != m.Result.Proof.Hash {
		t.Errorf("streamed: %s", s.raw)
	}
}

// D-06: bare requests are served where that is asked for, and only there.
func TestLenient(t *testing.T) {
	bare := func() string {
		return `{"jsonrpc":"2.0","id":1,"method":"acmp/invoke","params":{"task_id":"` + taskID() + `","capability":"work","input":{"type":"text","data":""}}}`
	}
	p, c := idleProvider(t, func(o *Options) { o.Lenient = true })
	if res, body := exchange(t, c.url, "POST", bare(), nil); res.StatusCode != 200 || !strings.Contains(body, `"output"`) {
		t.Errorf("lenient: %d %s", res.StatusCode, body)
	}
	s := overStdio(t, p)
	r := &reply{msgs: make(chan message, 1)}
	s.mu.Lock()
	s.calls["1"] = r
	s.mu.Unlock()
	s.write(t, []byte(bare()))
	if m := r.next(t); m.Result == nil {
		t.Errorf("lenient stdio: %s", m.raw)
	}
	_, c = idleProvider(t, nil)
	if res, _ := exchange(t, c.url, "POST", bare(), nil); res.StatusCode != 400 {
		t.Errorf("strict: %d", res.StatusCode)
	}
}

// B87: a message above the bound is refused.
func TestMessageBound(t *testing.T) {
	p, c := idleProvider(t, func(o *Options) { o.Limits.MessageBytes = 4096 })
	res, _ := exchange(t, c.url, "POST", `{"x":"`+strings.Repeat("a", 5000)+`"}`, nil)
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", res.StatusCode)
	}
	s := overStdio(t, p)
	s.write(t, []byte(`{"x":"`+strings.Repeat("a", 500_000)+`"}`))
	if m := s.request(t, "server/discover", nil).answer(t); m.Error != nil { // the next one works
		t.Errorf("answer: %s", m.raw)
	}
}
