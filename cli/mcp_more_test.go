package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signalbox/model/acop"
)

// inspectorPackage is the official MCP Inspector; later ones need a newer Node.
const inspectorPackage = "@modelcontextprotocol/inspector@0.21.2"

// inspector runs the Inspector's command line and returns what it printed.
func (r *agentRig) inspector(args ...string) []byte {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, inspectorProgram(r.t), append([]string{"--cli"}, args...)...)
	cmd.Env = r.env()
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("inspector %v: %v\n%s%s", args, err, out, said.String())
	}
	return out
}

var findInspector = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "npx", "-y", "-p", inspectorPackage, "which", "mcp-inspector").Output()
	return strings.TrimSpace(string(out)), err
})

// inspectorProgram is the Inspector's program; it skips where it cannot be had.
func inspectorProgram(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: the MCP Inspector is left out")
	}
	// The gate says must where it reached the registry; elsewhere its absence is no fault.
	give := t.Skipf
	if os.Getenv("SIGNALBOX_TEST_INSPECTOR") == "must" {
		give = t.Fatalf
	}
	if _, err := exec.LookPath("npx"); err != nil {
		give("npx is not installed: the MCP Inspector is left out")
	}
	path, err := findInspector()
	if err != nil || path == "" {
		give("the MCP Inspector cannot be had here (no registry?): %v", err)
	}
	return path
}

// TestInspectorCallsEveryTool lets the official Inspector list and call every tool
// on both transports against the real binary.
func TestInspectorCallsEveryTool(t *testing.T) {
	t.Parallel()
	inspectorProgram(t)
	for _, way := range []string{"stdio", "http"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			r := newAgentRig(t)
			reach := []string{binary(t), "mcp", "--as", "claude-01"}
			if way == "http" {
				reach = []string{r.mcpURL(), "--transport", "http", "--header", "Authorization: Bearer " + r.token("claude-01", acop.RoleWorker)}
			}
			var list struct {
				Tools []struct{ Name string }
			}
			if err := json.Unmarshal(r.inspector(append(reach, "--method", "tools/list")...), &list); err != nil || len(list.Tools) != 10 {
				t.Fatalf("tools/list: %v %+v", err, list)
			}
			called := map[string]bool{}
			call := func(tool string, args ...string) told {
				t.Helper()
				called[tool] = true
				words := append(append([]string{}, reach...), "--method", "tools/call", "--tool-name", tool)
				for _, a := range args {
					words = append(words, "--tool-arg", a)
				}
				var res struct {
					IsError           bool
					StructuredContent told
				}
				if err := json.Unmarshal(r.inspector(words...), &res); err != nil || res.IsError || res.StructuredContent.You != "claude-01" {
					t.Fatalf("%s %v: %v %+v", tool, args, err, res)
				}
				return res.StructuredContent
			}
			r.put("w-9", nil)
			call("acop_create_work_item", "work_item_id=w-1", "title=Do it", "work_kind=implement")
			call("acop_pickup")
			call("acop_list_work", `status=["ready"]`)
			call("acop_get_work_item", "work_item_id=w-1")
			claim := call("acop_claim_work_item", "work_item_id=w-1", "requested_ttl_seconds=600").Claim
			call("acop_my_claims")
			call("acop_post_blackboard", "work_item_id=w-1", "entry_kind=finding", "summary=seen")
			call("acop_blackboard", "work_item_id=w-1")
			call("acop_update_claim", "claim_id="+claim.ClaimID, "action=heartbeat", "progress_summary=half")
			call("acop_update_claim", "claim_id="+claim.ClaimID, "action=complete", `completion_evidence={"validation_results":[],"artifact_ids":["a"]}`)
			// Nobody accepts their own work: the lead completes another item.
			lead := r.connect("lead-01", &sdk.StreamableClientTransport{Endpoint: r.mcpURL(), HTTPClient: bearer(r.box.token)})
			id := lead.must("acop_claim_work_item", `{"work_item_id":"w-9"}`).Claim.ClaimID
			lead.must("acop_update_claim", `{"claim_id":"`+id+`","action":"complete"}`)
			call("acop_accept_handoff", "work_item_id=w-9")
			for _, tool := range list.Tools {
				if !called[tool.Name] {
					t.Errorf("%s was listed and not called", tool.Name)
				}
			}
		})
	}
}

// TestLeadWatchesAnAgent has an agent that only speaks MCP do a whole piece of work,
// lose another to the lead and a third by hanging, while the lead looks at the
// dashboard and acts there.
func TestLeadWatchesAnAgent(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	r := newAgentRig(t)
	for _, id := range []string{"w-1", "w-2", "w-3"} {
		r.put(id, nil)
	}
	s := newScreen(t, 130, 40, []string{"TERM=xterm-256color", "XDG_STATE_HOME=" + r.state, "SIGNALBOX_SERVER=" + r.box.url,
		"SIGNALBOX_TOKEN_FILE=" + leadTokenFile(r.box.data)}, binary(t))
	s.waitText("Board 3")
	s.keys("5")
	a := r.connect("claude-01", &sdk.CommandTransport{Command: r.command("mcp", "--as", "claude-01", "--stale-after", "5s")})
	claim := func(item string, ttl int) string {
		t.Helper()
		return a.must("acop_claim_work_item", fmt.Sprintf(`{"work_item_id":%q,"requested_ttl_seconds":%d}`, item, ttl)).Claim.ClaimID
	}

	// Work that goes well: every step of it is on the screen, and the lead accepts.
	if got := a.must("acop_pickup", `{}`); !strings.Contains(got.text, "w-1") {
		t.Fatalf("nothing to pick up: %s", got.text)
	}
	id := claim("w-1", 600)
	s.waitText("claude-01", "w-1", "held")
	a.must("acop_update_claim", `{"claim_id":"`+id+`","action":"heartbeat","progress_summary":"half of the tests pass"}`)
	s.waitText("half of the tests pass")
	s.keys("4")
	a.must("acop_post_blackboard", `{"work_item_id":"w-1","entry_kind":"finding","summary":"the index was missing"}`)
	s.waitText("finding", "claude-01", "the index was missing")
	s.keys("1")
	a.must("acop_update_claim", `{"claim_id":"`+id+`","action":"complete","completion_evidence":{"validation_results":["go test: ok"],"artifact_ids":["pr:7"]}}`)
	s.waitText("NEEDS YOU (1)", "accept", "w-1")
	s.keys("a")
	s.waitText("Accept w-1", "pr:7", "go test: ok", "claude-01")
	s.keys("y")
	waitFor(t, "the work to be accepted", func() bool { return r.item("w-1").Status() == acop.StatusAccepted })

	// The lead takes a claim back; the agent learns it at its next call.
	id = claim("w-2", 600)
	s.keys("5")
	s.waitText("w-2", "held")
	s.keys("Down", "r") // right behind a row that changed by itself the first key acts on nothing
	s.waitText("Revoke w-2", "claude-01")
	s.typed("needed elsewhere")
	s.keys("Enter")
	waitFor(t, "the claim to be revoked", func() bool { return r.item("w-2").Status() == acop.StatusReady })
	if ref := a.refused(acop.CodeClaimRevoked, "acop_update_claim", `{"claim_id":"`+id+`","action":"heartbeat"}`); !strings.Contains(ref.Error.Next, "stop this work now") || !strings.Contains(ref.text, "needed elsewhere") {
		t.Errorf("after the revoke: %s", ref.text)
	}

	// It hangs: no call any more, its process lives.
	id = claim("w-3", 3)
	a.must("acop_update_claim", `{"claim_id":"`+id+`","action":"heartbeat","progress_summary":"reading the callers"}`)
	s.waitText("w-3", "reading the callers")
	s.waitFor("the lease to end", func(shown string) bool { return !strings.Contains(shown, "reading the callers") })
	s.waitText("lost w-3", "the lease ran out")
	waitFor(t, "the item to be ready again", func() bool { return r.item("w-3").Status() == acop.StatusReady })
	s.keys("q")
}

// TestAgentOutlivesItsBox starts the agent before the box, stops and starts the
// box under it, and ends the agent by closing its input.
func TestAgentOutlivesItsBox(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	data := filepath.Join(state, "signalbox", "box")
	r := &agentRig{t: t, state: state}
	cmd := r.command("mcp", "--as", "claude-01")
	a := r.connect("claude-01", &sdk.CommandTransport{Command: cmd})
	if got := a.refused(acop.CodeUnavailable, "acop_pickup", `{}`); !strings.Contains(got.text, "no local box is running") {
		t.Errorf("without a box: %s", got.text)
	}
	r.box = startServe(t, data)
	r.put("w-1", nil)
	a.must("acop_claim_work_item", `{"work_item_id":"w-1","requested_ttl_seconds":600}`)
	r.box.stop(syscall.SIGTERM)
	a.refused(acop.CodeUnavailable, "acop_my_claims", `{}`)
	r.box = startServe(t, data)
	if got := a.must("acop_my_claims", `{}`); len(got.Claims) != 1 || !got.Claims[0].AutoRenew {
		t.Errorf("after the restart, elsewhere: %s", got.text)
	}
	if err := a.Close(); err != nil || cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("the end of its input: %v, exit %d", err, cmd.ProcessState.ExitCode())
	}
}

// TestAgentEndsOnSIGTERM: the process goes at once, its claim stays with the owner.
func TestAgentEndsOnSIGTERM(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	cmd := r.command("mcp", "--as", "claude-01")
	in, err := cmd.StdinPipe() // stays open
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 1)
	if _, err := out.Read(answer); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	if err := cmd.Wait(); err != nil {
		t.Errorf("on SIGTERM: %v", err)
	}
}

// TestAgentWaitsForItsLead shows grant mode lead from the agent's side: it must not
// start, asks again with the same arguments, and then holds the item.
func TestAgentWaitsForItsLead(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *agentRig, dial func(string) *agent) {
		r.put("w-1", nil)
		r.asLead(http.MethodPut, "settings", map[string]any{"grant_mode": "lead"})
		a := dial("claude-01")
		ref := a.refused(acop.CodeGateBlocked, "acop_claim_work_item", `{"work_item_id":"w-1"}`)
		intent, _ := ref.Error.Details["claim_intent_id"].(string)
		if intent == "" || !strings.Contains(ref.Error.Next, "do not start") || !strings.Contains(ref.Error.Next, intent) {
			t.Fatalf("the gate says: %s", ref.text)
		}
		r.asLead(http.MethodPost, "claim-intents/"+intent+"/grant", map[string]any{"ttl_seconds": 600})
		if got := a.must("acop_claim_work_item", `{"work_item_id":"w-1"}`); len(got.Claims) != 1 || !got.Claims[0].AutoRenew {
			t.Errorf("after the grant: %s", got.text)
		}
		r.put("w-2", nil)
		ref = a.refused(acop.CodeGateBlocked, "acop_claim_work_item", `{"work_item_id":"w-2"}`)
		intent, _ = ref.Error.Details["claim_intent_id"].(string)
		r.asLead(http.MethodPost, "claim-intents/"+intent+"/deny", map[string]any{"reason": "not this week"})
		ref = a.refused(acop.CodeGateBlocked, "acop_claim_work_item", `{"work_item_id":"w-2"}`)
		if !strings.Contains(ref.Error.Next, "refused") || !strings.Contains(ref.text, "not this week") {
			t.Errorf("after the denial: %s", ref.text)
		}
	})
}

// asLead asks the API as the lead and demands success.
func (r *agentRig) asLead(method, path string, body map[string]any) {
	r.t.Helper()
	body["protocol_version"] = acop.ProtocolVersion
	if status, raw, err := r.box.call(method, path, body); err != nil || status/100 != 2 {
		r.t.Fatalf("%s %s: %d %s %v", method, path, status, raw, err)
	}
}

// TestClientsThatLeaveCostNothing lets many clients begin over HTTP and never say
// goodbye: no session is given out and no goroutine stays for them (B81).
func TestClientsThatLeaveCostNothing(t *testing.T) {
	r := newWorkRig(t)
	pool := &http.Transport{}
	client := &http.Client{Transport: pool}
	token := r.box.AddToken("claude-01", acop.RoleWorker)
	begin := func() {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.box.MCPURL(), strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if raw, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 || !bytes.Contains(raw, []byte("serverInfo")) {
			t.Fatalf("initialize: %d %s %v", resp.StatusCode, raw, err)
		}
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			t.Fatalf("a session %q is given out", id)
		}
	}
	begin()
	pool.CloseIdleConnections()
	before := runtime.NumGoroutine()
	for range 200 {
		begin()
	}
	pool.CloseIdleConnections()
	waitFor(t, "the goroutines of 200 clients to end", func() bool { return runtime.NumGoroutine() < before+50 })
}

// TestCancelledCallIsWholeOrNothing cancels claims while they are carried out: the
// session goes on, and what the agent is told it holds is what the owner says.
func TestCancelledCallIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *agentRig, dial func(string) *agent) {
		a := dial("claude-01")
		held := map[string]bool{}
		for i := range 8 {
			id := fmt.Sprintf("w-%d", i)
			r.put(id, nil)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := a.CallTool(ctx, &sdk.CallToolParams{Name: "acop_claim_work_item", Arguments: json.RawMessage(`{"work_item_id":"` + id + `"}`)})
				done <- err
			}()
			time.AfterFunc(time.Duration(i)*time.Millisecond, cancel)
			select {
			case err := <-done:
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", id, err)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("%s: a cancelled call does not return", id)
			}
			cancel()
		}
		// A claim that was cancelled may still be on its way at the owner.
		waitFor(t, "agent and owner to agree", func() bool {
			clear(held)
			for _, c := range a.must("acop_my_claims", `{}`).Claims {
				held[c.WorkItemID] = true
			}
			for i := range 8 {
				id := fmt.Sprintf("w-%d", i)
				if (r.item(id).Holder() == "claude-01") != held[id] {
					return false
				}
			}
			return true
		})
	})
}

// TestOthersTextFillsNoWindow offers an item with long texts: a list holds little of
// them, and the item all, piece by piece. A score of zero stays zero.
func TestOthersTextFillsNoWindow(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	both(t, func(t *testing.T, r *agentRig, dial func(string) *agent) {
		long := strings.Repeat("word ", 40_000)
		marks := "a" + strings.Repeat("\u0301", 100_000) // without a width of their own
		paths, err := json.Marshal(strings.Split(strings.Repeat("src/x ", 20_000), " "))
		if err != nil {
			t.Fatal(err)
		}
		a := dial("claude-01")
		made := a.must("acop_create_work_item", fmt.Sprintf(`{"work_item_id":"w-1","work_kind":"implement","actionability_score":0,"title":%q,"summary":%q,"owned_paths":%s}`,
			long, marks, paths))
		if got := made.WorkItem.ActionabilityScore; got != 0 {
			t.Errorf("a score of 0 became %v", got)
		}
		for _, tool := range []string{"acop_pickup", "acop_list_work"} {
			res, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: tool})
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(res)
			if err != nil || !strings.Contains(string(raw), "w-1") || len(raw) > 8<<10 {
				t.Errorf("%s: %d bytes of one item, %v", tool, len(raw), err)
			}
		}
		whole := a.readWhole("acop_get_work_item", `"work_item_id":"w-1"`)
		for path, want := range map[string]string{"/item/work_item/title": long, "/item/work_item/summary": marks} {
			if whole[path] != want {
				t.Errorf("%s: %d bytes of %d can be read", path, len(whole[path]), len(want))
			}
		}
		if got := len(strings.Fields(whole["/item/work_item/owned_paths"])); got != 20_000 {
			t.Errorf("%d owned paths can be read", got)
		}
	})
}
