package acop

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	core "signalbox/model/acop"
)

// TestMatrixByPut asks for every pair of statuses by publishing the item again:
// only what a document may ask for happens, the rest is refused and changes
// nothing (H-049, C-052, C-057, D-41). What was submitted last is no request.
func TestMatrixByPut(t *testing.T) {
	t.Parallel()
	oneByOne(t)
	b := newBox(t, func(o *Options) {
		o.Config.ConsumeCompleted = true
		o.Config.RateLimit = RateLimit{PerSecond: 1e6, Burst: 1e6}
	})
	b.put("next", nil, nil)
	asked := map[core.Status][]core.Status{
		core.StatusReady:             {core.StatusBlocked},
		core.StatusBlocked:           {core.StatusReady},
		core.StatusRequiresAttention: {core.StatusReady, core.StatusBlocked},
		core.StatusReleased:          {core.StatusReady},
	}
	for _, from := range core.Statuses() {
		for _, to := range core.Statuses() {
			id := fmt.Sprintf("%s>%s", from, to)
			claimID := b.reach(id, from)
			before := b.item(id)
			r := b.do("PUT", "work-items", "lead-01", body(m{"work_item": workItem(id, m{"status": to})}))
			after := b.item(id)
			want := from
			switch closes := to == core.StatusCancelled || to == core.StatusSuperseded; {
			case before.text("item.submitted_status") == string(to): // said before: nothing is asked for
				b.want(r, 200, "")
			case from == to && !from.Terminal():
				b.want(r, 200, "")
			case slices.Contains(asked[from], to), closes && !from.Terminal():
				b.want(r, 200, "")
				want = to
			default:
				b.want(r, 409, string(core.RefusalCode(from)))
				if before.at("item.revision") != after.at("item.revision") {
					t.Errorf("%s: the refused document changed the item", id)
				}
			}
			if got := after.text("item.work_item.status"); got != string(want) {
				t.Errorf("%s: is %s, want %s (%d %s)", id, got, want, r.status, r.raw)
			}
			if held := from == core.StatusClaimed || from == core.StatusInProgress; held {
				st := b.do("GET", "claims/"+claimID, "reader-01", nil).text("claim.claim_status")
				if want.Terminal() != (st == "revoked") {
					t.Errorf("%s: the claim is %s", id, st)
				}
			}
		}
	}
}

// TestPublishingWhileClaiming lets producers publish an item again while workers
// claim, renew and give back: no claim is lost and no status set back (H-050,
// B45), and nobody but the owner of the lease ends it (C-002).
func TestPublishingWhileClaiming(t *testing.T) {
	t.Parallel()
	b := fastBox(t)
	b.put("w", nil, nil)
	stop := make(chan struct{})
	var publishing sync.WaitGroup
	for p := range 2 {
		publishing.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				r, err := b.try("PUT", "work-items", "lead-01", body(m{"work_item": workItem("w", m{"title": fmt.Sprint(p, " ", i)})}))
				if err != nil || r.status != 200 && r.status != 503 {
					t.Errorf("%v %s", err, r.raw)
				}
			}
		})
	}
	for range 8 {
		id := b.claim("w", "worker-http", 600)
		r := b.verb("claims", id, "renew", "worker-http", nil)
		b.want(r, 200, "")
		if r.text("work_item_status") != "in_progress" || r.text("claim.claim_id") != id {
			t.Fatalf("after a renewal: %s", r.raw)
		}
		if it := b.item("w"); it.text("item.lease.claim.claim_id") != id || it.text("item.work_item.status") != "in_progress" {
			t.Fatalf("the claim was lost: %s", it.raw)
		}
		b.want(b.verb("claims", id, "release", "worker-http", nil), 200, "")
	}
	close(stop)
	publishing.Wait()
	if n := b.countEvents("w", "release"); n != 8 {
		t.Errorf("%d releases are in the log, want 8", n)
	}
}

// TestLeaseTruthInDocuments refuses every member by which a producer could own a
// lease, and leaves nothing of the document (C-002, D-42).
func TestLeaseTruthInDocuments(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	at := "2026-05-16T19:10:00Z"
	for member, v := range map[string]m{
		"claim":           {"claim_id": "c", "work_item_id": "w", "worker_agent_uid": "x", "granted_at_utc": at, "expires_at_utc": at, "claim_status": "active"},
		"claim_intent":    {"claim_intent_id": "i", "work_item_id": "w", "worker_agent_uid": "x", "requested_at_utc": at, "requested_ttl_seconds": 5, "scope": "s"},
		"lease_heartbeat": {"claim_id": "c", "observed_at_utc": at},
	} {
		for _, who := range []string{"fixture-producer", "lead-01", "orch-01"} {
			b.want(b.do("PUT", "work-items", who, body(m{"work_item": workItem("w", nil), member: v})), 403, "forbidden")
			b.want(b.do("GET", "work-items/w", "reader-01", nil), 404, "work_item_not_found")
		}
	}
}

// TestWhoMayDoWhat is tables D.3 and D.4: each extension verb by each role, by
// the item's creator, its holder and its acceptor (C-060, D-33, H-077).
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	b := fastBox(t)
	b.put("next", nil, nil)
	blocker := m{"blocker": m{"blocker_code": "x.a.b", "severity": "low", "summary": "s"}}
	// The item is the producer's, held by worker-http, accepted by worker-other.
	verbs := map[string]struct {
		from    core.Status
		members m
		may     []string
	}{
		"cancel":    {core.StatusReady, m{"reason": "r"}, []string{"fixture-producer"}},
		"supersede": {core.StatusReady, m{"superseded_by_work_item_id": "next"}, []string{"fixture-producer"}},
		"block":     {core.StatusClaimed, blocker, []string{"fixture-producer", "worker-http"}},
		"unblock":   {core.StatusBlocked, m{"blocker_code": "x.a.b"}, []string{"fixture-producer"}},
		"resolve":   {core.StatusRequiresAttention, m{"decision": "ready", "note": "n"}, nil},
		"requeue":   {core.StatusReleased, m{}, []string{"fixture-producer"}},
		"consume":   {core.StatusAccepted, m{}, []string{"worker-other"}},
		"send-back": {core.StatusCompleted, m{"reason": "r"}, nil},
		"revoke":    {core.StatusClaimed, m{"reason": "r"}, nil},
		"heartbeat": {core.StatusClaimed, m{}, []string{"worker-http"}},
		"renew":     {core.StatusClaimed, m{}, []string{"worker-http"}},
	}
	for verb, v := range verbs {
		for who := range people {
			id := verb + " by " + who
			claimID := b.made(id, v.from)
			kind, target := "work-items", id
			if verb == "revoke" || verb == "heartbeat" || verb == "renew" {
				kind, target = "claims", claimID
			}
			before := b.item(id).at("item.revision")
			r := b.verb(kind, target, verb, who, v.members)
			if slices.Contains(v.may, who) || who == "lead-01" || who == "orch-01" {
				if r.status >= 300 {
					t.Errorf("%s: %d %s", id, r.status, r.raw)
				}
				continue
			}
			if r.status != 403 || b.item(id).at("item.revision") != before {
				t.Errorf("%s: %d %s", id, r.status, r.raw)
			}
		}
	}
}

// made brings an item that the producer creates to a status; it is held by
// worker-http and accepted by worker-other.
func (b *box) made(id string, st core.Status) (claimID string) {
	b.t.Helper()
	start, doc := st, m{}
	if !core.CanStart(st) {
		start = core.StatusReady
	}
	if st == core.StatusBlocked {
		doc["blockers"] = []m{{"blocker_code": "x.a.b", "severity": "low", "summary": "s"}}
	}
	doc["work_item"] = workItem(id, m{"status": start})
	b.want(b.do("PUT", "work-items", "fixture-producer", body(doc)), 201, "")
	if st == start {
		return ""
	}
	claimID = b.claim(id, "worker-http", 600)
	switch st {
	case core.StatusInProgress:
		b.want(b.verb("claims", claimID, "renew", "worker-http", nil), 200, "")
	case core.StatusReleased:
		b.want(b.verb("claims", claimID, "revoke", "lead-01", m{"reason": "r", "disposition": "released"}), 200, "")
	case core.StatusCompleted, core.StatusAccepted:
		b.want(b.verb("claims", claimID, "complete", "worker-http", nil), 200, "")
	}
	if st == core.StatusAccepted {
		b.want(b.verb("work-items", id, "accept", "worker-other", nil), 200, "")
	}
	return claimID
}

// TestCreatorAndLeadEnd lets the creator, a lead and nobody else cancel and
// supersede from each of the eight open statuses (C-060, C-061, D-33).
func TestCreatorAndLeadEnd(t *testing.T) {
	t.Parallel()
	b := fastBox(t)
	b.put("next", nil, nil)
	open := 0
	for _, st := range core.Statuses() {
		if st.Terminal() {
			continue
		}
		open++
		for verb, members := range map[string]m{"cancel": {"reason": "r"}, "supersede": {"superseded_by_work_item_id": "next"}} {
			for who, status := range map[string]int{"fixture-producer": 200, "lead-01": 200, "worker-other": 403} {
				id := strings.Join([]string{string(st), verb, who}, " ")
				b.made(id, st)
				if r := b.verb("work-items", id, verb, who, members); r.status != status {
					t.Errorf("%s: %d %s", id, r.status, r.raw)
				}
				want := map[string]string{"cancel": "cancelled", "supersede": "superseded"}[verb]
				if got := b.status(id); (got == want) != (status == 200) {
					t.Errorf("%s: the item is %s", id, got)
				}
			}
		}
	}
	if open != 8 {
		t.Errorf("%d open statuses", open)
	}
}

// TestEveryFamilyIsTold makes something of each kind happen: the ten families of
// the core are told, and the three of our own (C-076).
func TestEveryFamilyIsTold(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.want(b.do("PUT", "settings", "lead-01", body(m{"grant_mode": "lead"})), 200, "")
	b.put("next", nil, nil)
	b.put("w", nil, nil)
	b.put("w", nil, m{"artifacts": []m{{"artifact_id": "a", "artifact_kind": "k", "artifact_role": "r", "readiness": "ready"}}})
	b.put("w", nil, m{"validation_requirements": []m{{"requirement_id": "q", "kind": "k", "summary": "s"}}})
	wish := b.do("POST", "claims", "worker-http", claimBody("w", "worker-http", 60)).text("error.details.claim_intent_id")
	id := b.verb("claim-intents", wish, "grant", "lead-01", nil).text("claim.claim_id")
	b.want(b.verb("claims", id, "heartbeat", "worker-http", nil), 200, "")
	b.want(b.verb("work-items", "w", "block", "worker-http", m{"blocker": m{"blocker_code": "x.a.b", "severity": "low", "summary": "s"}}), 200, "")
	b.want(b.do("POST", "blackboard", "worker-http", body(entryOf("w", "worker-http", nil))), 201, "")
	b.want(b.verb("claims", id, "release", "worker-http", nil), 200, "")
	id = b.do("POST", "claims", "lead-01", claimBody("next", "worker-http", 60)).text("claim.claim_id")
	b.want(b.verb("claims", id, "complete", "worker-http", nil), 200, "")
	b.want(b.verb("work-items", "w", "supersede", "lead-01", m{"superseded_by_work_item_id": "next"}), 200, "")
	missing := map[core.Family]bool{}
	for _, f := range []core.Family{core.FamilyWorkOffer, core.FamilyWorkUpdate, core.FamilyClaimIntent, core.FamilyClaimGrant, core.FamilyClaimRelease,
		core.FamilyBlockerUpdate, core.FamilyArtifactUpdate, core.FamilyValidationUpdate, core.FamilyCompletionNotice, core.FamilySupersessionNotice,
		core.FamilyBlackboard, core.FamilyLeaseHeartbeat, core.FamilySettings} {
		missing[f] = true
	}
	l := b.listen("")
	for len(missing) > 0 {
		f := l.next()
		if f.event != string(f.ev.Family) || !f.ev.Family.Valid() {
			t.Fatalf("event %+v", f)
		}
		delete(missing, f.ev.Family)
		if f.ev.Verb == "supersede" {
			break
		}
	}
	if len(missing) > 0 {
		t.Errorf("never told: %v", missing)
	}
}

// TestStreamOutlivesTheAnswer keeps an event stream going long after the time in
// which an ordinary answer must be written (B77).
func TestStreamOutlivesTheAnswer(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.answerIn = 2 * time.Second; o.KeepAlive = 200 * time.Millisecond })
	l := b.listen("")
	began := time.Now()
	for time.Since(began) < 4*time.Second {
		if f, open := <-l.frames; !open || f.comment == "" {
			t.Fatalf("after %s: %+v, open: %v", time.Since(began), f, open)
		}
	}
	b.put("w", nil, nil)
	if f := l.next(); f.ev.WorkItemID != "w" {
		t.Fatalf("%+v", f)
	}
}

// TestReadsChangeNothing asks every read there is, as everybody who may look: the
// log and all that it says stay as they were (C-003, H-078).
func TestReadsChangeNothing(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	id := b.claim("w", "worker-http", 600)
	b.want(b.do("POST", "blackboard", "worker-http", body(entryOf("w", "worker-http", m{"entry_id": "e"}))), 201, "")
	state := func() string {
		return fmt.Sprint(b.store.Revision(), mustJSON(b.item("w").body), mustJSON(b.do("GET", "blackboard", "lead-01", nil).body))
	}
	before := state()
	ids := map[string]string{"work-items/{id}": "w", "claims/{id}": id, "blackboard/{id}": "e"}
	asked := 0
	for _, rt := range routes {
		if rt.methods["GET"] == nil || rt.name == "events" { // which never ends; TestEvent* read it
			continue
		}
		path := strings.Replace(rt.name, wildcard, escaped(ids[rt.name]), 1)
		for _, method := range []string{"GET", "HEAD"} {
			for who := range people {
				if r := b.do(method, path, who, nil); r.status != 200 {
					t.Errorf("%s %s as %s: %d %s", method, path, who, r.status, r.raw)
				}
			}
			if r := b.do(method, path, "", nil); r.status != 401 {
				t.Errorf("%s %s without a credential: %d", method, path, r.status)
			}
		}
		asked++
	}
	b.listen("").next()
	if after := state(); after != before || asked != 11 {
		t.Errorf("%d reads made of\n%s\nthis:\n%s", asked, before, after)
	}
}
