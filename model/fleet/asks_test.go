package fleet

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"signalbox/model/acmp"
	"signalbox/model/acop"
)

func wantAsks(t *testing.T, s *State, now time.Time, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), kinds(s.Asks(now))); diff != "" {
		t.Errorf("at +%s:\n%s", now.Sub(t0), diff)
	}
}

func TestAskDecideAcceptBlocked(t *testing.T) {
	s := New()
	attention := item("q", acop.StatusRequiresAttention)
	attention.WorkItem.Summary = "which one may break v1 clients?"
	done := item("d", acop.StatusCompleted)
	done.ValidationRequirements = []acop.ValidationRequirement{{RequirementID: "unit"}, {RequirementID: "lint"}}
	done.Completion = &acop.Completion{CompletedBy: "w", ClaimID: "c", Evidence: acop.CompletionEvidence{ValidationResults: []string{"unit"}}}
	stuck := item("b", acop.StatusBlocked)
	stuck.Blockers = []acop.Blocker{
		{BlockerCode: acop.BlockerReviewRequired, Severity: acop.SeverityLow, Summary: "look"},
		{BlockerCode: acop.BlockerExternalDecision, Severity: acop.SeverityCritical, Summary: "legal must say"},
	}
	o := newOwner(s).snapshot(attention, done, stuck,
		dependsOn(item("x", acop.StatusBlocked), "q"), dependsOn(item("y", acop.StatusBlocked), "x"), item("r", acop.StatusReady))
	wantAsks(t, s, t0, "blocked b external_decision_pending", "decide q requires_attention", "accept d completed")
	asks := s.Asks(t0)
	if a := asks[1]; a.Blocks != 2 || !strings.Contains(a.Consequence, "2 items wait") || a.Detail != attention.WorkItem.Summary || a.Revision != 1 {
		t.Errorf("%+v", a)
	}
	if a := asks[2]; a.Detail != "1/2 evidence" || a.Who != "w" {
		t.Errorf("%+v", a)
	}
	// The cause gone, the ask leaves; what waits behind it counts anew.
	before := asks
	o.event(acop.VerbResolve, item("q", acop.StatusReady), acop.StatusRequiresAttention, nil)
	wantAsks(t, s, t0, "blocked b external_decision_pending", "accept d completed")
	if gained, gone := DiffAsks(before, s.Asks(t0)); len(gained) != 0 || len(gone) != 1 || gone[0].Key != "decide:q" {
		t.Errorf("gained %v, gone %v", kinds(gained), kinds(gone))
	}
	if len(before) != 3 || before[1].Kind != AskDecide {
		t.Error("a result that was handed out has changed")
	}
	o.event(acop.VerbUnblock, item("x", acop.StatusReady), acop.StatusBlocked, nil)
	o.event(acop.VerbPut, item("q", acop.StatusRequiresAttention), "", nil)
	if a := s.Asks(t0)[2]; a.Kind != AskDecide || a.Blocks != 0 || a.Consequence != "nobody can take it up" {
		t.Errorf("%+v", a)
	}
}

func TestAskGrantRunsOutByItself(t *testing.T) {
	s := New()
	i := item("a", acop.StatusReady)
	i.WorkItem.OwnedPaths = []string{"src/http"}
	i.Intents = []acop.Intent{
		{ClaimIntent: acop.ClaimIntent{ClaimIntentID: "in1", WorkerAgentUID: "w7", RequestedAtUTC: acop.NewTime(t0)},
			State: acop.IntentWaiting, ExpiresUTC: acop.NewTime(after(15 * time.Minute))},
		{ClaimIntent: acop.ClaimIntent{ClaimIntentID: "in0"}, State: acop.IntentDenied},
	}
	o := newOwner(s).snapshot(i)
	wantAsks(t, s, t0, "grant in1 waiting")
	if a := s.Asks(t0)[0]; a.Who != "w7" || !a.Due.Equal(after(15*time.Minute)) || a.Detail != "" || a.WorkItemID != "a" {
		t.Errorf("%+v", a)
	}
	if got := s.NextChange(t0); !got.Equal(after(15 * time.Minute)) {
		t.Errorf("next change %s", got)
	}
	// Somebody takes a path that it would collide with.
	o.event(acop.VerbClaim, held("b", "w2", t0, time.Hour, "src"), acop.StatusReady, nil)
	if a := s.Asks(t0)[0]; a.Detail != "overlap 1" {
		t.Errorf("%+v", a)
	}
	if got := s.OverlapsWith(i); len(got) != 1 || got[0].WorkerAgentUID != "w2" || got[0].Paths[0] != "src/http" {
		t.Errorf("%+v", got)
	}
	wantAsks(t, s, after(15*time.Minute))
}

func TestAskLease(t *testing.T) {
	s := New()
	o := newOwner(s).snapshot(held("a", "w1", t0, 100*time.Second))
	wantAsks(t, s, after(79*time.Second))
	if got, want := nextAskChange(s, t0), after(80*time.Second); !got.Equal(want) {
		t.Errorf("next %s, want %s", got, want)
	}
	wantAsks(t, s, after(80*time.Second), "lease claim-a ending")
	wantAsks(t, s, after(100*time.Second), "lease claim-a lapsed")
	// A renewal takes it back.
	renewed := held("a", "w1", t0, 180*time.Second)
	renewed.Lease.RenewedAtUTC = acop.NewTime(after(80 * time.Second))
	o.event(acop.VerbRenew, renewed, acop.StatusInProgress, nil)
	wantAsks(t, s, after(100*time.Second))
	wantAsks(t, s, after(161*time.Second), "lease claim-a ending")
	// The owner ends it in mid-work: that stays until somebody takes the item up.
	o.now = after(181 * time.Second)
	o.event(acop.VerbExpire, item("a", acop.StatusReady), acop.StatusInProgress, func(ev *acop.Event) {
		ev.Claim = &acop.Claim{ClaimID: "claim-a", WorkItemID: "a", WorkerAgentUID: "w1", ClaimStatus: acop.ClaimExpired}
	})
	wantAsks(t, s, after(200*time.Second), "lease a lapsed")
	if a := s.Asks(after(200 * time.Second))[0]; a.Who != "w1" || !a.Since.Equal(o.now) {
		t.Errorf("%+v", a)
	}
	o.event(acop.VerbClaim, held("a", "w2", o.now, time.Hour), acop.StatusReady, nil)
	wantAsks(t, s, after(200*time.Second))
	// Given back by hand: nothing lapsed.
	o.event(acop.VerbRelease, item("a", acop.StatusReady), acop.StatusInProgress, nil)
	wantAsks(t, s, after(200*time.Second))
}

// A holder whose session ended while it holds the item is an ask at once, until it
// says otherwise.
func TestAskLeaseAtOdds(t *testing.T) {
	s := New()
	o := newOwner(s).snapshot(held("a", "w1", t0, 100*time.Second))
	say := func(at time.Time, status string) {
		o.now = at
		it := held("a", "w1", t0, 100*time.Second)
		it.Lease.LastHeartbeat = &acop.LeaseHeartbeat{ClaimID: "claim-a", ProgressStatus: status}
		it.Lease.HeartbeatAtUTC = acop.NewTime(at)
		o.event(acop.VerbHeartbeat, it, acop.StatusInProgress, nil)
	}
	say(after(10*time.Second), "working")
	wantAsks(t, s, after(20*time.Second))
	say(after(20*time.Second), acop.StatusSessionEnded)
	wantAsks(t, s, after(30*time.Second), "lease claim-a at odds")
	if a := s.Asks(after(30 * time.Second))[0]; a.Detail != "agent says session_ended, item says in_progress" || !a.Since.Equal(after(20*time.Second)) {
		t.Errorf("%+v", a)
	}
	say(after(40*time.Second), "working")
	wantAsks(t, s, after(50*time.Second))
	say(after(60*time.Second), "Done")
	wantAsks(t, s, after(81*time.Second), "lease claim-a ending")
}

// A lease is judged by the owner's clock, shown by this program's.
func TestAskLeaseWithSkew(t *testing.T) {
	s := New()
	o := newOwner(s)
	o.now = after(time.Hour) // the owner is an hour ahead
	s.Apply(SnapshotLoaded{At: t0, Snapshot: &acop.Snapshot{
		Revision: 1, AtUTC: acop.NewTime(o.now), Items: []*acop.Item{held("a", "w", o.now, 100*time.Second)},
	}})
	wantAsks(t, s, after(79*time.Second))
	wantAsks(t, s, after(80*time.Second), "lease claim-a ending")
	if a := s.Asks(after(80 * time.Second))[0]; !a.Due.Equal(after(100*time.Second)) || !a.Since.Equal(after(80*time.Second)) {
		t.Errorf("%+v", a)
	}
}

func TestLapseIsKnownFromASnapshot(t *testing.T) {
	s := New()
	i := item("a", acop.StatusReady)
	i.Attempts = 2
	newOwner(s).snapshot(i)
	wantAsks(t, s, t0, "lease a lapsed")
}

// A dashboard that begins later tells the same lapses as one that saw them, and of
// whom.
func TestSnapshotTellsTheLapsesThatWereSeen(t *testing.T) {
	last := func(status acop.ClaimStatus) *acop.Item {
		i := item("a", acop.StatusReady)
		i.Attempts = 1
		i.LastClaim = &acop.Claim{ClaimID: "claim-a", WorkItemID: "a", WorkerAgentUID: "w1", ClaimStatus: status}
		return i
	}
	expired := func(from acop.Status) []acop.Event {
		return []acop.Event{
			{Verb: string(acop.VerbExpire), WorkItemID: "a", From: acop.StatusInProgress, To: acop.StatusReady, Revision: 1, Last: true},
			{Verb: string(acop.VerbExpire), WorkItemID: "a", From: from, To: acop.StatusReady, Revision: 2, Last: true},
		}
	}
	for name, tt := range map[string]struct {
		history []acop.Event
		item    *acop.Item
		want    []string
	}{
		"in work":        {expired(acop.StatusInProgress), last(acop.ClaimExpired), []string{"lease a lapsed"}},
		"never begun":    {expired(acop.StatusClaimed), last(acop.ClaimExpired), nil},
		"long ago":       {nil, last(acop.ClaimExpired), []string{"lease a lapsed"}},
		"released since": {expired(acop.StatusInProgress), last(acop.ClaimReleased), nil},
		"taken since":    {nil, last(acop.ClaimRevoked), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := New()
			s.Apply(HistoryRead{Events: tt.history})
			newOwner(s).snapshot(tt.item)
			wantAsks(t, s, t0, tt.want...)
			if asks := s.Asks(t0); len(asks) > 0 && asks[0].Who != "w1" {
				t.Errorf("of %q", asks[0].Who)
			}
		})
	}
}

func TestAskReview(t *testing.T) {
	s := New()
	o := newOwner(s).snapshot(item("a", acop.StatusInProgress), item("b", acop.StatusReady))
	o.post("e1", "a", acop.EntryReviewRequest, "w1")
	o.now = after(time.Second)
	o.post("e2", "a", acop.EntryReviewRequest, "w1")
	wantAsks(t, s, t0, "review e1 review_request", "review e2 review_request")
	o.post("e3", "a", acop.EntryReviewRequest, "w1", "e1") // asked anew
	wantAsks(t, s, t0, "review e2 review_request", "review e3 review_request")
	o.post("e4", "a", acop.EntryDecision, "w1") // one cannot answer oneself
	o.post("e5", "b", acop.EntryDecision, "lead-01")
	wantAsks(t, s, t0, "review e2 review_request", "review e3 review_request")
	o.post("e6", "a", acop.EntryDecision, "lead-01")
	wantAsks(t, s, t0)
	o.post("e7", "a", acop.EntryReviewRequest, "w1")
	wantAsks(t, s, t0, "review e7 review_request")
	o.event(acop.VerbCancel, item("a", acop.StatusCancelled), acop.StatusInProgress, nil)
	wantAsks(t, s, t0)
}

func TestAskOverlap(t *testing.T) {
	s := New()
	o := newOwner(s).snapshot(held("a", "w1", t0, time.Hour, "src/auth"))
	o.event(acop.VerbClaim, held("b", "w2", after(time.Second), time.Hour, "src/**/*.go"), acop.StatusReady, nil)
	o.event(acop.VerbClaim, held("c", "w3", after(time.Second), time.Hour, "docs"), acop.StatusReady, nil)
	wantAsks(t, s, after(time.Second), "overlap b overlap")
	if a := s.Asks(after(time.Second))[0]; a.Who != "w1, w2" || a.Severity != SeverityHigh || a.ClaimID != "claim-b" {
		t.Errorf("%+v", a)
	}
	if got := s.ConflictsOf("a"); len(got) != 1 || got[0].ItemB != "b" {
		t.Errorf("%+v", got)
	}
	// Renewing does not make it a new ask; ending one claim makes it leave.
	key := s.Asks(after(time.Second))[0].Key
	renewed := held("b", "w2", after(time.Second), 2*time.Hour, "src/**/*.go")
	o.event(acop.VerbRenew, renewed, acop.StatusInProgress, nil)
	if a := s.Asks(after(time.Second)); len(a) != 1 || a[0].Key != key {
		t.Errorf("%v", kinds(a))
	}
	o.event(acop.VerbRevoke, item("b", acop.StatusReady), acop.StatusInProgress, nil)
	wantAsks(t, s, after(time.Second))
	if len(s.Conflicts()) != 0 {
		t.Errorf("%+v", s.Conflicts())
	}
}

// Five claims in one path are four asks, one for each that could have waited. An ask
// stays the same while those it met come and go, tells that they did, and leaves with
// the last.
func TestAskOverlapOfMany(t *testing.T) {
	s := New()
	o := newOwner(s).snapshot(dependsOn(item("x", acop.StatusBlocked), "a"), dependsOn(item("y", acop.StatusBlocked), "x"))
	claim := func(id, worker string, at time.Time, paths ...string) {
		o.event(acop.VerbClaim, held(id, worker, at, time.Hour, paths...), acop.StatusReady, nil)
	}
	free := func(id string) {
		o.event(acop.VerbRelease, item(id, acop.StatusReady), acop.StatusInProgress, nil)
	}
	ask := func() Ask {
		t.Helper()
		for _, a := range s.Asks(after(time.Minute)) {
			if a.WorkItemID == "b" {
				return a
			}
		}
		t.Fatalf("no ask: %v", kinds(s.Asks(after(time.Minute))))
		return Ask{}
	}
	for i, id := range []string{"d", "a", "c", "e", "b"} { // b is the last
		claim(id, "w-"+id, after(time.Duration(i)*time.Second), "src/auth", "only/"+id)
	}
	wantAsks(t, s, after(time.Minute), "overlap a overlap", "overlap c overlap", "overlap e overlap", "overlap b overlap")
	was := ask()
	if was.With != strings.Join([]string{"d", "a", "c", "e"}, WithSep) || was.Who != "w-d, w-a, w-c, w-e, w-b" || was.Detail != "src/auth" || was.Blocks != 2 {
		t.Errorf("%+v", was)
	}
	renewed := held("a", "w-a", after(time.Second), 2*time.Hour, "src/auth", "only/a")
	o.event(acop.VerbRenew, renewed, acop.StatusInProgress, nil)
	if a := ask(); a != was {
		t.Errorf("a renewal changed it: %+v", a)
	}
	free("d")
	left := ask()
	if left.Key != was.Key || left.With == was.With || strings.HasPrefix(left.With, "d") {
		t.Errorf("%+v", left)
	}
	claim("d", "w-d", after(10*time.Second), "src/auth") // now it is the later one
	if a := ask(); a != left {
		t.Errorf("a claim that came later changed it: %+v", a)
	}
	wantAsks(t, s, after(time.Minute), "overlap c overlap", "overlap e overlap", "overlap b overlap", "overlap d overlap")
	for _, id := range []string{"a", "c"} {
		free(id)
	}
	if a := ask(); a.Key != was.Key || a.With != "e" || a.Blocks != 0 {
		t.Errorf("%+v", a)
	}
	free("e")
	wantAsks(t, s, after(time.Minute), "overlap d overlap")
}

func TestAskTask(t *testing.T) {
	s := New()
	sent(s, "t", t0, time.Second, 100*time.Second)
	wantAsks(t, s, after(3*time.Second))
	wantAsks(t, s, after(3*time.Second+1), "task t dead")
	chunk(s, "t", 0, "x") // a sign, at +1 s
	wantAsks(t, s, after(4*time.Second))
	wantAsks(t, s, after(4*time.Second+1), "task t dead")
	task(s, acmp.EventHeartbeat, "t", after(79*time.Second), nil)
	wantAsks(t, s, after(79*time.Second))
	task(s, acmp.EventHeartbeat, "t", after(80*time.Second), nil)
	wantAsks(t, s, after(80*time.Second), "task t deadline")
	task(s, acmp.EventCancelRequested, "t", after(81*time.Second), nil)
	task(s, acmp.EventHeartbeat, "t", after(86*time.Second), nil)
	wantAsks(t, s, after(86*time.Second), "task t cancel")
	task(s, acmp.EventError, "t", after(87*time.Second), func(ev *acmp.TaskEvent) { ev.Err = &acmp.Error{Code: acmp.CodeCancelled} })
	wantAsks(t, s, after(200*time.Second))
}

// B30, A-132, A-135: the buyer tells of silence at two intervals; dead is what was
// silent for more than three, here as everywhere.
func TestStalledIsNotDead(t *testing.T) {
	s := New()
	sent(s, "t", t0, time.Second, 100*time.Second)
	task(s, acmp.EventStalled, "t", after(2*time.Second), nil)
	wantAsks(t, s, after(2*time.Second))
	wantAsks(t, s, after(3*time.Second))
	if next, want := nextAskChange(s, after(2*time.Second+1)), after(3*time.Second+1); !next.Equal(want) {
		t.Errorf("next change at +%s, want +%s", next.Sub(t0), want.Sub(t0))
	}
	wantAsks(t, s, after(3*time.Second+1), "task t dead")
}

// without an interval there is no verdict.
func TestNoVerdictWithoutInterval(t *testing.T) {
	s := New()
	sent(s, "t", t0, 0, 100*time.Second)
	wantAsks(t, s, after(79*time.Second))
}

func TestAskEndedTasks(t *testing.T) {
	s := New()
	end := func(id string, kind acmp.EventKind, change func(*acmp.TaskEvent)) {
		sent(s, id, t0, 0, time.Minute)
		task(s, kind, id, t0, change)
	}
	ceiling := json.Number("0.1")
	end("ok", acmp.EventResult, func(ev *acmp.TaskEvent) { ev.ProofCheck = acmp.ProofMatches })
	end("1over", acmp.EventResult, func(ev *acmp.TaskEvent) { ev.Overcharge = "0.2" })
	end("2proof", acmp.EventResult, func(ev *acmp.TaskEvent) { ev.ProofCheck = acmp.ProofDiffers })
	end("3broken", acmp.EventError, func(ev *acmp.TaskEvent) { ev.Err = &acmp.Error{Code: acmp.CodeInternal, Local: true, Message: "gap"} })
	sent(s, "4budget", t0, 0, time.Minute)
	s.Tasks["4budget"].Params.MaxPriceCU = &ceiling
	task(s, acmp.EventError, "4budget", t0, func(ev *acmp.TaskEvent) {
		ev.Err = &acmp.Error{Code: acmp.CodeBudgetExceeded, Data: map[string]any{"min_price_cu": 0.5}}
	})
	end("5late", acmp.EventError, func(ev *acmp.TaskEvent) { ev.Err = &acmp.Error{Code: acmp.CodeTimeout, Local: true} })
	wantAsks(t, s, t0, "task 1over overcharge", "task 2proof proof", "task 3broken violation", "budget 4budget budget", "task 5late failed")
	if a := s.Asks(t0)[3]; a.Detail != "asks for 0.5 CU against a ceiling of 0.1 CU" {
		t.Errorf("%+v", a)
	}
	// Taken note of, it stays away.
	a := s.Asks(t0)[4]
	s.Apply(Settled{Key: a.Key, Revision: a.Revision, Reason: a.Reason, At: t0})
	wantAsks(t, s, t0, "task 1over overcharge", "task 2proof proof", "task 3broken violation", "budget 4budget budget")
}

func TestAskUnreachable(t *testing.T) {
	s := New()
	no, yes := false, true
	s.Apply(LinkChanged{Link{State: LinkDegraded, Server: "https://owner", Since: t0, Problem: "connection refused"}})
	s.Apply(ProviderSeen{Provider: acmp.Provider{Name: "p", Reachable: &no, Since: t0, Problem: "no route"}, At: t0})
	wantAsks(t, s, t0, "unreachable https://owner degraded", "unreachable p provider")
	sent(s, "t", t0, 0, time.Hour)
	if a := s.Asks(t0)[1]; a.Severity != SeverityHigh || a.Consequence != "its running task will fail at its deadline" {
		t.Errorf("%+v", a)
	}
	sent(s, "u", t0, 0, time.Hour)
	if a := s.Asks(t0)[1]; a.Consequence != "its 2 running tasks will fail at their deadlines" {
		t.Errorf("%+v", a)
	}
	s.Apply(LinkChanged{Link{State: LinkLive}})
	s.Apply(ProviderSeen{Provider: acmp.Provider{Name: "p", Reachable: &yes, Since: t0}, At: t0})
	wantAsks(t, s, t0)
	s.Apply(LinkChanged{Link{State: LinkRefused, Since: t0}})
	if a := s.Asks(t0)[0]; a.Severity != SeverityCritical {
		t.Errorf("%+v", a)
	}
}

// Idle costs nothing: the same slice comes back and nothing is due.
func TestAskCacheIsKept(t *testing.T) {
	s := New()
	newOwner(s).snapshot(item("q", acop.StatusRequiresAttention), item("r", acop.StatusReady))
	a, b := s.Asks(t0), s.Asks(after(time.Hour))
	if &a[0] != &b[0] {
		t.Error("derived again although nothing could change")
	}
	if !s.NextChange(t0).IsZero() {
		t.Errorf("next change at %s although nothing moves", s.NextChange(t0))
	}
	if n := testing.AllocsPerRun(100, func() { s.Asks(after(time.Hour)) }); n != 0 {
		t.Errorf("%v allocations when nothing changed", n)
	}
}

// Whatever happens, in whatever order and whenever one looks: the cached asks
// are those that a fresh State of the same facts derives, and they are ranked.
func TestAsksEqualAFreshDerivation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New()
		o := newOwner(s).snapshot()
		facts := []Fact{SnapshotLoaded{At: t0, Snapshot: &acop.Snapshot{Revision: 1, AtUTC: acop.NewTime(t0), Identity: "lead-01", Role: acop.RoleLead}}}
		now := t0
		keep := func(f Fact) { facts = append(facts, f) }
		for n := range rapid.IntRange(1, 25).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "pause")) * time.Second)
			o.now = now
			id := fmt.Sprintf("i%d", rapid.IntRange(0, 3).Draw(t, "item"))
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				it := item(id, rapid.SampledFrom(acop.Statuses()).Draw(t, "status"))
				it.WorkItem.Priority = rapid.SampledFrom(acop.Priorities()).Draw(t, "priority")
				keep(OwnerEvent{Event: o.event(acop.VerbPut, dependsOn(it, "i0"), "", nil), At: now})
			case 1:
				it := held(id, "w", now, 40*time.Second, "src/"+id, "doc")
				keep(OwnerEvent{Event: o.event(acop.VerbClaim, it, acop.StatusReady, nil), At: now})
			case 2:
				it := item(id, acop.StatusReady)
				it.WorkItem.OwnedPaths = []string{"doc/x"}
				it.Intents = []acop.Intent{{ClaimIntent: acop.ClaimIntent{ClaimIntentID: "in" + id}, State: acop.IntentWaiting,
					ExpiresUTC: acop.NewTime(now.Add(20 * time.Second))}}
				keep(OwnerEvent{Event: o.event(acop.VerbIntent, it, "", nil), At: now})
			case 3:
				ev := acop.Event{Revision: o.rev + 1, AtUTC: acop.NewTime(now), Verb: "post", WorkItemID: id, Entry: &acop.BlackboardEntry{
					EntryID: fmt.Sprint("e", n), WorkItemID: id, EntryKind: rapid.SampledFrom([]acop.EntryKind{acop.EntryReviewRequest, acop.EntryDecision}).Draw(t, "kind"),
					AuthorAgentUID: rapid.SampledFrom([]string{"w", "lead"}).Draw(t, "author"), Status: acop.EntryActive}}
				o.rev++
				s.Apply(OwnerEvent{Event: ev, At: now})
				keep(OwnerEvent{Event: ev, At: now})
			case 4:
				f := TaskHappened{Event: acmp.TaskEvent{Kind: rapid.SampledFrom(acmp.EventKinds()).Draw(t, "event"), TaskID: "t" + id, Provider: "p", At: now,
					HeartbeatInterval: 4 * time.Second, Deadline: now.Add(time.Minute), Params: &acmp.InvokeParams{TaskID: "t" + id}}}
				s.Apply(f)
				keep(f)
			}
			if rapid.Bool().Draw(t, "look") {
				s.Asks(now)
			}
		}
		for range 4 {
			fresh := New()
			for _, f := range facts {
				fresh.Apply(f)
			}
			got, want := s.Asks(now), fresh.Asks(now)
			if !slices.Equal(want, got) {
				t.Fatalf("cached differs from fresh:\n%s", cmp.Diff(want, got))
			}
			if !slices.IsSortedFunc(got, func(a, b Ask) int { return rank(&a, &b) }) {
				t.Fatalf("not in rank order: %v", kinds(got))
			}
			keys := map[string]bool{}
			for _, a := range got {
				if keys[a.Key] || a.Title == "" || a.Consequence == "" || a.Reason == "" || a.Target.ID == "" {
					t.Fatalf("%+v", a)
				}
				keys[a.Key] = true
			}
			// Until the next change nothing changes.
			next := nextAskChange(s, now)
			if next.IsZero() {
				return
			}
			if just := s.Asks(next.Add(-1)); !slices.Equal(got, just) {
				t.Fatalf("changed before the announced instant:\n%s", cmp.Diff(got, just))
			}
			now = next
		}
	})
}
