package acop

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	core "signalbox/model/acop"
	"signalbox/model/acop/schema"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func entryOf(item, author string, more m) m {
	e := m{"work_item_id": item, "entry_kind": "finding", "author_agent_uid": author, "created_at_utc": "2026-05-16T19:12:00Z", "status": "active"}
	for k, v := range more {
		e[k] = v
	}
	return e
}

// TestClosedWords sends every word of every closed list, and words beside them,
// over HTTP (C-014, C-019, C-028, C-033, C-034, C-044, B74).
func TestClosedWords(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	n := 0
	item := func(w, doc m) reply {
		n++
		members := m{"work_item": workItem(fmt.Sprint("i", n), w)}
		for k, v := range doc {
			members[k] = v
		}
		return b.do("PUT", "work-items", "lead-01", body(members))
	}
	post := func(more m) reply { return b.do("POST", "blackboard", "lead-01", body(entryOf("w", "lead-01", more))) }
	lists := map[string]struct {
		good []string
		send func(string) reply
	}{
		"priority": {[]string{"low", "medium", "high", "urgent"}, func(s string) reply { return item(m{"priority": s}, nil) }},
		"severity": {[]string{"low", "medium", "high", "critical"}, func(s string) reply {
			return item(nil, m{"blockers": []m{{"blocker_code": "x.a.b", "severity": s, "summary": "s"}}})
		}},
		"readiness": {[]string{"ready", "contingent", "blocked"}, func(s string) reply {
			return item(nil, m{"artifacts": []m{{"artifact_id": "a", "artifact_kind": "k", "artifact_role": "r", "readiness": s}}})
		}},
		"entry_kind": {[]string{"finding", "hypothesis", "partial_result", "risk", "decision", "constraint", "review_request", "integration_note"},
			func(s string) reply { return post(m{"entry_kind": s}) }},
		"entry status": {[]string{"active", "superseded", "accepted", "rejected", "resolved"}, func(s string) reply { return post(m{"status": s}) }},
	}
	for name, l := range lists {
		for _, s := range l.good {
			b.want(l.send(s), 201, "")
			b.want(l.send(strings.ToUpper(s)), 400, "schema_violation")
		}
		for _, s := range []string{"", "other", l.good[0] + " ", "x.vendor." + l.good[0]} {
			if r := l.send(s); r.status != 400 || r.code() != "schema_violation" {
				t.Errorf("%s %q: %d %s", name, s, r.status, r.raw)
			}
		}
	}
	for _, c := range []any{0, 1, 0.5, 1e-300} {
		b.want(post(m{"confidence": c}), 201, "")
		b.want(item(m{"actionability_score": c}, nil), 201, "")
	}
	for _, c := range []any{-0.01, 1.01, 1.0000000001, "0.5", true} {
		b.want(post(m{"confidence": c}), 400, "schema_violation")
		b.want(item(m{"actionability_score": c}, nil), 400, "schema_violation")
	}
	zero := strings.Replace(mustJSON(body(m{"work_item": workItem("zero", nil)})), "0.5", "-0.0", 1)
	b.want(b.do("PUT", "work-items", "lead-01", zero), 201, "")
}

// TestUnknownMembers are refused by every verb, and change nothing (D-51, C-016).
func TestUnknownMembers(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	id := b.claim("w", "worker-http", 60)
	blocker := m{"blocker_code": "x.a.b", "severity": "low", "summary": "s"}
	sent := 0
	for path, c := range map[string]struct {
		who     string
		members m
	}{
		"claims/" + id + "/renew": {"worker-http", m{}}, "claims/" + id + "/release": {"worker-http", m{}}, "claims/" + id + "/complete": {"worker-http", m{}},
		"claims/" + id + "/heartbeat": {"worker-http", m{}}, "claims/" + id + "/revoke": {"lead-01", m{"reason": "r"}},
		"work-items/w/accept": {"lead-01", m{}}, "work-items/w/cancel": {"lead-01", m{"reason": "r"}},
		"work-items/w/supersede": {"lead-01", m{"superseded_by_work_item_id": "x"}}, "work-items/w/send-back": {"lead-01", m{"reason": "r"}},
		"work-items/w/block": {"lead-01", m{"blocker": blocker}}, "work-items/w/unblock": {"lead-01", m{"blocker_code": "x.a.b"}},
		"work-items/w/resolve": {"lead-01", m{"decision": "ready", "note": "n"}}, "work-items/w/requeue": {"lead-01", m{}}, "work-items/w/consume": {"lead-01", m{}},
		"claim-intents/i/grant": {"lead-01", m{}}, "claim-intents/i/deny": {"lead-01", m{"reason": "r"}},
		"claims": {"worker-http", claimBody("w", "worker-http", 60)}, "blackboard": {"worker-http", entryOf("w", "worker-http", nil)},
	} {
		c.members["colour"] = "red"
		b.want(b.do("POST", path, c.who, body(c.members)), 400, "schema_violation")
		sent++
	}
	b.want(b.verb("claims", id, "complete", "worker-http", m{"completion_evidence": m{"results": []string{}}}), 400, "schema_violation")
	b.want(b.do("PUT", "settings", "lead-01", body(m{"colour": "red"})), 400, "schema_violation")
	posts := 0
	for _, rt := range routes {
		if ep := rt.methods[http.MethodPost]; ep != nil {
			posts++
		}
	}
	if sent != posts {
		t.Errorf("%d verbs asked, the owner has %d", sent, posts)
	}
	if r := b.do("GET", "claims/"+id, "reader-01", nil); r.text("claim.claim_status") != "active" || r.text("work_item_status") != "claimed" {
		t.Errorf("a refused body changed the claim: %s", r.raw)
	}
}

// TestRecordsAreTheCores holds what is kept of heartbeats against the core's own
// schema, and a term of one second to its length (C-045, C-048).
func TestRecordsAreTheCores(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	r := b.do("POST", "claims", "worker-http", claimBody("w", "worker-http", 1))
	b.want(r, 201, "")
	if s := seconds(t, r); s != 1 {
		t.Errorf("a term of one second lasts %v", s)
	}
	b.put("v", nil, nil)
	id := b.claim("v", "worker-http", 60)
	b.want(b.verb("claims", id, "heartbeat", "worker-http", m{"observed_at_utc": "2026-05-16T19:12:00Z", "progress_status": "busy", "progress_summary": "s"}), 200, "")
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema.Core)))
	if err == nil {
		err = c.AddResource(schema.CoreID, doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	beat := b.item("v").at("item.lease.last_heartbeat")
	if err := c.MustCompile(schema.CoreID + "#/$defs/lease_heartbeat").Validate(beat); err != nil {
		t.Errorf("the heartbeat kept is %v: %v", beat, err)
	}
}

// TestHeartbeatsDoNotHold shows that signs of life alone keep no lease (B56,
// C-047), and that an ended claim stays ended when the clock goes back (H-084).
func TestHeartbeatsDoNotHold(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.SweepEvery = time.Hour; o.Clock.(*fakeClock).freeze() })
	b.put("w", nil, nil)
	r := b.do("POST", "claims", "worker-http", claimBody("w", "worker-http", 60))
	id, until := r.text("claim.claim_id"), r.text("claim.expires_at_utc")
	for range 11 {
		b.clock.advance(5 * time.Second)
		if r := b.verb("claims", id, "heartbeat", "worker-http", nil); r.status != 200 || r.text("claim.expires_at_utc") != until {
			t.Fatalf("after a heartbeat: %s", r.raw)
		}
	}
	b.clock.advance(5 * time.Second)
	b.want(b.verb("claims", id, "heartbeat", "worker-http", nil), 409, "lease_expired")
	b.clock.step(-time.Hour)
	for _, verb := range []string{"renew", "release", "complete", "heartbeat"} {
		b.want(b.verb("claims", id, verb, "worker-http", nil), 409, "lease_expired")
	}
	b.restart()
	b.want(b.verb("claims", id, "renew", "worker-http", nil), 409, "lease_expired")
	if st := b.status("w"); st != "ready" {
		t.Errorf("the item is %s", st)
	}
}

// TestEntriesStayAsPosted compares a whole entry before and after another one
// supersedes it, and reads a feed that many write to by its cursor: each entry
// once, in one order (C-035, C-036, C-037, C-039, C-040).
func TestEntriesStayAsPosted(t *testing.T) {
	t.Parallel()
	b := fastBox(t)
	b.reach("done", core.StatusCompleted)
	r := b.do("POST", "blackboard", "worker-other", body(entryOf("done", "worker-other", m{"summary": "first", "confidence": 0.25})))
	b.want(r, 201, "")
	id := r.text("entry.entry_id")
	look := func() string { return mustJSON(b.do("GET", "blackboard/"+escaped(id), "reader-01", nil).at("entry")) }
	before := look()
	b.want(b.do("POST", "blackboard", "worker-http", body(entryOf("done", "worker-http", m{"entry_id": "second", "supersedes_entry_ids": []string{id}}))), 201, "")
	if after := look(); after != before || !strings.Contains(before, "first") {
		t.Errorf("the superseded entry was %s and is %s", before, after)
	}
	if got := fmt.Sprint(b.do("GET", "blackboard/second", "reader-01", nil).at("entry.supersedes_entry_ids")); got != "["+id+"]" {
		t.Errorf("the revision names %s", got)
	}

	const writers, each = 8, 10
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			who := []string{"worker-http", "worker-other"}[i%2]
			for j := range each {
				if r, err := b.try("POST", "blackboard", who, body(entryOf("done", who, m{"entry_id": fmt.Sprint(i, "/", j)}))); err != nil || r.status != 201 {
					t.Errorf("%v %s", err, r.raw)
				}
			}
		})
	}
	var got []string
	since := "0"
	for len(got) < writers*each+2 && !t.Failed() {
		for _, e := range b.do("GET", "blackboard?work_item=done&limit=7&since="+since, "reader-01", nil).at("entries").([]any) {
			got = append(got, e.(m)["entry"].(m)["entry_id"].(string))
			since = fmt.Sprint(int(e.(m)["revision"].(float64)))
		}
	}
	wg.Wait()
	if again := slices.Compact(slices.Sorted(slices.Values(got))); len(again) != writers*each+2 {
		t.Errorf("%d entries, %d different ones, want %d", len(got), len(again), writers*each+2)
	}
}

// TestElsewhereOnEarth runs tests of this package in a process whose zone has an
// offset: no time that leaves the owner shows it (H-008, H-009).
func TestElsewhereOnEarth(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run", "^(TestClaimAnswer|TestHeartbeat|TestBlackboard|TestGrantModes|TestEventsTellTheWholeStory|TestZone)$", "-test.v")
	cmd.Env = append(os.Environ(), "TZ=Asia/Kolkata")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestClaimAnswer") || !strings.Contains(string(out), "--- PASS: TestZone") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestZone is the part of TestElsewhereOnEarth that shows that it is elsewhere,
// and that events carry UTC too.
func TestZone(t *testing.T) {
	t.Parallel()
	_, offset := time.Now().Zone()
	if os.Getenv("TZ") == "Asia/Kolkata" && offset != 19800 {
		t.Skipf("this machine knows no zones: %d", offset)
	}
	b := newBox(t, nil)
	b.put("w", nil, nil)
	b.claim("w", "worker-http", 60)
	for range 2 {
		f := b.listen("").next()
		var v any
		if err := json.Unmarshal([]byte(mustJSON(f.ev)), &v); err != nil {
			t.Fatal(err)
		}
		if odd := oddTime("event", v); odd != "" {
			t.Error(odd)
		}
	}
}
