package acop

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	core "signalbox/model/acop"
)

// frame is one server-sent event.
type frame struct {
	id, event string
	ev        core.Event
	comment   string
}

// listener reads an event stream in the background.
type listener struct {
	t      testing.TB
	cancel context.CancelFunc
	frames chan frame
}

func (b *box) listen(query string, hs ...header) *listener {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", b.http.URL+DefaultBasePath+"events"+query, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.tokens["reader-01"])
	for _, h := range hs {
		for k, v := range h {
			req.Header.Set(k, v)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		b.t.Fatal(err, resp)
	}
	l := &listener{t: b.t, cancel: cancel, frames: make(chan frame, 10_000)}
	b.t.Cleanup(cancel)
	go func() {
		defer resp.Body.Close()
		defer close(l.frames)
		var f frame
		sc := bufio.NewScanner(resp.Body)
		sc.Buffer(nil, 8<<20)
		for sc.Scan() {
			switch line := sc.Text(); {
			case line == "":
				l.frames <- f
				f = frame{}
			case strings.HasPrefix(line, ": "):
				f.comment = line[2:]
			case strings.HasPrefix(line, "id: "):
				f.id = line[4:]
			case strings.HasPrefix(line, "event: "):
				f.event = line[7:]
			case strings.HasPrefix(line, "data: "):
				if err := json.Unmarshal([]byte(line[6:]), &f.ev); err != nil {
					b.t.Errorf("event data %s: %v", line, err)
				}
			}
		}
	}()
	return l
}

// next returns the next event, skipping comments.
func (l *listener) next() frame {
	l.t.Helper()
	for {
		select {
		case f, open := <-l.frames:
			if !open {
				l.t.Fatal("the stream ended")
			}
			if f.comment == "" {
				return f
			}
		case <-time.After(10 * time.Second):
			l.t.Fatal("no event in 10 s")
		}
	}
}

// TestEventsTellTheWholeStory from the beginning and live, in order (C-076).
func TestEventsTellTheWholeStory(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	l := b.listen("")
	id := b.claim("w", "worker-http", 60)
	b.want(b.verb("claims", id, "complete", "worker-http", nil), 200, "")
	want := []struct {
		family core.Family
		verb   string
		from   core.Status
		to     core.Status
		id     bool
	}{
		{core.FamilyWorkOffer, "put", "", "ready", true},
		{core.FamilyClaimGrant, "claim", "ready", "claimed", true},
		{core.FamilyWorkUpdate, "complete", "claimed", "in_progress", false},
		{core.FamilyCompletionNotice, "complete", "in_progress", "completed", true},
	}
	var last frame
	for i, w := range want {
		f := l.next()
		if f.event != string(w.family) || f.ev.Family != w.family || f.ev.Verb != w.verb || f.ev.From != w.from || f.ev.To != w.to ||
			(f.id != "") != w.id || f.ev.Last != w.id {
			t.Fatalf("event %d: %+v", i, f)
		}
		if f.id != "" && f.id != fmt.Sprint(f.ev.Revision) {
			t.Fatalf("id %s of revision %d", f.id, f.ev.Revision)
		}
		if f.ev.Item == nil || f.ev.Item.Status() == "" {
			t.Fatalf("event %d carries no item", i)
		}
		last = f
	}
	if last.ev.Index != 1 || last.ev.Claim == nil || last.ev.Claim.ClaimStatus != core.ClaimReleased || last.ev.Item.Status() != core.StatusCompleted {
		t.Fatalf("the end of completion: %+v", last.ev)
	}
}

// TestEventsResume gives each event once over reconnects while work goes on.
func TestEventsResume(t *testing.T) {
	t.Parallel()
	b := fastBox(t)
	const n = 60
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			b.put(fmt.Sprint("w", i), nil, nil)
		}
	})
	var got []string
	cursor := ""
	for len(got) < n {
		l := b.listen("?after=0", header{"Last-Event-ID": cursor})
		for range min(7, n-len(got)) {
			f := l.next()
			got, cursor = append(got, f.ev.WorkItemID), f.id
		}
		l.cancel()
	}
	wg.Wait()
	for i, id := range got {
		if id != fmt.Sprint("w", i) {
			t.Fatalf("event %d is about %s", i, id)
		}
	}
}

// TestEventCursor refuses a cursor from another log and takes filters.
func TestEventCursor(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("a", nil, nil)
	b.put("b", nil, nil)
	b.want(b.do("GET", "events?after=999", "reader-01", nil), 409, "signalbox.event_cursor_ahead")
	b.want(b.do("GET", "events?after=x", "reader-01", nil), 400, "schema_violation")
	b.want(b.do("GET", "events?family=x", "reader-01", nil), 400, "schema_violation")
	b.want(b.do("GET", "events", "", nil), 401, "unauthenticated")
	l := b.listen("?work_item=b")
	if f := l.next(); f.ev.WorkItemID != "b" {
		t.Fatalf("filtered: %+v", f)
	}
	l = b.listen("?family=claim_grant")
	b.claim("a", "worker-http", 60)
	if f := l.next(); f.ev.Family != core.FamilyClaimGrant || f.id == "" {
		t.Fatalf("filtered: %+v", f)
	}
}

// TestRevokedTokenEndsItsStream shows that a credential that is taken away takes
// its open streams with it, not only the next request (H-072).
func TestRevokedTokenEndsItsStream(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	l := b.listen("")
	eventually(t, "the stream is open", func() bool { return b.owner.count.streams.Load() == 1 })
	if b.list.Revoke("reader-01") == 0 {
		t.Fatal("the reader had no credential")
	}
	eventually(t, "the stream ends", func() bool { return b.owner.count.streams.Load() == 0 })
	l.cancel()
}

// TestEventKeepAlive keeps an idle stream open under a short write deadline and
// ends it when the owner closes (B77, B80, B86).
func TestEventKeepAlive(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.KeepAlive = 20 * time.Millisecond })
	l := b.listen("")
	for range 5 {
		select {
		case f := <-l.frames:
			if f.comment == "" {
				t.Fatalf("%+v", f)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("no comment")
		}
	}
	if n := b.owner.count.streams.Load(); n != 1 {
		t.Fatalf("%d streams", n)
	}
	l.cancel()
	eventually(t, "the stream is given up", func() bool { return b.owner.count.streams.Load() == 0 })
	l = b.listen("")
	b.owner.Close()
	eventually(t, "the stream ends with the owner", func() bool {
		for {
			select {
			case _, open := <-l.frames:
				if !open {
					return true
				}
			default:
				return false
			}
		}
	})
	b.want(b.do("PUT", "work-items", "lead-01", body(m{"work_item": workItem("w", nil)})), 503, "backend_unavailable")
}

// TestGrantModes lets a lead decide who gets what (D-58).
func TestGrantModes(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.Config.IntentTTLSeconds = 60 })
	b.want(b.do("PUT", "settings", "lead-01", body(m{"grant_mode": "lead"})), 200, "")
	ask := func(item, who string) reply {
		return b.do("POST", "claims", who, claimBody(item, who, 60), header{"Idempotency-Key": "k " + item})
	}
	b.put("w", nil, nil)
	r := ask("w", "worker-http")
	b.want(r, 409, "gate_blocked")
	intent := r.text("error.details.claim_intent_id")
	if again := ask("w", "worker-http"); again.text("error.details.claim_intent_id") != intent {
		t.Fatalf("a second wait: %s", again.raw)
	}
	if l := b.do("GET", "claim-intents", "lead-01", nil).at("claim_intents").([]any); len(l) != 1 || l[0].(m)["state"] != "waiting" {
		t.Fatalf("intents: %v", l)
	}
	b.want(b.verb("claim-intents", intent, "grant", "worker-http", nil), 403, "forbidden")
	b.want(b.verb("claim-intents", "none", "grant", "lead-01", nil), 404, "signalbox.intent_not_found")
	r = b.verb("claim-intents", intent, "grant", "lead-01", m{"ttl_seconds": 90})
	b.want(r, 200, "")
	if s := seconds(t, r); s != 90 || r.text("intent.state") != "granted" {
		t.Fatalf("grant: %s", r.raw)
	}
	got := ask("w", "worker-http")
	b.want(got, 201, "")
	if got.text("claim.claim_id") != r.text("claim.claim_id") {
		t.Fatalf("the worker got another claim: %s", got.raw)
	}
	b.want(b.verb("claim-intents", intent, "deny", "lead-01", m{"reason": "late"}), 409, "work_item_not_actionable")

	b.put("x", nil, nil)
	intent = ask("x", "worker-http").text("error.details.claim_intent_id")
	b.want(b.verb("claim-intents", intent, "deny", "lead-01", nil), 400, "schema_violation")
	b.want(b.verb("claim-intents", intent, "deny", "lead-01", m{"reason": "not you"}), 200, "")
	r = ask("x", "worker-http")
	b.want(r, 409, "gate_blocked")
	if !strings.Contains(r.text("error.message"), "not you") {
		t.Fatalf("denied: %s", r.raw)
	}
	b.want(ask("x", "worker-other"), 409, "gate_blocked")
	b.clock.advance(61 * time.Second)
	eventually(t, "waiting requests expire", func() bool { return b.countEvents("x", "intent_gone") == 1 })
	b.want(b.do("POST", "claims", "lead-01", claimBody("x", "worker-other", 60)), 201, "") // a lead asks nobody
}

// TestRulesAndFreeze covers grant mode rules, overlap and the freeze.
func TestRulesAndFreeze(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) {
		o.Config.GrantMode = core.GrantRules
		o.Config.Rules = []core.GrantRule{{Path: "infra/**", Then: "deny"}, {WorkKind: core.KindReview, Then: "lead"}, {Path: "docs/**", Then: "auto"}}
	})
	b.put("deny", m{"owned_paths": []string{"infra/a/b.tf"}}, nil)
	b.put("lead", m{"work_kind": "review"}, nil)
	b.put("docs", m{"owned_paths": []string{"docs/a.md"}}, nil)
	b.put("overlap", m{"owned_paths": []string{"docs/a.md"}}, nil)
	b.put("plain", nil, nil)
	ask := func(item string) reply {
		return b.do("POST", "claims", "worker-http", claimBody(item, "worker-http", 60))
	}
	reason := func(r reply) string { b.want(r, 409, "gate_blocked"); return r.text("error.details.reason") }
	if got := reason(ask("deny")); got != "rule" {
		t.Error(got)
	}
	if r := ask("lead"); reason(r) != "rule" || r.text("error.details.claim_intent_id") == "" {
		t.Errorf("%s", r.raw)
	}
	b.want(ask("docs"), 201, "")
	if r := ask("overlap"); reason(r) != "overlap" {
		t.Errorf("%s", r.raw)
	}
	rev := b.do("PUT", "settings", "lead-01", body(m{"frozen": true, "reason": "release"}))
	b.want(rev, 200, "")
	if _, told := rev.at("settings").(m)["revision"]; told {
		t.Errorf("the answer tells a revision of the settings that cannot be known yet: %s", rev.raw)
	}
	if r := ask("plain"); reason(r) != "frozen" || !strings.Contains(r.text("error.message"), "release") {
		t.Errorf("%s", r.raw)
	}
	b.want(b.do("PUT", "settings", "lead-01", body(m{"frozen": false}), header{"If-Match": `"1"`}), 412, "signalbox.revision_mismatch")
	b.want(b.do("PUT", "settings", "lead-01", body(m{"frozen": false}), header{"If-Match": rev.header.Get("ETag")}), 200, "")
	b.want(b.do("PUT", "settings", "lead-01", body(m{"grant_mode": "manual"})), 400, "schema_violation")
	b.want(b.do("PUT", "settings", "lead-01", body(m{"rules": []m{{"then": "maybe"}}})), 400, "schema_violation")
	b.want(ask("plain"), 201, "")
	b.restart()
	set := b.do("GET", "settings", "reader-01", nil)
	if set.text("settings.grant_mode") != "rules" || set.at("settings.frozen") != false || len(set.at("settings.rules").([]any)) != 3 {
		t.Fatalf("after the restart: %s", set.raw)
	}
}

// TestReads covers the pickup queries and lists (C-003..C-005, C-067..C-072).
func TestReads(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("mine", m{"target_agent_uid": "worker-http", "created_at_utc": "2026-05-16T19:10:01Z", "target_repo_id": "r", "target_branch": "z"}, nil)
	b.put("old", m{"target_agent_uid": "worker-http"}, nil)
	b.put("other", m{"target_agent_uid": "worker-other"}, nil)
	b.put("stuck", m{"target_agent_uid": "worker-http", "status": "blocked", "target_repo_id": "r"}, m{"blockers": []m{dependsOn("old"), {"blocker_code": "review_required", "severity": "low", "summary": "s"}}})
	b.put("held", m{"target_agent_uid": "worker-http", "owned_paths": []string{"src/a.go"}}, nil)
	b.put("near", m{"target_agent_uid": "worker-other", "owned_paths": []string{"src/a.go"}}, nil)
	id := b.claim("held", "worker-http", 60)
	ids := func(query string) string {
		t.Helper()
		r := b.do("GET", query, "reader-01", nil)
		b.want(r, 200, "")
		var out []string
		for _, row := range r.at("work_items").([]any) {
			out = append(out, row.(m)["work_item"].(m)["work_item_id"].(string))
		}
		return strings.Join(out, " ")
	}
	for query, want := range map[string]string{
		"pickup?agent=worker-http":                      "mine old",
		"work-items?agent=worker-http&actionable=1":     "mine old",
		"work-items?repo=r&status=blocked":              "stuck",
		"work-items?branch=z&claimable=1":               "mine",
		"work-items?blocker_code=review_required":       "stuck",
		"work-items?status=claimed&status=blocked&q=st": "stuck",
	} {
		if got := ids(query); got != want {
			t.Errorf("%s gives %q, want %q", query, got, want)
		}
	}
	if got := ids("work-items?between=fixture-producer,worker-other"); got != "near other" && got != "other near" {
		t.Errorf("between gives %q", got)
	}
	for _, bad := range []string{"status=x", "order=x", "limit=0", "limit=1001", "between=a", "claimable=maybe", "colour=red"} {
		b.want(b.do("GET", "work-items?"+bad, "reader-01", nil), 400, "schema_violation")
	}
	first := b.do("GET", "work-items?limit=4", "reader-01", nil)
	rest := b.do("GET", "work-items?limit=4&cursor="+first.text("next_cursor"), "reader-01", nil)
	if len(first.at("work_items").([]any)) != 4 || len(rest.at("work_items").([]any)) != 2 {
		t.Errorf("pages: %s %s", first.raw, rest.raw)
	}
	if r := b.do("GET", "claims?agent=worker-http", "reader-01", nil).at("claims").([]any); len(r) != 1 || r[0].(m)["claim"].(m)["claim_id"] != id {
		t.Errorf("claims: %v", r)
	}
	if ov := b.item("near").at("overlaps").([]any); len(ov) != 1 || ov[0].(m)["worker_agent_uid"] != "worker-http" {
		t.Errorf("overlaps: %v", ov)
	}
	agents := b.do("GET", "agents", "reader-01", nil)
	for _, a := range agents.at("agents").([]any) {
		a := a.(m)
		if _, seen := a["last_seen_at_utc"]; a["identity"] == "orch-01" && seen || a["identity"] == "worker-http" && len(a["claims"].([]any)) != 1 { // B55
			t.Errorf("agent %v", a)
		}
	}
	snap := b.do("GET", "snapshot", "lead-01", nil)
	if snap.text("identity") != "lead-01" || snap.text("role") != "lead" || len(snap.at("items").([]any)) != 6 || snap.text("settings.grant_mode") != "auto" {
		t.Errorf("snapshot: %s", snap.raw)
	}
	b.want(b.do("GET", "snapshot?min_revision=3", "lead-01", nil), 200, "")
	b.want(b.do("GET", "snapshot?min_revision=x", "lead-01", nil), 400, "schema_violation")
	before := b.store.Revision()
	for _, p := range []string{"work-items", "work-items/held", "claims", "claims/" + id, "claim-intents", "blackboard", "agents", "settings", "pickup?agent=x", "snapshot"} {
		b.want(b.do("GET", p, "reader-01", nil), 200, "")
		b.want(b.do("GET", p, "", nil), 401, "unauthenticated")
	}
	if b.store.Revision() != before {
		t.Error("a read changed something")
	}
}
