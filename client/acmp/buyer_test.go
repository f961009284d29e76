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

// what goes over the wire.
func TestWireForm(t *testing.T) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { w.output("x") })
	b, rec := newBuyer(t, p.URL, func(o *Options) { o.Providers[0].Token = NewSecret("SECRET123") })
	id := invoke(t, b, invocation(func(p *acmp.InvokeParams) { p.Stream = false }))
	rec.outcome(t, id)
	req := p.seen(acmp.MethodInvoke)[0]
	for name, want := range map[string]string{
		"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "acmp/invoke", "Authorization": "Bearer SECRET123",
	} {
		if got := req.Header.Get(name); got != want {
			t.Errorf("header %s: %q, want %q", name, got, want)
		}
	}
	for _, want := range []string{`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"org.a2agora/acmp"`,
		`"io.modelcontextprotocol/clientInfo"`, `"task_id":"` + id + `"`} {
		if !strings.Contains(req.Body, want) {
			t.Errorf("invoke lacks %s: %s", want, req.Body)
		}
	}
	for _, not := range []string{"max_price_cu", "escrow_id", "null", "SECRET123"} {
		if strings.Contains(req.Body, not) {
			t.Errorf("invoke holds %s: %s", not, req.Body)
		}
	}
	for _, r := range p.all() {
		if r.Header.Get("Authorization") != "Bearer SECRET123" {
			t.Errorf("%s came without the token", r.Method)
		}
		if string(r.ID) == "null" {
			t.Errorf("%s has the id null", r.Method)
		}
		for _, h := range []string{"Last-Event-ID", "Mcp-Session-Id"} {
			if r.Header.Get(h) != "" {
				t.Errorf("%s with %s", r.Method, h)
			}
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
