package acmp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"signalbox/model/acmp"
)

// chunks, heartbeats and the result, in order.
func TestStreamedTask(t *testing.T) { overBoth(t, testStreamedTask) }

func testStreamedTask(t *testing.T, start starter) {
	p := newFakeProvider(t, 1000, func(w *answerWriter, _ wireRequest, _ int) {
		w.chunk(0, "one ", false)
		w.heartbeat(`,"progress":0.5,"detail":"half"`)
		w.chunk(1, "two", true)
		w.streamed()
	})
	b, rec := start(p, func(o *Options) { o.StateDir = t.TempDir() })
	id := invoke(t, b, invocation(nil))
	evs := rec.outcome(t, id)
	if got, want := kinds(evs), "sent chunk heartbeat chunk result"; got != want {
		t.Errorf("events: %s, want %s", got, want)
	}
	if got := outputText(evs); got != "one two" {
		t.Errorf("text %q", got)
	}
	if evs[0].HeartbeatInterval.Milliseconds() != 1000 || evs[0].Attempt != 1 || evs[0].Deadline.Sub(evs[0].At).Seconds() != 20 {
		t.Errorf("sent: %+v", evs[0])
	}
	eventually(t, func() bool { return errors.Is(b.Cancel(t.Context(), id, ""), ErrEnded) }, "the task to be over")
	r, err := b.Transcript(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, _ := io.ReadAll(r); string(got) != "one two" {
		t.Errorf("transcript %q", got)
	}
}

// what
// goes over the wire: every message by itself, whole, with what each must carry.
func TestWireForm(t *testing.T) {
	var p *fakeProvider
	p = newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
		p.awaitRequest(acmp.MethodCancel, 1)
		w.fail(acmp.CodeCancelled, `{}`)
	})
	b, rec := newBuyer(t, p.URL, func(o *Options) { o.Providers[0].Token = NewSecret("SECRET123") })
	id := invoke(t, b, invocation(func(p *acmp.InvokeParams) { withInput(p); p.Stream = false }))
	giveInput(t, b, id, "a b", false)
	if err := b.Cancel(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	rec.outcome(t, id)
	for _, r := range p.all() {
		checkHeaders(t, r)
		checkMessage(t, r)
	}
	golden := map[string]string{
		acmp.MethodInputChunk: `{"jsonrpc":"2.0","method":"acmp/inputChunk","params":{"task_id":"` + id + `","seq":0,"chunk":{"type":"text","data":"a b"},"final":false}}`,
		acmp.MethodCancel:     `{"jsonrpc":"2.0","method":"acmp/cancel","params":{"task_id":"` + id + `"}}`,
	}
	for method, want := range golden {
		if got := p.seen(method); len(got) != 1 || strings.TrimSpace(got[0].Body) != want {
			t.Errorf("%s: %v, want %s", method, got, want)
		}
	}
	body := p.seen(acmp.MethodInvoke)[0].Body
	for _, not := range []string{"max_price_cu", "escrow_id", "null", `"input":`} {
		if strings.Contains(body, not) {
			t.Errorf("invoke holds %s: %s", not, body)
		}
	}
}

func checkHeaders(t *testing.T, r wireRequest) {
	t.Helper()
	for name, want := range map[string]string{
		"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": r.Method, "Authorization": "Bearer SECRET123",
		"Last-Event-ID": "", "Mcp-Session-Id": "",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: header %s: %q, want %q", r.Method, name, got, want)
		}
	}
}

// checkMessage holds one body against JSON-RPC and, where it is a request, MCP's _meta.
func checkMessage(t *testing.T, r wireRequest) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(r.Body))
	var m struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
		Params  struct {
			Meta struct {
				Version string                         `json:"io.modelcontextprotocol/protocolVersion"`
				Info    struct{ Name, Version string } `json:"io.modelcontextprotocol/clientInfo"`
				Caps    *struct {
					Extensions map[string]struct{ Version, Role string } `json:"extensions"`
				} `json:"io.modelcontextprotocol/clientCapabilities"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if err := dec.Decode(&m); err != nil || dec.More() {
		t.Errorf("not one object: %s, %v", r.Body, err)
		return
	}
	if m.JSONRPC != "2.0" || m.Method == "" || m.Result != nil || m.Error != nil || string(m.ID) == "null" || strings.Contains(r.Body, "SECRET123") {
		t.Errorf("neither a request nor a notification of ours: %s", r.Body)
	}
	request := m.Method == "server/discover" || m.Method == acmp.MethodInvoke
	if request != (len(m.ID) > 0) {
		t.Errorf("%s with the id %q", m.Method, m.ID)
	}
	if !request {
		return
	}
	meta := m.Params.Meta
	if meta.Version != r.Header.Get("Mcp-Protocol-Version") || meta.Info.Name == "" || meta.Info.Version == "" || meta.Caps == nil ||
		meta.Caps.Extensions[acmp.ExtensionID].Version != acmp.Version || meta.Caps.Extensions[acmp.ExtensionID].Role != "buyer" {
		t.Errorf("_meta of %s: %s", m.Method, r.Body)
	}
}

// what is not declared is off and what is not known means
// nothing; a provider with nothing but acmp/invoke serves a plain task.
func TestPlainProvider(t *testing.T) { overBoth(t, testPlainProvider) }

func testPlainProvider(t *testing.T, start starter) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { w.output("x") })
	p.settings = `{"version":"0.1.9","role":"provider","accepts":["acmp/invoke","acmp/new"],"later":{"a":[1]}}`
	b, rec := start(p, nil)
	evs := rec.outcome(t, invoke(t, b, invocation(func(p *acmp.InvokeParams) { p.Stream = false })))
	if kinds(evs) != "sent result" || evs[0].HeartbeatInterval != 0 {
		t.Errorf("%s %+v", kinds(evs), last(evs).Err)
	}
	if body := p.seen(acmp.MethodInvoke)[0].Body; strings.Contains(body, `"stream"`) || strings.Contains(body, `"input_stream"`) {
		t.Errorf("invoke %s", body)
	}
}

// what is for a task nobody waits for, goes the wrong way or
// is not known reaches no task and hurts none.
func TestStrayMessages(t *testing.T) { overBoth(t, testStrayMessages) }

func testStrayMessages(t *testing.T, start starter) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
		w.event(chunkJSON("task_of_nobody", 0, "stray", true))
		w.event(`{"jsonrpc":"2.0","method":"acmp/heartbeat","params":{"task_id":"task_of_nobody"}}`)
		for _, method := range []string{acmp.MethodInputChunk, acmp.MethodCancel, "acmp/new", "notifications/message"} {
			w.event(`{"jsonrpc":"2.0","method":"` + method + `","params":{"task_id":"` + w.req.taskID() + `","seq":0,"chunk":{"type":"text","data":"stray"}}}`)
		}
		w.event(`{"jsonrpc":"2.0","id":77,"method":"acmp/invoke","params":{"task_id":"t"}}`)
		w.event(`{"jsonrpc":"2.0","id":78,"method":"acmp/streamChunk","params":{"task_id":"` + w.req.taskID() + `","seq":0,"chunk":{"type":"text","data":"stray"},"final":false}}`)
		w.chunk(0, "mine", true)
		w.streamed()
	})
	b, rec := start(p, nil)
	for range 2 {
		evs := rec.outcome(t, invoke(t, b, invocation(nil)))
		if kinds(evs) != "sent chunk result" || outputText(evs) != "mine" {
			t.Errorf("%s %q %+v", kinds(evs), outputText(evs), last(evs).Err)
		}
	}
	for _, r := range p.all() {
		if string(r.ID) == "77" || string(r.ID) == "78" {
			t.Errorf("a request of the provider was answered: %s", r.Body)
		}
	}
}

// what is not advertised is refused here, and
// nothing of ACMP goes out.
func TestRefusedLocally(t *testing.T) { overBoth(t, testRefusedLocally) }

func testRefusedLocally(t *testing.T, start starter) {
	cases := map[string]struct {
		settings    string
		change      func(*acmp.InvokeParams)
		unreachable bool
		code        int
	}{
		"no extension":      {"", nil, true, acmp.CodeInternal},
		"version 1":         {`{"version":"1.0.0","role":"provider","accepts":["acmp/invoke"]}`, nil, true, acmp.CodeInternal},
		"version 0.2":       {`{"version":"0.2.0","role":"provider","accepts":["acmp/invoke"]}`, nil, true, acmp.CodeInternal},
		"no streaming":      {`{"version":"0.1.3","role":"provider","accepts":["acmp/invoke"],"x":1}`, nil, false, acmp.CodeFeatureUnsupported},
		"no input stream":   {`{"version":"0.1.0","role":"provider","accepts":["acmp/invoke"]}`, func(p *acmp.InvokeParams) { p.Stream, p.InputStream = false, true }, false, acmp.CodeFeatureUnsupported},
		"no input":          {fmt.Sprintf(fullSettings, ""), func(p *acmp.InvokeParams) { p.Input = nil }, false, acmp.CodeInvalidParams},
		"negative deadline": {fmt.Sprintf(fullSettings, ""), func(p *acmp.InvokeParams) { p.TimeoutMS = -1 }, false, acmp.CodeInvalidParams},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { w.output("x") })
			p.settings = c.settings
			b, _ := start(p, nil)
			_, err := b.Invoke(t.Context(), invocation(c.change))
			var r *Refusal
			var e *acmp.Error
			if !errors.As(err, &r) || !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			if !e.Local || e.Code != c.code || r.Unreachable != c.unreachable {
				t.Errorf("refusal %+v %+v", r, e)
			}
			for _, q := range p.all() {
				if strings.HasPrefix(q.Method, "acmp/") {
					t.Errorf("%s went out", q.Method)
				}
			}
		})
	}
}

// the terms and the payload go out as
// they were given, and nothing but the messages of the protocol does.
func TestTermsOnTheWire(t *testing.T) { overBoth(t, testTermsOnTheWire) }

func testTermsOnTheWire(t *testing.T, start starter) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { w.output("x") })
	const token = "~ü.weird/+=token=="
	b, rec := start(p, func(o *Options) { o.Providers[0].Token = NewSecret(token) })
	in := acmp.Text("東京 👍🏽 \u2028 <b>&")
	ceiling := jsonNumber("0.00500000000000000001")
	rec.outcome(t, invoke(t, b, invocation(func(p *acmp.InvokeParams) {
		p.Input, p.EscrowID, p.MaxPriceCU = &in, "esc_a3f9c2", &ceiling
	})))
	rec.outcome(t, invoke(t, b, invocation(func(p *acmp.InvokeParams) { p.MaxPriceCU = &ceiling })))
	sent := p.seen(acmp.MethodInvoke)
	var got struct {
		Input struct{ Data string } `json:"input"`
	}
	if err := json.Unmarshal(sent[0].Params, &got); err != nil || got.Input.Data != "東京 👍🏽 \u2028 <b>&" {
		t.Errorf("payload %q, %v", got.Input.Data, err)
	}
	if !strings.Contains(sent[0].Body, `"escrow_id":"esc_a3f9c2"`) || !strings.Contains(sent[0].Body, `"max_price_cu":0.00500000000000000001`) {
		t.Errorf("terms: %s", sent[0].Body)
	}
	if strings.Contains(sent[1].Body, "escrow_id") {
		t.Errorf("direct settlement: %s", sent[1].Body)
	}
	known := []string{"server/discover", acmp.MethodInvoke, acmp.MethodInputChunk, acmp.MethodCancel}
	for _, r := range p.all() {
		if !slices.Contains(known, r.Method) {
			t.Errorf("%s went out", r.Method)
		}
		if r.Header != nil && r.Header.Get("Authorization") != "Bearer "+token {
			t.Errorf("%s: token %q", r.Method, r.Header.Get("Authorization"))
		}
	}
}
