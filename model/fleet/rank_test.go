package fleet

import (
	"slices"
	"testing"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
)

// Asks of all ten kinds at once stand in the order of the one rule: severity first,
// then how many open items wait over any number of steps, then age.
func TestTenKindsInRankOrder(t *testing.T) {
	s := New()
	at := func(i *acop.Item, age time.Duration) *acop.Item {
		i.StatusSinceUTC = acop.NewTime(t0.Add(-age))
		return i
	}
	with := func(i *acop.Item, p acop.Priority) *acop.Item { i.WorkItem.Priority = p; return i }
	stuck := at(item("blocked", acop.StatusBlocked), time.Minute)
	stuck.Blockers = []acop.Blocker{{BlockerCode: acop.BlockerExternalDecision, Severity: acop.SeverityCritical}}
	asked := item("grant", acop.StatusReady)
	asked.Intents = []acop.Intent{{ClaimIntent: acop.ClaimIntent{ClaimIntentID: "in", WorkerAgentUID: "w", RequestedAtUTC: acop.NewTime(after(-3 * time.Minute))},
		State: acop.IntentWaiting, ExpiresUTC: acop.NewTime(after(time.Hour))}}
	reviewed := with(item("review", acop.StatusReady), acop.PriorityLow)
	o := newOwner(s).snapshot(
		at(with(item("urgent", acop.StatusRequiresAttention), acop.PriorityUrgent), time.Second),
		at(item("chain", acop.StatusRequiresAttention), time.Second),
		dependsOn(item("link", acop.StatusBlocked), "chain"), dependsOn(item("end", acop.StatusBlocked), "link"),
		at(item("step", acop.StatusCompleted), time.Second), dependsOn(item("after", acop.StatusBlocked), "step"),
		at(item("old", acop.StatusCompleted), time.Hour), stuck, asked, reviewed,
		held("lease", "w1", after(-9*time.Minute), 10*time.Minute),
		held("over-a", "w2", after(-20*time.Minute), time.Hour, "src"), held("over-b", "w3", after(-10*time.Minute), time.Hour, "src"),
	)
	o.post("e", "review", acop.EntryReviewRequest, "w")
	sent(s, "dead", after(-time.Minute), time.Second, time.Hour)
	sent(s, "dear", after(-2*time.Minute), 0, time.Hour)
	task(s, acmp.EventError, "dear", after(-90*time.Second), func(ev *acmp.TaskEvent) { ev.Err = &acmp.Error{Code: acmp.CodeBudgetExceeded} })
	s.Apply(LinkChanged{Link{State: LinkDegraded, Server: "owner", Since: after(-10 * time.Second)}})
	wantAsks(t, s, t0,
		"blocked blocked external_decision_pending",                      // critical
		"overlap over-b overlap",                                         // high, 10 min
		"unreachable owner degraded", "decide urgent requires_attention", // high, 10 s, 1 s
		"decide chain requires_attention",          // medium, two wait over two steps
		"accept step completed",                    // medium, one waits
		"accept old completed", "grant in waiting", // medium, an hour, 3 min
		"budget dear budget", "lease claim-lease ending", "task dead dead", // 90 s, 1 min, 1 min
		"review e review_request", // low
	)
	var have []AskKind
	for _, a := range s.Asks(t0) {
		have = append(have, a.Kind)
	}
	for _, k := range AskKinds() {
		if !slices.Contains(have, k) {
			t.Errorf("no ask of kind %s", k)
		}
	}
}

// What waits for one thing alone becomes ready when that is accepted; what waits for
// more, or is not blocked, does not, and says why.
func TestAfterAccept(t *testing.T) {
	s := New()
	more := dependsOn(item("more", acop.StatusBlocked), "a", "b")
	more.Blockers = append(more.Blockers, acop.Blocker{BlockerCode: acop.BlockerReviewRequired})
	newOwner(s).snapshot(item("a", acop.StatusCompleted), item("b", acop.StatusReady),
		dependsOn(item("free", acop.StatusBlocked), "a"), more, dependsOn(item("ask", acop.StatusRequiresAttention), "a"))
	ready, waiting := s.AfterAccept("a")
	if !slices.Equal(ready, []string{"free"}) || len(waiting) != 2 ||
		waiting[0].ID != "ask" || len(waiting[0].For) != 0 || waiting[0].Status != acop.StatusRequiresAttention ||
		waiting[1].ID != "more" || !slices.Equal(waiting[1].For, []string{"b", acop.BlockerReviewRequired}) {
		t.Errorf("ready %v, waiting %+v", ready, waiting)
	}
	if ready, waiting = s.AfterAccept("b"); len(ready) != 0 || len(waiting) != 1 {
		t.Errorf("ready %v, waiting %+v", ready, waiting)
	}
}
