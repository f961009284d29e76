package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"signalbox/model/acop"
)

// brokenMessages are messages that are none, with the code of JSON-RPC and the id
// that the answer has.
var brokenMessages = []struct {
	name, message string
	code          int
	id            string
}{
	{"no JSON", `{bad`, -32700, "null"},
	{"cut off", `{"jsonrpc":"2.0","id":7,"method":`, -32700, "7"},
	{"two in one line", `{"jsonrpc":"2.0","id":7,"method":"ping"}{}`, -32700, "7"},
	{"a number", `5`, -32600, "null"},
	{"another version", `{"jsonrpc":"1.0","id":"a","method":"ping"}`, -32600, `"a"`},
	{"an object for an id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600, "null"},
	{"a number for a method", `{"jsonrpc":"2.0","id":7,"method":7}`, -32600, "7"},
	{"a name twice", `{"jsonrpc":"2.0","id":7,"method":"ping","method":"ping"}`, -32600, "7"},
	{"a name twice in the params", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"acop_my_claims","name":"acop_pickup"}}`, -32600, "7"},
	{"an id that no float holds", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, -32600, "9007199254740993"},
	{"a very large id", `{"jsonrpc":"2.0","id":1e20,"method":"ping"}`, -32600, "1e20"},
	{"a broken id", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600, "1.5"},
	{"an id that is not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", -32600, "null"},
	{"an id with half a surrogate", `{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`, -32600, "null"},
	{"arguments of great depth", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"acop_my_claims","arguments":{"x":` +
		strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}}}`, -32600, "7"},
}

// answered is an answer of JSON-RPC.
type answered struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// fits tells what is wrong with the answer to a broken message.
func (a *answered) fits(t *testing.T, name string, code int, id string) {
	t.Helper()
	if a.Error.Code != code || string(a.ID) != id || !strings.HasSuffix(a.Error.Message, "nothing was done") {
		t.Errorf("%s: want %d to %s, got %d to %s: %s", name, code, id, a.Error.Code, a.ID, a.Error.Message)
	}
	for _, word := range []string{"Go value", "unmarshal", "jsonrpc2"} {
		if strings.Contains(a.Error.Message, word) {
			t.Errorf("%s is answered in the words of a library: %s", name, a.Error.Message)
		}
	}
}

// rawAgent is `signalbox mcp` with its messages as lines.
type rawAgent struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

func (r *agentRig) rawAgent(identity, revision string) *rawAgent {
	r.t.Helper()
	cmd := r.command("mcp", "--as", identity)
	in, err := cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	kill := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	r.t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			r.t.Errorf("signalbox mcp ends with %v", err)
		}
		kill.Stop()
	})
	a := &rawAgent{t: r.t, in: in, out: bufio.NewScanner(out)}
	a.out.Buffer(nil, 8<<20)
	a.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if got := a.next(); got.Result == nil {
		r.t.Fatalf("initialize is answered by %+v", got)
	}
	a.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return a
}

func (a *rawAgent) send(line string) {
	a.t.Helper()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.t.Fatalf("the process takes no more: %v", err)
	}
}

func (a *rawAgent) line() []byte {
	a.t.Helper()
	if !a.out.Scan() {
		a.t.Fatalf("the process says no more: %v", a.out.Err())
	}
	return a.out.Bytes()
}

func (a *rawAgent) next() (got answered) {
	a.t.Helper()
	if raw := a.line(); json.Unmarshal(raw, &got) != nil {
		a.t.Fatalf("no answer: %s", raw)
	}
	return got
}

// lives shows that the session goes on.
func (a *rawAgent) lives(after string) {
	a.t.Helper()
	a.send(`{"jsonrpc":"2.0","id":"still","method":"ping"}`)
	if got := a.next(); string(got.ID) != `"still"` || got.Result == nil {
		a.t.Fatalf("after %s a ping is answered by %+v", after, got)
	}
}

// TestBrokenMessageEndsNoSession sends on stdio what is no message: it is answered,
// and the agent keeps its tools.
func TestBrokenMessageEndsNoSession(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	a := r.rawAgent("claude-01", "2025-06-18")
	for _, b := range brokenMessages {
		a.send(b.message)
		got := a.next()
		got.fits(t, b.name, b.code, b.id)
		a.lives(b.name)
	}
	for _, quiet := range []string{"", " \t ", "\r"} {
		a.send(quiet)
	}
	a.lives("empty lines")
	a.send("\t" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + " \r")
	if got := a.next(); string(got.ID) != "1" {
		t.Errorf("blanks around a message: %+v", got)
	}
	a.send(`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"` + strings.Repeat("x", 3<<20) + `"}}`)
	got := a.next()
	got.fits(t, "a message that is too long", -32600, "7")
	a.lives("a message that is too long")
	a.send(`[{"jsonrpc":"2.0","id":7,"method":"ping"}]`)
	got = a.next()
	got.fits(t, "a batch in a revision without them", -32600, "null")
	a.lives("a batch")
}

// TestBatchOfAnOlderRevision: 2025-03-26 has batches, and a broken one ends nothing.
func TestBatchOfAnOlderRevision(t *testing.T) {
	t.Parallel()
	a := newAgentRig(t).rawAgent("claude-01", "2025-03-26")
	for _, broken := range []string{`[]`, `[5]`, `[{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}]`, `[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":7,"method":"ping"}]`} {
		a.send(broken)
		got := a.next()
		got.fits(t, broken, -32600, "null")
		a.lives(broken)
	}
	a.send(`[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":8,"method":"ping"}]`)
	var both []answered
	if raw := a.line(); json.Unmarshal(raw, &both) != nil || len(both) != 2 || string(both[0].ID)+string(both[1].ID) != "78" {
		t.Errorf("a batch is answered by %s", raw)
	}
	a.lives("a batch")
}

// TestBrokenMessageOverHTTP sends the same to the owner's /mcp.
func TestBrokenMessageOverHTTP(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	c := bearer(r.token("claude-01", acop.RoleWorker))
	for _, b := range brokenMessages {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.mcpURL(), strings.NewReader(b.message))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var got answered
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: HTTP %d, %v", b.name, resp.StatusCode, err)
		}
		_ = resp.Body.Close()
		got.fits(t, b.name, b.code, b.id)
	}
}
