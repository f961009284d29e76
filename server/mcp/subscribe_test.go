package mcp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestNoSubscriptions promises none and takes none, in the revision that has
// subscriptions/listen and in those that had resources/subscribe: a client that asks
// all the same is told at once, and is not left waiting for news that never come.
func TestNoSubscriptions(t *testing.T) {
	t.Parallel()
	s := New(Options{OwnerFor: func(string, string) Owner { return nil }})
	srv := httptest.NewServer(s.Handler(func(*http.Request) (string, string) { return "ann", "token" }))
	t.Cleanup(srv.Close)
	ask := func(revision, method, params string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL,
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`))
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Authorization": "Bearer token", "MCP-Protocol-Version": revision, "Mcp-Method": method} {
			req.Header.Set(name, v)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body) // the answer ends
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	found := ask("2026-07-28", "server/discover", `{`+meta+`}`)
	if !strings.Contains(found, `"resources":{`) || strings.Contains(found, `"subscribe":true`) || strings.Contains(found, `"listChanged":true`) {
		t.Errorf("the server promises news: %s", found)
	}
	for what, got := range map[string]string{
		"2026-07-28": ask("2026-07-28", "subscriptions/listen", `{"notifications":{"resourceSubscriptions":["acop://work-items/w"]},`+meta+`}`),
		"2025-11-25": ask("2025-11-25", "resources/subscribe", `{"uri":"acop://work-items/w"}`),
	} {
		if !strings.Contains(got, `"error"`) || !strings.Contains(got, "-32601") {
			t.Errorf("%s: a subscription that brings nothing is taken: %s", what, got)
		}
	}
}
