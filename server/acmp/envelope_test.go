package acmp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acmp"
)

// B28, B32 (there is no GET to hold open), A-026, A-029 to: what is refused, and how.
func TestEnvelope(t *testing.T) {
	_, c := idleProvider(t, nil)
	inv := func(meta, rest string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"acmp/invoke","params":{` + meta + `"task_id":"` + taskID() + `","capability":"nope","input":{"type":"text","data":""}` + rest + `}}`
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},`
	good := map[string]string{"MCP-Protocol-Version": protocolVersion, "Mcp-Method": "acmp/invoke"}
	for _, tc := range []struct {
		name, method, body string
		header             map[string]string
		status, code       int
	}{
		{"served, unknown capability", "POST", inv(meta, ""), good, 200, acmp.CodeCapabilityNotFound},
		{"session headers are ignored", "POST", inv(meta, ""), with(good, "Mcp-Session-Id", "x", "Last-Event-ID", "1_1"), 200, acmp.CodeCapabilityNotFound},
		{"version header missing", "POST", inv(meta, ""), with(good, "MCP-Protocol-Version", ""), 400, -32020},
		{"version header differs", "POST", inv(meta, ""), with(good, "MCP-Protocol-Version", "1900-01-01"), 400, -32020},
		{"version unknown", "POST", inv(strings.Replace(meta, protocolVersion, "1900-01-01", 1), ""), with(good, "MCP-Protocol-Version", "1900-01-01"), 400, -32022},
		{"method header missing", "POST", inv(meta, ""), with(good, "Mcp-Method", ""), 400, -32020},
		{"method header differs", "POST", inv(meta, ""), with(good, "Mcp-Method", "acmp/Invoke"), 400, -32020},
		{"no meta", "POST", inv("", ""), good, 400, -32602},
		{"no client capabilities", "POST", inv(`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},`, ""), good, 400, -32602},
		{"unknown method", "POST", strings.Replace(discoverBody("1"), "server/discover", "acmp/offerRequest", 1), with(good, "Mcp-Method", "acmp/offerRequest"), 404, -32601},
		{"wrong direction", "POST", strings.Replace(discoverBody("1"), "server/discover", "acmp/heartbeat", 1), with(good, "Mcp-Method", "acmp/heartbeat"), 404, -32601},
		{"cancel as a request", "POST", strings.Replace(discoverBody("1"), "server/discover", "acmp/cancel", 1), with(good, "Mcp-Method", "acmp/cancel"), 404, -32601},
		{"unknown notification", "POST", `{"jsonrpc":"2.0","method":"acmp/nope"}`, nil, 202, 0},
		{"invoke without id", "POST", strings.Replace(inv(meta, ""), `"id":1,`, "", 1), good, 202, 0},
		{"cancel without headers", "POST", `{"jsonrpc":"2.0","method":"acmp/cancel","params":{"task_id":"x"}}`, map[string]string{"Accept": ""}, 202, 0},
		{"cancel with another method header", "POST", `{"jsonrpc":"2.0","method":"acmp/cancel","params":{"task_id":"x"}}`, map[string]string{"Mcp-Method": "acmp/invoke"}, 400, -32020},
		{"cancel without task", "POST", `{"jsonrpc":"2.0","method":"acmp/cancel","params":{}}`, nil, 400, -32602},
		{"chunk without seq", "POST", `{"jsonrpc":"2.0","method":"acmp/inputChunk","params":{"task_id":"x","chunk":{"type":"text","data":""}}}`, nil, 400, -32602},
		{"not JSON", "POST", `{"jsonrpc":`, good, 400, -32700},
		{"empty", "POST", ``, good, 400, -32700},
		{"batch", "POST", `[` + inv(meta, "") + `]`, good, 400, -32600},
		{"null id", "POST", strings.Replace(inv(meta, ""), `"id":1`, `"id":null`, 1), good, 400, -32600},
		{"fractional id", "POST", strings.Replace(inv(meta, ""), `"id":1`, `"id":1.5`, 1), good, 400, -32600},
		{"exponent id", "POST", strings.Replace(inv(meta, ""), `"id":1`, `"id":1e20`, 1), good, 400, -32600},
		{"a response", "POST", `{"jsonrpc":"2.0","id":1,"result":{}}`, good, 400, -32600},
		{"no jsonrpc", "POST", `{"id":1,"method":"server/discover"}`, good, 400, -32600},
		{"initialize", "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, nil, 400, -32022},
		{"GET", "GET", "", nil, 405, -32600},
		{"DELETE", "DELETE", "", nil, 405, -32600},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res, body := exchange(t, c.url, tc.method, tc.body, tc.header)
			if res.StatusCode != tc.status {
				t.Errorf("status %d, want %d: %s", res.StatusCode, tc.status, body)
			}
			if tc.code == 0 {
				if body != "" {
					t.Errorf("body %q", body)
				}
				return
			}
			if !strings.Contains(body, fmt.Sprintf(`"code":%d`, tc.code)) {
				t.Errorf("body %q, want code %d", body, tc.code)
			}
			if tc.name == "initialize" && !strings.Contains(body, `"supported":["2026-07-28"]`) {
				t.Errorf("body %q names no revision", body)
			}
		})
	}
}

// A-041, B40: ids come back as they were.
func TestRequestIDs(t *testing.T) {
	p, c := idleProvider(t, nil)
	s := overStdio(t, p)
	for _, id := range []string{`0`, `7`, `-3`, `""`, `"1"`, `"a\"b"`, `9007199254740993`, `9007199254740992`, `-9223372036854775807`} {
		res, body := exchange(t, c.url, "POST", discoverBody(id), discoverHeader)
		if res.StatusCode != 200 || !strings.Contains(body, `"id":`+id+`,`) {
			t.Errorf("http, id %s: %d %s", id, res.StatusCode, body)
		}
		r := &reply{msgs: make(chan message, 1)}
		s.mu.Lock()
		s.calls[id] = r
		s.mu.Unlock()
		s.write(t, []byte(discoverBody(id)))
		if m := r.next(t); string(m.ID) != id {
			t.Errorf("stdio, id %s: %s", id, m.raw)
		}
	}
}

// the declaration, with every mix of features.
func TestDeclaration(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Options)
		want   acmp.Settings
	}{
		{"all", func(o *Options) { o.HeartbeatInterval = 5 * time.Second }, acmp.Settings{
			Version: "0.1.0", Role: "provider",
			Accepts:  []string{"acmp/invoke", "acmp/cancel", "acmp/inputChunk"},
			Emits:    []string{"acmp/streamChunk", "acmp/heartbeat"},
			Features: acmp.Features{OutputStreaming: true, InputStreaming: true, HeartbeatIntervalMS: 5000},
		}},
		{"no beats, no input", func(o *Options) { o.NoInputStreaming = true }, acmp.Settings{
			Version: "0.1.0", Role: "provider",
			Accepts:  []string{"acmp/invoke", "acmp/cancel"},
			Emits:    []string{"acmp/streamChunk"},
			Features: acmp.Features{OutputStreaming: true},
		}},
		{"json only", func(o *Options) { o.NoStreaming = true; o.HeartbeatInterval = time.Second }, acmp.Settings{
			Version: "0.1.0", Role: "provider",
			Accepts:  []string{"acmp/invoke", "acmp/cancel", "acmp/inputChunk"},
			Emits:    []string{},
			Features: acmp.Features{InputStreaming: true},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, c := idleProvider(t, tc.change)
			tc.want.Features.Capabilities = []acmp.Capability{{Name: "work"}}
			_, body := exchange(t, c.url, "POST", discoverBody("1"), discoverHeader)
			body = strings.TrimPrefix(strings.TrimSpace(body), "event: message\ndata: ")
			var m struct {
				Result struct {
					Capabilities map[string]any `json:"capabilities"`
					ResultType   string         `json:"resultType"`
				} `json:"result"`
			}
			if err := json.Unmarshal([]byte(body), &m); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			ext, _ := m.Result.Capabilities["extensions"].(map[string]any)
			got, err := acmp.ReadSettings(ext)
			if err != nil || got == nil {
				t.Fatalf("no declaration: %v: %s", err, body)
			}
			if d := cmp.Diff(tc.want, *got); d != "" {
				t.Errorf("declaration (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.want, p.Settings()); d != "" {
				t.Errorf("Settings (-want +got):\n%s", d)
			}
			if m.Result.ResultType != "complete" || m.Result.Capabilities["acmp"] != nil {
				t.Errorf("discover: %s", body)
			}
		})
	}
}

// a provider that cannot stream answers with one JSON body; A-070.
func TestJSONOnly(t *testing.T) {
	_, c := idleProvider(t, func(o *Options) { o.NoStreaming = true; o.HeartbeatInterval = time.Millisecond })
	r := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), nil))
	if m := r.answer(t); m.Result == nil || m.Result.Output == nil || !strings.HasPrefix(r.header.Get("Content-Type"), "application/json") {
		t.Errorf("%s: %s", r.header.Get("Content-Type"), m.raw)
	}
	m := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"stream": true})).answer(t)
	if m.Error == nil || m.Error.Code != acmp.CodeFeatureUnsupported || m.Error.Data["feature"] != "output_streaming" {
		t.Errorf("stream: %s", m.raw)
	}
	_, c = idleProvider(t, func(o *Options) { o.NoStreaming = true; o.IgnoreStream = true })
	if m := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"stream": true})).answer(t); m.Result == nil || m.Result.OutputStreamed {
		t.Errorf("ignored stream: %s", m.raw)
	}
}

// D-09: the checks and their order.
func TestChecks(t *testing.T) {
	var runs atomic.Int64
	h := func(ctx context.Context, t *Task) (Output, error) { runs.Add(1); return stream(1)(ctx, t) }
	o := Options{
		ProviderID: "agent:test:here", NoInputStreaming: true,
		Capabilities: []Capability{{Info: acmp.Capability{Name: "work", PriceCU: "0.3"}, Handler: h}},
		Escrow: func(_ context.Context, p *acmp.InvokeParams) error {
			if p.EscrowID == "esc_good" {
				return nil
			}
			return fmt.Errorf("unknown")
		},
	}
	p := newProvider(t, o)
	c := overHTTP(t, p)
	for _, tc := range []struct {
		name string
		more map[string]any
		code int
		data map[string]any
	}{
		{"free of limits", nil, 0, nil},
		{"ceiling equal", map[string]any{"max_price_cu": json.Number("0.30")}, 0, nil},
		{"ceiling below", map[string]any{"max_price_cu": json.Number("0.29999999999999999")}, -33001, map[string]any{"min_price_cu": 0.3}},
		{"unknown capability", map[string]any{"capability": "other", "max_price_cu": 0}, -33002, map[string]any{"capability": "other"}},
		{"input stream", map[string]any{"input_stream": true, "proof_method": "x"}, -33007, map[string]any{"feature": "input_streaming"}},
		{"proof unknown", map[string]any{"proof_method": "zk", "max_price_cu": 0}, -33006, map[string]any{"proof_method": "zk"}},
		{"escrow bad", map[string]any{"escrow_id": "esc_bad"}, -33005, map[string]any{"escrow_id": "esc_bad"}},
		{"escrow good", map[string]any{"escrow_id": "esc_good"}, 0, nil},
		{"nulls and unknown members", map[string]any{"max_price_cu": nil, "stream": nil, "metadata": map[string]any{"a": 1}, "input_tokens_est": -5, "preferred_tier": "S"}, 0, nil},
		{"wrong type", map[string]any{"capability": 5}, -32602, nil},
		{"empty task", map[string]any{"task_id": ""}, -32602, nil},
		{"negative ceiling", map[string]any{"max_price_cu": -1}, -32602, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := runs.Load()
			id := taskID()
			r := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, tc.more))
			m := r.answer(t)
			if tc.code == 0 {
				if m.Result == nil || m.Result.CostCU != "0.3" || m.Result.ProviderID != "agent:test:here" || runs.Load() != before+1 {
					t.Errorf("answer: %s", m.raw)
				}
				return
			}
			if m.Error == nil || m.Error.Code != tc.code {
				t.Fatalf("answer: %s, want %d", m.raw, tc.code)
			}
			if runs.Load() != before {
				t.Error("it ran")
			}
			for k, v := range tc.data {
				if m.Error.Data[k] != v {
					t.Errorf("data %v, want %s = %v", m.Error.Data, k, v)
				}
			}
			if tc.code < -33000 && (r.status != 200 || m.Error.Data["task_id"] != id) {
				t.Errorf("status %d, data %v", r.status, m.Error.Data)
			}
		})
	}
}
