package acop

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	core "signalbox/model/acop"
)

// compat sends a body as the loose client does: to its own mount, chunked, with
// a charset and without Accept or keys (E-01, E-03, E-04).
func (b *box) compat(method, path, who, raw string) reply {
	b.t.Helper()
	req, err := http.NewRequest(method, b.http.URL+compatBase+path, struct{ *bytes.Reader }{bytes.NewReader([]byte(raw))})
	if err != nil {
		b.t.Fatal(err)
	}
	req.ContentLength = -1
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("Authorization", "Bearer "+b.tokens[who])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	var buf bytes.Buffer
	if _, err := buf.ReadFrom(resp.Body); err != nil {
		b.t.Fatal(err)
	}
	r, err := b.checked(method, path, resp, buf.Bytes())
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// looseBodies are what the public C# client sends, in order (table E.2).
var looseBodies = []struct{ method, path, who, raw string }{
	{"PUT", "work-items", "fixture-producer", `{"workItemId":"w","workKind":"HandoffFollowup","title":"T \u003Cx\u003E","summary":null,"priority":"Urgent","actionabilityScore":0.5,
		"coordinationScopeId":"s1","targetRepoId":"r","targetBranch":null,"targetAgentUid":null,"correlationId":null,"sourceHandoffId":null,"stageId":"st",
		"requiredCapabilities":["go"],"ownedPaths":["\"src/a.cs\"","src/b.cs"],"ownedSymbols":[]}`},
	{"POST", "claims", "worker-http", `{"workItemId":"w","workerAgentUid":"worker-http","requestedTtlSeconds":300,"coordinationScopeId":"s1","repoId":null,
		"agentCapabilities":null,"ownedPaths":["src/a.cs"],"ownedSymbols":[]}`},
	{"POST", "claims/{claim}/renew", "worker-http", `{"claimId":"{claim}","renewSeconds":600}`},
	{"POST", "blackboard", "worker-http", `{"workItemId":"w","coordinationScopeId":"s1","entryKind":"PartialResult","summary":"Update.","linkedArtifactIds":["a1"],"supersedesEntryIds":[]}`},
	{"POST", "claims/{claim}/complete", "worker-http", `{"claimId":"{claim}","summary":"Completed.","changedPaths":["src/a.cs"]}`},
	{"POST", "work-items/w/accept", "lead-01", `{"workItemId":"w","acceptanceKind":"Released","implementationClaimId":null,"notes":"fine","allowSelfAcceptance":false}`},
}

// TestCompat plays the loose client's life of an item on its own mount, and
// holds that the strict mount takes none of it (E-01..E-09, E-11,
// E-13..E-20).
func TestCompat(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.Config.Compat = true; o.Config.AllowSelfAcceptance = true })
	claim := ""
	for _, c := range looseBodies {
		path, raw := strings.ReplaceAll(c.path, "{claim}", claim), strings.ReplaceAll(c.raw, "{claim}", claim)
		b.want(b.do(c.method, path, c.who, raw), 400, "schema_violation")
		r := b.compat(c.method, path, c.who, raw)
		if r.status >= 300 {
			t.Fatalf("%s %s: %d %s", c.method, path, r.status, r.raw)
		}
		if id := r.text("claim.claim_id"); id != "" {
			claim = id
		}
		if c.method == "PUT" { // a repeat is no change (E-17)
			again := b.compat(c.method, path, c.who, raw)
			b.want(again, 200, "")
			if again.header.Get("ETag") != r.header.Get("ETag") {
				t.Errorf("a repeat changed the item: %s", again.raw)
			}
		}
	}
	it := b.item("w")
	for path, want := range map[string]string{"item.work_item.status": "consumed", "item.work_item.work_kind": "handoff_followup", "item.work_item.title": "T <x>",
		"item.work_item.priority": "urgent", "item.work_item.producer": "fixture-producer", "item.acceptance.acceptance_notes": "fine"} {
		if got := it.text(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if got := fmt.Sprint(it.at("item.work_item.owned_paths")); got != "[src/a.cs src/b.cs]" {
		t.Errorf("owned_paths %s", got)
	}
	for _, want := range []string{"stage_id st", `changed_paths [\"src/a.cs\"]`, "coordination_scope_id s1"} {
		if !bytes.Contains(it.raw, []byte(want)) {
			t.Errorf("the log lost %q: %s", want, it.raw)
		}
	}
	if e := it.at("entries").([]any)[0].(m)["entry"].(m); e["entry_kind"] != "partial_result" || e["author_agent_uid"] != "worker-http" || fmt.Sprint(e["artifact_ids"]) != "[a1]" {
		t.Errorf("entry %v", e)
	}
}

// TestCompatRefusals stay the binding's own.
func TestCompatRefusals(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.Config.Compat = true; o.Config.AllowSelfAcceptance = true })
	b.put("w", nil, m{"validation_requirements": []m{{"requirement_id": "r", "kind": "k", "summary": "s"}}})
	r := b.compat("POST", "claims", "worker-http", `{"work_item_id":"w","action":"claim","scope":{"scope_id":"s9"}}`) // E-21
	b.want(r, 201, "")
	id := r.text("claim.claim_id")
	if s := b.item("w").text("item.lease.scope"); s != "s9" || seconds(t, r) != compatTTL {
		t.Errorf("scope %q: %s", s, r.raw)
	}
	b.want(b.compat("POST", "claims/"+id+"/complete", "worker-http", `{"claimId":"`+id+`","summary":"Completed."}`), 409, "validation_required") // E-16
	b.want(b.compat("POST", "claims/"+id+"/renew", "worker-http", `{"claimId":"other"}`), 400, "schema_violation")                               // E-15
	b.want(b.compat("POST", "claims", "worker-http", `{"workItemId":"w","workerAgentUid":"worker-other"}`), 403, "forbidden")                    // E-13
	b.want(b.compat("POST", "claims", "worker-http", `{"workItemId":"w","protocolVersion":"acop/2.0"}`), 400, "unsupported_protocol_version")    // E-10
	b.want(b.compat("POST", "claims", "worker-http", `{"workItemId":"nothing","requestedTtlSeconds":"300"}`), 400, "schema_violation")
	b.want(b.compat("POST", "claims/"+id+"/complete", "worker-http", `{"completion_evidence":{"validation_results":["r"]}}`), 200, "") // E-21
	b.want(b.compat("POST", "work-items/w/accept", "worker-http", `{"acceptanceKind":"Reviewed","allowSelfAcceptance":false}`), 403, "forbidden")
	b.want(b.compat("POST", "work-items/w/accept", "worker-http", `{"acceptanceKind":"Praised","allowSelfAcceptance":true}`), 400, "schema_violation")
	b.want(b.compat("POST", "work-items/w/accept", "worker-http", `{"acceptanceKind":"Accepted","allowSelfAcceptance":true}`), 200, "")
	for _, kind := range []string{"ConflictResolution", "deploy", ""} { // E-12
		r := b.compat("PUT", "work-items", "fixture-producer", `{"workItemId":"x","workKind":"`+kind+`"}`)
		b.want(r, 400, "schema_violation")
		if !strings.Contains(r.text("error.message"), string(core.KindMergePrepare)) {
			t.Errorf("%s: %s", kind, r.raw)
		}
	}
	b.want(b.compat("POST", "work-items/w/cancel", "lead-01", `{"reason":"r"}`), 404, "signalbox.route_not_found")
	b.want(b.compat("POST", "claims", "", `{}`), 401, "unauthenticated")
	b.want(b.compat("PUT", "work-items", "fixture-producer", `{"workItemId":"y","workItemId":"z","workKind":"Review"}`), 400, "schema_violation")

	off := newBox(t, nil)
	off.want(off.compat("POST", "claims", "worker-http", `{"workItemId":"w"}`), 404, "signalbox.route_not_found")
}
