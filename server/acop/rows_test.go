package acop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

// TestRecordsInDocuments takes the records of a document whole and refuses each
// with a required member missing or an unknown one added (C-016, C-018, C-020,
// C-027, C-028, C-029, H-047, H-048).
func TestRecordsInDocuments(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	records := map[string]struct {
		required []string
		record   m
	}{
		"blockers": {[]string{"blocker_code", "severity", "summary"}, m{"blocker_code": "branch_conflict_risk", "severity": "critical", "summary": "s",
			"artifact_id": "a", "operation_id": "o", "depends_on_work_item_id": "w2", "depends_on_external_decision": true, "suggested_resolution": "r"}},
		"operations": {[]string{"operation_id", "kind", "description"}, m{"operation_id": "o", "kind": "whatever", "description": "d"}},
		"artifacts": {[]string{"artifact_id", "artifact_kind", "artifact_role"},
			m{"artifact_id": "a", "artifact_kind": "k", "artifact_role": "r", "readiness": "contingent"}},
		"validation_requirements": {[]string{"requirement_id", "kind", "summary"}, m{"requirement_id": "q", "kind": "k", "summary": "s"}},
	}
	for name, c := range records {
		put := func(rec m) reply {
			return b.do("PUT", "work-items", "lead-01", body(m{"work_item": workItem("of "+name, nil), name: []m{rec}}))
		}
		for _, drop := range c.required {
			less := m{}
			for k, v := range c.record {
				if k != drop {
					less[k] = v
				}
			}
			b.want(put(less), 400, "schema_violation")
		}
		more := m{"colour": "red"}
		for k, v := range c.record {
			more[k] = v
		}
		b.want(put(more), 400, "schema_violation")
		b.want(b.do("GET", "work-items/"+escaped("of "+name), "lead-01", nil), 404, "work_item_not_found")
		r := put(c.record)
		b.want(r, 201, "")
		if got := r.at(name).([]any)[0].(m); cmp.Diff(got, any(c.record), cmp.Transformer("json", func(x m) string { raw, _ := json.Marshal(x); return string(raw) })) != "" {
			t.Errorf("%s came back as %v, want %v", name, got, c.record)
		}
	}
}

// TestHintsAndForeignWords takes hints for what they are, foreign blocker codes
// as they come, and nothing that the schema does not know (C-012, C-017, C-021,
// D-28, D-43, D-59, D-61).
func TestHintsAndForeignWords(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("hinted", m{"target_agent_uid": "worker-other", "participant_agent_uids": []string{"worker-other"}}, nil)
	b.claim("hinted", "worker-http", 60) // a hint is no access control
	for _, code := range []string{"foo_bar", "upstream_gate_pending", "orchestration.gate", "x.acme.thing"} {
		r := b.put(code, m{"status": "blocked"}, m{"blockers": []m{{"blocker_code": code, "severity": "low", "summary": "s"}}})
		if got := fmt.Sprint(r.at("blockers").([]any)[0].(m)["blocker_code"]); got != code {
			t.Errorf("%s became %s", code, got)
		}
	}
	for code, marked := range map[string]bool{"foo_bar": true, "upstream_gate_pending": true, "orchestration.gate": false, "x.acme.thing": false} {
		rows := b.do("GET", "work-items?blocker_code="+code, "reader-01", nil).at("work_items").([]any)
		for what, got := range map[string]any{"row": rows[0].(m)["unreserved_blocker_codes"], "item": b.item(code).at("unreserved_blocker_codes")} {
			if want := map[bool]string{true: "[" + code + "]", false: "<nil>"}[marked]; fmt.Sprint(got) != want {
				t.Errorf("the %s marks %v of %s, want %s", what, got, code, want)
			}
		}
	}
	for _, seed := range []m{{"repo_id": "r"}, {"base_commit": "c"}, {"review_required": true}, {"blocker_codes": []string{}}, {"completion_evidence": m{}},
		{"work_kind": "acmecorp.deploy_prepare"}, {"work_kind": "deploy"}} {
		b.want(b.do("PUT", "work-items", "lead-01", body(m{"work_item": workItem("seed", seed)})), 400, "schema_violation")
	}
	b.put("scoped", nil, nil)
	c := claimBody("scoped", "worker-http", 60)
	c["scope"] = m{"scope_id": "s"}
	b.want(b.do("POST", "claims", "worker-http", c), 400, "schema_violation")
	c["scope"] = "anything at all / ü"
	b.want(b.do("POST", "claims", "worker-http", c), 201, "")
}

// TestEndedClaimsStay holds that only the owner ends claims, and that an ended
// one never changes again, whoever tries what (C-063, C-064, D-32).
func TestEndedClaimsStay(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	ended := make(map[string]string)
	for _, how := range []string{"released", "completed", "revoked", "expired"} {
		b.put(how, nil, nil)
		id := b.claim(how, "worker-http", 60)
		switch how {
		case "released":
			b.want(b.verb("claims", id, "release", "worker-http", nil), 200, "")
		case "completed":
			b.want(b.verb("claims", id, "complete", "worker-http", nil), 200, "")
		case "revoked":
			b.want(b.verb("claims", id, "revoke", "lead-01", m{"reason": "r"}), 200, "")
		case "expired":
			b.clock.advance(61 * time.Second)
		}
		ended[how] = id
	}
	look := func(id string) string {
		raw, _ := json.Marshal(b.do("GET", "claims/"+id, "reader-01", nil).at("claim"))
		return string(raw)
	}
	for how, id := range ended {
		before := look(id)
		for _, who := range []string{"worker-http", "worker-other", "lead-01"} {
			for _, verb := range []string{"renew", "heartbeat", "complete", "release", "revoke"} {
				members := m{}
				if verb == "revoke" {
					members["reason"] = "r"
				}
				b.verb("claims", id, verb, who, members)
			}
		}
		if after := look(id); after != before {
			t.Errorf("the %s claim changed from %s to %s", how, before, after)
		}
	}
}

// TestOrderOfChecks breaks one more thing at each step and still hears of the
// first only (D-38, D-62, C-091, C-092, H-010, H-072, H-074, H-075).
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, m{"validation_requirements": []m{{"requirement_id": "r", "kind": "k", "summary": "s"}}})
	id := b.claim("w", "worker-http", 60)
	steps := []struct {
		path, who, raw string
		status         int
		code           core.Code
	}{
		{"nothing/x", "", `{`, 404, core.CodeRouteNotFound},
		{"claims/none/complete", "", `{`, 401, core.CodeUnauthenticated},
		{"claims/none/complete", "worker-other", `{"worker_agent_uid":"x","colour":1`, 400, core.CodeSchemaViolation},
		{"claims/none/complete", "worker-other", `{"protocol_version":"acop/9.0","worker_agent_uid":"x","colour":1}`, 400, core.CodeUnsupportedVersion},
		{"claims/none/complete", "worker-other", `{"protocol_version":"acop/1.0","worker_agent_uid":"x","colour":1}`, 400, core.CodeSchemaViolation},
		{"claims/none/complete", "worker-other", `{"protocol_version":"acop/1.0","worker_agent_uid":"x"}`, 403, core.CodeForbidden},
		{"claims/none/complete", "worker-other", `{"protocol_version":"acop/1.0"}`, 404, core.CodeClaimNotFound},
		{"claims/" + id + "/complete", "worker-other", `{"protocol_version":"acop/1.0"}`, 403, core.CodeUnauthorizedWorker},
		{"claims/" + id + "/complete", "worker-http", `{"protocol_version":"acop/1.0"}`, 409, core.CodeValidationRequired},
	}
	for _, s := range steps {
		b.want(b.do("POST", s.path, s.who, s.raw), s.status, string(s.code))
	}
	b.clock.advance(61 * time.Second)
	b.want(b.verb("claims", id, "complete", "worker-other", nil), 403, "unauthorized_worker")
	b.want(b.verb("claims", id, "complete", "worker-http", nil), 409, "lease_expired")
}

// TestHoldOnRelease keeps released items from being claimed until they are
// offered again (D-30).
func TestHoldOnRelease(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.Config.HoldOnRelease = true })
	b.put("w", nil, nil)
	r := b.verb("claims", b.claim("w", "worker-http", 60), "release", "worker-http", m{"release_reason": "need a rest"})
	if r.text("work_item_status") != "released" {
		t.Fatalf("%s", r.raw)
	}
	if !bytes.Contains(b.item("w").raw, []byte("need a rest")) { // H-039
		t.Error("the reason is not in the log")
	}
	b.want(b.do("POST", "claims", "worker-http", claimBody("w", "worker-http", 60)), 409, "work_item_not_actionable")
	b.want(b.verb("work-items", "w", "requeue", "worker-http", nil), 403, "forbidden")
	b.want(b.verb("work-items", "w", "requeue", "lead-01", nil), 200, "")
	b.claim("w", "worker-http", 60)
}

// TestClaimAnswer has the members of the binding and no others, fills what may
// be left out and keeps a whole intent (C-042, C-043, C-075, H-020, H-021, D-25,
// D-39, D-53).
func TestClaimAnswer(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	r := b.do("POST", "claims", "worker-http", claimBody("w", "worker-http", 60))
	b.want(r, 201, "")
	if len(r.at("claim").(m)) != 6 || len(r.body) != 4 || r.text("work_item_status") != "claimed" || r.header.Get("Content-Type") != "application/json" {
		t.Errorf("%v %s", r.header, r.raw)
	}
	b.want(b.verb("claims", r.text("claim.claim_id"), "renew", "worker-http", nil), 200, "") // no uid: the identity fills it
	var intent any
	for _, e := range b.item("w").at("events").([]any) {
		if e.(m)["family"] == "claim_grant" && intent == nil {
			intent = e.(m)["intent"].(m)["claim_intent"]
		}
	}
	if err := schemas()["claim"].Validate(intent); err != nil {
		t.Errorf("the kept intent is not a whole record: %v", err)
	}
	b.put("edited", nil, m{"artifacts": []m{{"artifact_id": "a", "artifact_kind": "diff", "artifact_role": "output", "readiness": "ready"}}})
	if st := b.status("edited"); st != "ready" {
		t.Errorf("an artifact finished the work: %s", st)
	}
}

// TestKeptRecords stand in envelopes that carry the version, beside records that
// are the core's own (C-078, C-088, D-27).
func TestKeptRecords(t *testing.T) {
	t.Parallel()
	book := newFakeBook()
	book.add("w", core.StatusReady)
	d := testDesk(book, testNow, "worker", core.RoleWorker)
	r := &request{}
	r.Act = core.Act{Verb: core.VerbClaim, WorkItemID: "w", TTLSeconds: 60, Scope: "s"}
	v, refused := decide(d, r)
	if refused != nil {
		t.Fatal(refused)
	}
	for _, c := range v.changes {
		if c.Record.ProtocolVersion != core.ProtocolVersion || c.Record.Kind != store.KindItem || c.Record.ID != "w" {
			t.Errorf("envelope %+v", c.Record)
		}
		for name, rec := range map[string]any{"work_item": c.Record.Item.WorkItem, "claim": c.Record.Item.Lease.Claim} {
			raw, _ := json.Marshal(rec)
			var doc any
			if err := json.Unmarshal(raw, &doc); err != nil {
				t.Fatal(err)
			}
			if err := answerSchemas()[name].Validate(doc); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestLeaseTruthIsTheOwners reads the sources of the whole module: nobody but the
// owner's rules says what a claim is (C-001).
func TestLeaseTruthIsTheOwners(t *testing.T) {
	t.Parallel()
	set := 0
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil // somebody's unfinished file; the compiler tells
		}
		ast.Inspect(f, func(n ast.Node) bool {
			a, isAssign := n.(*ast.AssignStmt)
			if !isAssign {
				return true
			}
			for _, l := range a.Lhs {
				if sel, isSel := l.(*ast.SelectorExpr); isSel && sel.Sel.Name == "ClaimStatus" {
					if set++; filepath.ToSlash(filepath.Dir(path)) != "../../server/acop" {
						t.Errorf("%s sets %s", path, sel.Sel.Name)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil || set == 0 {
		t.Fatal("the owner's own assignments were not found", err)
	}
}

// TestOwnWords reads the sources: the core knows no transport, and no word of
// ours stands in a namespace of others or uses a reserved code for something
// else (C-022, C-023, C-077, C-087, C-090).
func TestOwnWords(t *testing.T) {
	t.Parallel()
	reserved := map[string]bool{"BlockerDependency": true} // what the owner itself acts upon
	for _, dir := range []string{".", "../../model/acop"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, imp := range f.Imports {
				if path, _ := strconv.Unquote(imp.Path.Value); dir != "." && strings.HasPrefix(path, "net/") {
					t.Errorf("%s imports %s", name, path)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					s, _ := strconv.Unquote(n.Value)
					if _, minted, _ := strings.Cut(s, "."); minted != "" && (strings.HasPrefix(s, "orchestration.") || strings.HasPrefix(s, "compliance.")) {
						t.Errorf("%s: %q is in a namespace of others", name, s)
					}
				case *ast.SelectorExpr:
					if x, isName := n.X.(*ast.Ident); isName && x.Name == "core" && strings.HasPrefix(n.Sel.Name, "Blocker") &&
						n.Sel.Name != "BlockerAttemptsExhausted" && n.Sel.Name != "Blocker" && !reserved[n.Sel.Name] {
						t.Errorf("%s uses the reserved code %s", name, n.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

// TestHeldWorkIsNotOffered neither after it is published again as ready, nor
// after a restart (B45, H-050).
func TestHeldWorkIsNotOffered(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	id := b.claim("w", "worker-http", 600)
	offered := func(when string) {
		t.Helper()
		for _, q := range []string{"pickup?agent=worker-http", "work-items?claimable=1", "work-items?status=ready"} {
			if rows := b.do("GET", q, "reader-01", nil).at("work_items").([]any); len(rows) != 0 {
				t.Errorf("%s, %s offers held work", when, q)
			}
		}
	}
	offered("while it is claimed")
	b.put("w", m{"title": "new words", "status": "ready"}, nil)
	offered("published again")
	b.want(b.verb("claims", id, "renew", "worker-http", nil), 200, "")
	b.restart()
	offered("after a restart")
	if it := b.item("w"); it.text("item.work_item.title") != "new words" || it.text("item.lease.claim.claim_id") != id {
		t.Errorf("%s", it.raw)
	}
}

// TestReadersThatLeave leave nothing behind (B80).
func TestReadersThatLeave(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.KeepAlive = 50 * time.Millisecond })
	const n = 50
	for range n {
		b.listen("").cancel()
	}
	eventually(t, "all streams are closed", func() bool { return b.owner.count.streams.Load() == 0 })
}

// TestOverlapsAcrossForms finds live work that a glob, a folder or a symbol
// shares with an item, in its own repository only (C-074).
func TestOverlapsAcrossForms(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("held", m{"target_repo_id": "r", "owned_paths": []string{"src/**/*.go"}, "owned_symbols": []string{"pkg.Func"}}, nil)
	b.claim("held", "worker-http", 600)
	for id, c := range map[string]struct {
		item m
		want int
	}{
		"file":   {m{"target_repo_id": "r", "owned_paths": []string{"src/a/b.go"}}, 1},
		"folder": {m{"target_repo_id": "r", "owned_paths": []string{"src/"}}, 1},
		"symbol": {m{"target_repo_id": "r", "owned_symbols": []string{"pkg.Func"}}, 1},
		"other":  {m{"target_repo_id": "r", "owned_paths": []string{"docs/a.md"}, "owned_symbols": []string{"pkg.Other"}}, 0},
		"repo":   {m{"target_repo_id": "s", "owned_paths": []string{"src/a/b.go"}}, 0},
	} {
		b.put(id, c.item, nil)
		if got := len(b.item(id).at("overlaps").([]any)); got != c.want {
			t.Errorf("%s: %d overlaps, want %d", id, got, c.want)
		}
	}
}
