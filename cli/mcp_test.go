package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"signalbox/model/acop"
)

var withEvidence = map[string]any{"validation_requirements": []any{map[string]any{
	"requirement_id": "unit", "kind": "test", "summary": "unit tests pass"}}}

// TestAgentWorksThroughMCP is the life of a piece of work as an agent that only
// speaks MCP lives it, on both transports: pickup, claim, heartbeat, post,
// complete without and with evidence, and a revoke that it sees at its next call.
func TestAgentWorksThroughMCP(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *agentRig, dial func(string) *agent) {
		r.put("w-1", withEvidence)
		a := dial("claude-01")
		if got := a.must("acop_pickup", `{}`); len(got.WorkItems) != 1 || got.WorkItems[0].WorkItemID != "w-1" || got.You != "claude-01" {
			t.Fatalf("pickup: %+v", got)
		}
		if got := a.must("acop_get_work_item", `{"work_item_id":"w-1"}`); !strings.Contains(got.text, "Evidence needed: unit") {
			t.Errorf("the item's text does not name its evidence: %s", got.text)
		}
		got := a.must("acop_claim_work_item", `{"work_item_id":"w-1","requested_ttl_seconds":600}`)
		if got.Claim == nil || len(got.Claims) != 1 || got.Claims[0].SecondsLeft < 500 || !got.Claims[0].AutoRenew {
			t.Fatalf("claim: %+v", got)
		}
		id := got.Claim.ClaimID
		upd := func(rest string) string { return fmt.Sprintf(`{"claim_id":%q,%s}`, id, rest) }
		a.must("acop_update_claim", upd(`"action":"heartbeat","progress_status":"testing","progress_summary":"half of it"`))
		it := r.item("w-1")
		if it.Lease == nil || it.Lease.Progress != "half of it" || it.Lease.LastHeartbeat.ProgressStatus != "testing" || it.Status() != acop.StatusInProgress {
			t.Fatalf("after the heartbeat: %+v", it.Lease)
		}
		a.must("acop_post_blackboard", `{"work_item_id":"w-1","entry_kind":"finding","summary":"it was the cache"}`)
		if got := a.must("acop_blackboard", `{"work_item_id":"w-1"}`); len(got.Entries) != 1 || got.Entries[0].Entry.AuthorAgentUID != "claude-01" {
			t.Errorf("blackboard: %+v", got.Entries)
		}
		missing := a.refused(acop.CodeValidationRequired, "acop_update_claim", upd(`"action":"complete"`))
		if !strings.Contains(fmt.Sprint(missing.Error.Details), "unit") || len(missing.Claims) != 1 {
			t.Errorf("the refusal names neither what is missing nor the claim that stands: %s", missing.text)
		}
		done := a.must("acop_update_claim", upd(`"action":"complete","completion_evidence":{"validation_results":["unit"],"artifact_ids":[]}`))
		if done.Status != acop.StatusCompleted || len(done.Claims) != 0 || len(done.Lost) != 0 {
			t.Fatalf("complete: %+v", done)
		}
		a.refused(acop.CodeForbidden, "acop_accept_handoff", `{"work_item_id":"w-1"}`)
		if got := dial("claude-02").must("acop_accept_handoff", `{"work_item_id":"w-1","acceptance_notes":"read it"}`); got.WorkItem.Status != acop.StatusAccepted {
			t.Errorf("accept: %+v", got.WorkItem)
		}
	})
}

// TestAgentSeesARevoke shows the loss at the next call, whatever it is, with who
// took the claim and why, and a refusal of every further report.
func TestAgentSeesARevoke(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *agentRig, dial func(string) *agent) {
		r.put("w-1", nil)
		a := dial("claude-01")
		id := a.must("acop_claim_work_item", `{"work_item_id":"w-1"}`).Claim.ClaimID
		if status, raw, err := r.box.call(http.MethodPost, "claims/"+id+"/revoke", map[string]any{"protocol_version": "acop/1.0", "reason": "wrong branch"}); err != nil || status != 200 {
			t.Fatalf("revoke: %d %s %v", status, raw, err)
		}
		got := a.must("acop_list_work", `{}`)
		if len(got.Claims) != 0 || len(got.Lost) != 1 || got.Lost[0].ClaimID != id || got.Lost[0].Status != acop.ClaimRevoked ||
			got.Lost[0].Reason != "wrong branch" || got.Lost[0].By != "lead-01" || !strings.Contains(got.text, "LOST") {
			t.Fatalf("after the revoke: %s", got.text)
		}
		r.put("w-2", nil)
		ref := a.refused(acop.CodeClaimRevoked, "acop_update_claim", fmt.Sprintf(`{"claim_id":%q,"action":"heartbeat"}`, id))
		if !strings.Contains(ref.Error.Next, "stop this work now") {
			t.Errorf("the remedy of a revoke: %s", ref.Error.Next)
		}
	})
}

// TestAgentsRaceForOneItem lets two agents claim at once: one wins, the other is
// told who holds it and what else is ready.
func TestAgentsRaceForOneItem(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *agentRig, dial func(string) *agent) {
		r.put("w-1", nil)
		r.put("w-2", nil)
		agents := []*agent{dial("claude-01"), dial("claude-02")}
		got := make([]told, 2)
		var wg sync.WaitGroup
		for i, a := range agents {
			wg.Go(func() { got[i] = a.try("acop_claim_work_item", `{"work_item_id":"w-1"}`) })
		}
		wg.Wait()
		winner := slices.IndexFunc(got, func(g told) bool { return !g.isError })
		if winner < 0 || !got[1-winner].isError {
			t.Fatalf("not one winner:\n%s\n%s", got[0].text, got[1].text)
		}
		loser := got[1-winner]
		if loser.Error.Code != acop.CodeClaimConflict || !strings.Contains(loser.Error.Next, agents[winner].name) ||
			len(loser.AlsoReady) != 1 || loser.AlsoReady[0].WorkItemID != "w-2" {
			t.Errorf("the other is told: %s", loser.text)
		}
		if holder := r.item("w-1").Holder(); holder != agents[winner].name {
			t.Errorf("%s was told that it holds the item, and the owner says %q does", agents[winner].name, holder)
		}
	})
}

// TestBadInputChangesNothing tries every tool with arguments that cannot be: each
// refusal names the fault and a remedy, and the owner's log does not move.
func TestBadInputChangesNothing(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *agentRig, dial func(string) *agent) {
		r.put("w-1", nil)
		a := dial("claude-01")
		id := a.must("acop_claim_work_item", `{"work_item_id":"w-1","auto_renew":false}`).Claim.ClaimID
		before := r.revision()
		for _, c := range []struct {
			code acop.Code
			tool string
			args string
			says string
		}{
			{acop.CodeSchemaViolation, "acop_pickup", `{"limit":0}`, "limit"},
			{acop.CodeSchemaViolation, "acop_pickup", `{"limit":1,"limit":2}`, "twice"},
			{acop.CodeSchemaViolation, "acop_list_work", `{"status":["open"]}`, "must be one of ready"},
			{acop.CodeSchemaViolation, "acop_list_work", `{"between":["a"]}`, "exactly two"},
			{acop.CodeSchemaViolation, "acop_list_work", `{"cursor":"nonsense"}`, "cursor"},
			{acop.CodeSchemaViolation, "acop_get_work_item", `{}`, "missing work_item_id"},
			{acop.CodeItemNotFound, "acop_get_work_item", `{"work_item_id":"../../x"}`, "no work item"},
			{acop.CodeSchemaViolation, "acop_get_work_item", `{"work_item_id":"w-1","offset":3}`, "offset goes with path"},
			{acop.CodeSchemaViolation, "acop_blackboard", `{"kind":"gossip"}`, "kind"},
			{acop.CodeSchemaViolation, "acop_blackboard", `{"offset":3}`, "offset goes with path"},
			{acop.CodeClaimConflict, "acop_claim_work_item", `{"work_item_id":"w-1"}`, "you hold it already: go on under the claim " + id},
			{acop.CodeSchemaViolation, "acop_my_claims", `{"agent":"x"}`, "unknown argument agent"},
			{acop.CodeSchemaViolation, "acop_claim_work_item", `{"work_item_id":3}`, "number, not string"},
			{acop.CodeSchemaViolation, "acop_claim_work_item", `{"work_item_id":"w-1","requested_ttl_seconds":1.5}`, "requested_ttl_seconds"},
			{acop.CodeSchemaViolation, "acop_claim_work_item", `{"work_item_id":"w\u0000"}`, "NUL"},
			{acop.CodeItemNotFound, "acop_claim_work_item", `{"work_item_id":"nope"}`, "no work item"},
			{acop.CodeSchemaViolation, "acop_update_claim", fmt.Sprintf(`{"claim_id":%q,"action":"finish"}`, id), "must be one of renew"},
			{acop.CodeSchemaViolation, "acop_update_claim", fmt.Sprintf(`{"claim_id":%q,"action":"heartbeat","release_reason":"x"}`, id), "does not belong"},
			{acop.CodeSchemaViolation, "acop_update_claim", fmt.Sprintf(`{"claim_id":%q,"action":"complete","completion_evidence":{"validation_results":["a"],"artifact_ids":[],"x":1}}`, id), "unknown argument x"},
			{acop.CodeSchemaViolation, "acop_update_claim", fmt.Sprintf(`{"claim_id":%q,"action":"complete","completion_evidence":{"artifact_ids":[],"artifact_ids":[],"validation_results":[]}}`, id), "twice"},
			{acop.CodeClaimNotFound, "acop_update_claim", `{"claim_id":"claim:none","action":"release"}`, "no claim"},
			{acop.CodeSchemaViolation, "acop_create_work_item", `{"work_item_id":"n","title":" ","work_kind":"implement"}`, "title: is empty"},
			{acop.CodeItemConflict, "acop_create_work_item", `{"work_item_id":"w-1","title":"other","work_kind":"implement"}`, "already"},
			{acop.CodeNotActionable, "acop_accept_handoff", `{"work_item_id":"w-1"}`, "is claimed"},
			{acop.CodeSchemaViolation, "acop_post_blackboard", `{"work_item_id":"w-1","entry_kind":"finding","summary":"x","confidence":2}`, "confidence: is more than 1"},
			{acop.CodeItemNotFound, "acop_post_blackboard", `{"work_item_id":"nope","entry_kind":"finding","summary":"x"}`, "no work item"},
		} {
			if got := a.refused(c.code, c.tool, c.args); !strings.Contains(got.text, c.says) {
				t.Errorf("%s(%s) does not say %q:\n%s", c.tool, c.args, c.says, got.text)
			}
		}
		if after := r.revision(); after != before {
			t.Errorf("refused calls moved the log from %d to %d", before, after)
		}
		_, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: "acop_delete_everything"})
		var je *jsonrpc.Error
		if !errors.As(err, &je) || je.Code != jsonrpc.CodeInvalidParams || !strings.Contains(je.Message, "acop_pickup") {
			t.Errorf("an unknown tool: %v", err)
		}
		uris := []string{"acop://work-items/w:1", "acop://work-items/nope", "acop://nowhere/w-1"}
		if strings.HasSuffix(t.Name(), "stdio") { // over HTTP the address stands in a header as well
			uris = append(uris, "", "a\x7fb", "\x01")
		}
		for _, uri := range uris {
			_, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if !errors.As(err, &je) || je.Code != jsonrpc.CodeInvalidParams || !strings.Contains(je.Message, "percent-encode") {
				t.Errorf("a resource at %q: %v", uri, err)
			}
		}
		a.must("acop_my_claims", `{}`) // the session lives
	})
}

// TestPostedTwiceIsPostedOnce: with an id of its own a note may be sent again, though not
// as another one.
func TestPostedTwiceIsPostedOnce(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *agentRig, dial func(string) *agent) {
		r.put("w-1", nil)
		a := dial("claude-01")
		const note = `{"work_item_id":"w-1","entry_kind":"finding","summary":"found","entry_id":"e-1"}`
		a.must("acop_post_blackboard", note)
		before := r.revision()
		if again := a.must("acop_post_blackboard", note); !strings.Contains(again.text, "was there already") {
			t.Errorf("posted again: %s", again.text)
		}
		if after := r.revision(); after != before {
			t.Errorf("the log moved from %d to %d", before, after)
		}
		a.refused(acop.CodeEntryExists, "acop_post_blackboard", strings.Replace(note, "found", "lost", 1))
		dial("claude-02").refused(acop.CodeEntryExists, "acop_post_blackboard", note)
	})
}

func (r *agentRig) revision() uint64 {
	r.t.Helper()
	_, raw, err := r.box.call(http.MethodGet, "settings", nil)
	var page struct{ Revision uint64 }
	if err == nil {
		err = json.Unmarshal(raw, &page)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return page.Revision
}

// TestToolsAreDescribedForAModel lists the tools over both transports: read tools
// are annotated, every argument of ours is described, results fit their schemas.
func TestToolsAreDescribedForAModel(t *testing.T) {
	t.Parallel()
	reads := []string{"acop_blackboard", "acop_get_work_item", "acop_list_work", "acop_my_claims", "acop_pickup"}
	writes := []string{"acop_accept_handoff", "acop_claim_work_item", "acop_create_work_item", "acop_post_blackboard", "acop_update_claim"}
	both(t, func(t *testing.T, r *agentRig, dial func(string) *agent) {
		a := dial("claude-01")
		list, err := a.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var gotReads, gotWrites []string
		for _, tool := range list.Tools {
			if tool.Annotations.ReadOnlyHint {
				gotReads = append(gotReads, tool.Name)
			} else {
				gotWrites = append(gotWrites, tool.Name)
			}
			if len(tool.Description) < 80 || tool.Title == "" {
				t.Errorf("%s is hardly described: %q", tool.Name, tool.Description)
			}
		}
		slices.Sort(gotReads)
		slices.Sort(gotWrites)
		if !slices.Equal(gotReads, reads) || !slices.Equal(gotWrites, writes) {
			t.Errorf("read-only: %v\nothers: %v", gotReads, gotWrites)
		}
		r.put("w-1", withEvidence)
		r.fits(a, list.Tools, "acop_pickup", `{}`)
		r.fits(a, list.Tools, "acop_claim_work_item", `{"work_item_id":"w-1"}`)
		r.fits(a, list.Tools, "acop_claim_work_item", `{"work_item_id":"gone"}`)
		r.fits(a, list.Tools, "acop_get_work_item", `{"work_item_id":"w-1"}`)
		r.fits(a, list.Tools, "acop_my_claims", `{}`)
		r.fits(a, list.Tools, "acop_create_work_item", `{"work_item_id":"w-2","title":"next","work_kind":"review","owned_paths":["a/**"]}`)
		r.fits(a, list.Tools, "acop_post_blackboard", `{"work_item_id":"w-2","entry_kind":"risk","summary":"x"}`)
		r.fits(a, list.Tools, "acop_blackboard", `{}`)
		r.fits(a, list.Tools, "acop_list_work", `{}`)

		res, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "acop://work-items/w-1"})
		if err != nil || !strings.Contains(res.Contents[0].Text, `"requirement_id":"unit"`) {
			t.Errorf("the item as a resource: %v", err)
		}
		res, err = a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "acop://blackboard/w-2"})
		if err != nil || !strings.Contains(res.Contents[0].Text, `"risk"`) {
			t.Errorf("the blackboard as a resource: %v", err)
		}
		if _, err = a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "acop://work-items/none"}); err == nil {
			t.Error("an item that does not exist is a resource")
		}
	})
}

// fits calls a tool and holds its structured result against the tool's own schema.
func (r *agentRig) fits(a *agent, tools []*sdk.Tool, name, args string) {
	r.t.Helper()
	i := slices.IndexFunc(tools, func(t *sdk.Tool) bool { return t.Name == name })
	raw, err := json.Marshal(tools[i].OutputSchema)
	if err != nil {
		r.t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		r.t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:out", doc); err != nil {
		r.t.Fatal(err)
	}
	res, err := a.CallTool(r.t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		a.t.Fatal(err)
	}
	if err := c.MustCompile("mem:out").Validate(res.StructuredContent); err != nil {
		a.t.Errorf("%s(%s) does not fit its schema: %v", name, args, err)
	}
}

// TestHungAgentLosesItsLease shows both halves of the renewal on stdio: a lease
// outlives its term while its agent shows life, and ends by itself when it hangs.
func TestHungAgentLosesItsLease(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	r.put("w-1", nil)
	a := r.connect("claude-01", &sdk.CommandTransport{Command: r.command("mcp", "--as", "claude-01", "--stale-after", "6s")})
	first := a.must("acop_claim_work_item", `{"work_item_id":"w-1","requested_ttl_seconds":2}`).Claim
	waitFor(t, "a renewal without any call", func() bool { it := r.item("w-1"); return it.Lease != nil && it.Lease.Renewals >= 2 })
	if it := r.item("w-1"); !first.ExpiresAtUTC.Before(it.Lease.Claim.ExpiresAtUTC) {
		t.Errorf("renewed, and yet it ends at %s as before", it.Lease.Claim.ExpiresAtUTC)
	}
	// From here on the agent does nothing: its process lives, its lease ends.
	waitFor(t, "the end of the hung agent's lease", func() bool { return r.item("w-1").Lease == nil })
	got := a.must("acop_my_claims", `{}`)
	if len(got.Claims) != 0 || len(got.Lost) != 1 || got.Lost[0].Status != acop.ClaimExpired {
		t.Errorf("when it wakes up: %s", got.text)
	}
}

// TestEachCallRenewsOverHTTP: every call of the holder renews, but not what it
// wants to renew itself.
func TestEachCallRenewsOverHTTP(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	r.put("w-1", nil)
	r.put("w-2", nil)
	a := r.connect("claude-01", transports["http"](r, "claude-01"))
	a.must("acop_claim_work_item", `{"work_item_id":"w-1","requested_ttl_seconds":60}`)
	a.must("acop_claim_work_item", `{"work_item_id":"w-2","requested_ttl_seconds":60,"auto_renew":false}`)
	waitFor(t, "a renewal by calls", func() bool { a.must("acop_my_claims", `{}`); return r.item("w-1").Lease.Renewals >= 2 })
	if n := r.item("w-2").Lease.Renewals; n != 0 {
		t.Errorf("what was claimed with auto_renew false was renewed %d times", n)
	}
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(40 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) { // polling, with a deadline
		if time.Now().After(deadline) {
			t.Fatalf("waited 40 s for %s", what)
		}
	}
}

// TestMCPChecksWhoCalls holds the endpoint to the checks of the API: host, origin,
// token, and a method for which no session is kept.
func TestMCPChecksWhoCalls(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	token := r.token("claude-01", acop.RoleWorker)
	for _, c := range []struct {
		what, method, host, origin, token string
		want                              int
	}{
		{"no token", http.MethodPost, "", "", "", 401},
		{"a wrong token", http.MethodPost, "", "", "x", 401},
		{"a foreign host", http.MethodPost, "evil.test", "", token, 403},
		{"a foreign origin", http.MethodPost, "", "http://evil.test", token, 403},
		{"a null origin", http.MethodPost, "", "null", token, 403},
		{"GET", http.MethodGet, "", "", token, 405},
		{"DELETE", http.MethodDelete, "", "", token, 405},
		{"no JSON", http.MethodPost, "", "", token, 400},
	} {
		req, err := http.NewRequestWithContext(context.Background(), c.method, r.mcpURL(), strings.NewReader("{"))
		if err != nil {
			t.Fatal(err)
		}
		if c.host != "" {
			req.Host = c.host
		}
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		if c.token != "" {
			req.Header.Set("Authorization", "Bearer "+c.token)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", c.what, resp.StatusCode, c.want)
		}
	}
}

// TestOlderRevisionsAreServed speaks each revision of MCP that is about, with the
// ping that the newest no longer has.
func TestOlderRevisionsAreServed(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *agentRig, dial func(string) *agent) {
		r.put("w-1", nil)
		tr := transports["http"]
		if strings.HasSuffix(t.Name(), "stdio") {
			tr = transports["stdio"]
		}
		for i, revision := range []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
			name := fmt.Sprintf("agent-%d", i)
			c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
			s, err := c.Connect(t.Context(), tr(r, name), &sdk.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatalf("%s: %v", revision, err)
			}
			if got := s.InitializeResult().ProtocolVersion; got != revision {
				t.Errorf("asked for %s, got %s", revision, got)
			}
			if revision < "2026" {
				if err := s.Ping(t.Context(), nil); err != nil {
					t.Errorf("%s: ping: %v", revision, err)
				}
			}
			a := &agent{t: t, name: name, ClientSession: s}
			if got := a.must("acop_pickup", `{}`); len(got.WorkItems) != 1 {
				t.Errorf("%s: %s", revision, got.text)
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s: close: %v", revision, err)
			}
		}
	})
}
