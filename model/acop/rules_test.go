package acop

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at(s string) Time {
	t, err := ParseTime("2026-05-16T" + s + "Z")
	if err != nil {
		panic(err)
	}
	return t
}

// C-067, C-070, D-44, D-57.
func TestActionable(t *testing.T) {
	for _, c := range []struct {
		name string
		w    WorkItem
		want bool
	}{
		{"open to all", WorkItem{Status: StatusReady}, true},
		{"target", WorkItem{Status: StatusReady, TargetAgentUID: "x"}, true},
		{"other target", WorkItem{Status: StatusReady, TargetAgentUID: "y"}, false},
		{"other target, participant", WorkItem{Status: StatusReady, TargetAgentUID: "y", ParticipantAgentUIDs: []string{"x"}}, false},
		{"participant", WorkItem{Status: StatusReady, ParticipantAgentUIDs: []string{"y", "x"}}, true},
		{"other participants", WorkItem{Status: StatusReady, ParticipantAgentUIDs: []string{"y"}}, false},
		{"released", WorkItem{Status: StatusReleased}, false},
		{"asks for a decision", WorkItem{Status: StatusRequiresAttention}, false},
		{"held", WorkItem{Status: StatusClaimed, TargetAgentUID: "x"}, false},
	} {
		i := &Item{WorkItem: c.w, Blockers: []Blocker{{BlockerCode: BlockerReviewRequired}}}
		if got := Actionable(i, "x"); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if Claimable(i) != (c.w.Status == StatusReady) {
			t.Errorf("%s: claimable", c.name)
		}
	}
}

// C-068.
func TestBetween(t *testing.T) {
	i := &Item{WorkItem: WorkItem{Producer: "p", TargetAgentUID: "t", ParticipantAgentUIDs: []string{"a", "b"}}}
	for _, c := range []struct {
		a, b string
		want bool
	}{{"p", "t", true}, {"a", "b", true}, {"b", "p", true}, {"p", "z", false}, {"", "p", false}} {
		if got := Between(i, c.a, c.b); got != c.want {
			t.Errorf("between %q and %q: %v", c.a, c.b, got)
		}
	}
}

func TestPickupOrder(t *testing.T) {
	mk := func(id, created string, score float64, p Priority) *Item {
		return &Item{WorkItem: WorkItem{WorkItemID: id, CreatedAtUTC: at(created), ActionabilityScore: score, Priority: p}}
	}
	items := []*Item{
		mk("b", "10:00:00", 0.5, PriorityHigh), mk("a", "10:00:00", 0.5, PriorityLow),
		mk("c", "10:00:00", 0.9, PriorityUrgent), mk("d", "11:00:00", 0.1, PriorityHigh),
	}
	for _, c := range []struct {
		name string
		less func(a, b *Item) int
		want string
	}{{"latest", Latest, "dcab"}, {"score", ByScore, "cabd"}, {"priority", ByPriority, "cdba"}} {
		got := slices.Clone(items)
		slices.SortFunc(got, c.less)
		var ids strings.Builder
		for _, i := range got {
			ids.WriteString(i.ID())
		}
		if ids.String() != c.want {
			t.Errorf("%s: %s, want %s", c.name, ids.String(), c.want)
		}
	}
}

// C-030, C-031, D-52.
func TestMatchEvidence(t *testing.T) {
	i := &Item{ValidationRequirements: []ValidationRequirement{
		{RequirementID: "unit", ArtifactIDs: []string{"art-1", "art-2"}}, {RequirementID: "lint"},
	}}
	if m := i.Evidence(); m.Complete() || m.Met != 0 {
		t.Errorf("before completion: %+v", m)
	}
	i.Completion = &Completion{Evidence: CompletionEvidence{
		ValidationResults: []string{"lint", "extra"}, ArtifactIDs: []string{"art-2"},
	}}
	want := EvidenceMatch{
		Rows: []EvidenceRow{
			{Requirement: i.ValidationRequirements[0], Artifacts: []string{"art-2"}},
			{Requirement: i.ValidationRequirements[1], Met: true},
		},
		Met: 1, Extra: []string{"extra"},
	}
	if diff := cmp.Diff(want, i.Evidence()); diff != "" {
		t.Error(diff)
	}
	if !MatchEvidence(&Item{}, CompletionEvidence{}).Complete() {
		t.Error("no requirement needs no evidence")
	}
	if got := i.MissingEvidence(i.Completion.Evidence); !slices.Equal(got, []string{"unit"}) {
		t.Errorf("missing: %v", got)
	}
}

func itemIn(st Status) *Item {
	i := &Item{WorkItem: WorkItem{WorkItemID: "w", Status: st}, CreatedBy: "maker"}
	if st.Held() {
		i.Lease = &Lease{Claim: Claim{WorkerAgentUID: "holder", ClaimStatus: ClaimActive}}
	}
	if st == StatusCompleted || st == StatusAccepted {
		i.Completion = &Completion{CompletedBy: "holder"}
	}
	if st == StatusAccepted {
		i.Acceptance = &Acceptance{AcceptedBy: "taker"}
	}
	return i
}

// C-066: a lead is offered exactly what the state allows.
func TestLegalByState(t *testing.T) {
	want := map[Verb][]Status{
		VerbClaim:     {StatusReady},
		VerbRevoke:    {StatusClaimed, StatusInProgress},
		VerbRenew:     {StatusClaimed, StatusInProgress},
		VerbRelease:   {StatusClaimed, StatusInProgress},
		VerbComplete:  {StatusClaimed, StatusInProgress},
		VerbHeartbeat: {StatusClaimed, StatusInProgress},
		VerbAccept:    {StatusCompleted},
		VerbSendBack:  {StatusCompleted},
		VerbResolve:   {StatusRequiresAttention},
		VerbBlock:     {StatusReady, StatusBlocked},
		VerbUnblock:   {StatusBlocked},
		VerbRequeue:   {StatusReleased},
		VerbConsume:   {StatusAccepted},
		VerbGrant:     nil,
		VerbDeny:      nil,
		VerbPost:      Statuses(),
		VerbPut:       Statuses(),
		VerbSettings:  Statuses(),
		VerbCancel: {StatusReady, StatusRequiresAttention, StatusBlocked, StatusClaimed, StatusInProgress,
			StatusCompleted, StatusAccepted, StatusReleased},
		VerbExpire: nil, VerbRefused: nil,
	}
	want[VerbSupersede] = want[VerbCancel]
	for verb, states := range want {
		for _, st := range Statuses() {
			ok, reason := Legal(itemIn(st), RoleLead, "lead-01", verb)
			if ok != slices.Contains(states, st) {
				t.Errorf("%s on %s: %v (%s)", verb, st, ok, reason)
			}
			if ok != (reason == "") {
				t.Errorf("%s on %s: ok %v with reason %q", verb, st, ok, reason)
			}
		}
	}
}

// D.4, D-24, C-060: who may.
func TestLegalByRole(t *testing.T) {
	for _, c := range []struct {
		name string
		st   Status
		role Role
		self string
		verb Verb
		ok   bool
		say  string
	}{
		{"reader looks", StatusReady, RoleReader, "r", VerbPost, false, "may only look"},
		{"unknown role", StatusReady, "", "r", VerbPost, false, "may only look"},
		{"worker claims", StatusReady, RoleWorker, "w", VerbClaim, true, ""},
		{"producer claims", StatusReady, RoleProducer, "p", VerbClaim, false, "producer"},
		{"held", StatusInProgress, RoleLead, "l", VerbClaim, false, "in_progress by holder"},
		{"worker revokes", StatusClaimed, RoleWorker, "holder", VerbRevoke, false, "only a lead"},
		{"holder renews", StatusClaimed, RoleWorker, "holder", VerbRenew, true, ""},
		{"other renews", StatusClaimed, RoleWorker, "w", VerbRenew, false, "belongs to holder"},
		{"orchestrator on behalf", StatusClaimed, RoleOrchestrator, "o", VerbComplete, true, ""},
		{"worker resolves", StatusRequiresAttention, RoleWorker, "w", VerbResolve, false, "only a lead"},
		{"maker cancels", StatusReady, RoleProducer, "maker", VerbCancel, true, ""},
		{"other cancels", StatusReady, RoleWorker, "w", VerbCancel, false, "creator"},
		{"own work", StatusCompleted, RoleWorker, "holder", VerbAccept, false, "somebody else"},
		{"own work as lead", StatusCompleted, RoleLead, "holder", VerbAccept, false, "somebody else"},
		{"another accepts", StatusCompleted, RoleWorker, "w", VerbAccept, true, ""},
		{"acceptor consumes", StatusAccepted, RoleWorker, "taker", VerbConsume, true, ""},
		{"other consumes", StatusAccepted, RoleWorker, "w", VerbConsume, false, "accepted it"},
		{"worker freezes", StatusReady, RoleWorker, "w", VerbSettings, false, "only a lead"},
		{"closed", StatusCancelled, RoleLead, "l", VerbCancel, false, "closed for good; it is cancelled"},
	} {
		ok, reason := Legal(itemIn(c.st), c.role, c.self, c.verb)
		if ok != c.ok || !strings.Contains(reason, c.say) {
			t.Errorf("%s: %v, %q", c.name, ok, reason)
		}
	}
	if ok, reason := Legal(nil, RoleLead, "l", VerbCancel); ok || reason == "" {
		t.Error("an act on nothing is not legal")
	}
	if ok, _ := Legal(nil, RoleWorker, "w", VerbPut); !ok {
		t.Error("a new item needs none before it")
	}
}

func TestLegalIntents(t *testing.T) {
	i := itemIn(StatusReady)
	i.Intents = []Intent{
		{ClaimIntent: ClaimIntent{ClaimIntentID: "old"}, State: IntentDenied},
		{ClaimIntent: ClaimIntent{ClaimIntentID: "new"}, State: IntentWaiting},
	}
	for _, v := range []Verb{VerbGrant, VerbDeny} {
		if ok, reason := Legal(i, RoleLead, "l", v); !ok {
			t.Errorf("%s: %s", v, reason)
		}
		if ok, _ := Legal(i, RoleWorker, "w", v); ok {
			t.Errorf("a worker may %s", v)
		}
	}
	if got := i.WaitingIntent().ClaimIntent.ClaimIntentID; got != "new" {
		t.Errorf("waiting: %s", got)
	}
	if i.Intent("old") == nil || i.Intent("x") != nil {
		t.Error("Intent by id")
	}
	i.WorkItem.Status = StatusBlocked
	if ok, _ := Legal(i, RoleLead, "l", VerbGrant); ok {
		t.Error("a blocked item cannot be granted (C-055)")
	}
	if ok, _ := Legal(i, RoleLead, "l", VerbDeny); !ok {
		t.Error("a request can be denied whatever the item's state")
	}
}

// D-54, H-008.
func TestTime(t *testing.T) {
	for in, want := range map[string]string{
		"2026-05-16T19:13:02Z":            "2026-05-16T19:13:02.000Z",
		"2026-05-16T19:13:02.5Z":          "2026-05-16T19:13:02.500Z",
		"2026-05-16T19:13:02.123999999Z":  "2026-05-16T19:13:02.123Z",
		"2026-05-16T19:13:02+00:00":       "",
		"2026-05-16t19:13:02Z":            "",
		"2026-05-16T19:13:02z":            "",
		"2026-05-16T19:13:02":             "",
		"2026-05-16T19:13:02.Z":           "",
		"2026-05-16T19:13:02,5Z":          "",
		"2026-02-30T19:13:02Z":            "",
		"2026-05-16T25:13:02Z":            "",
		"2026-05-16T19:13:02.1234567890Z": "",
		"":                                "",
	} {
		got, err := ParseTime(in)
		if got.String() != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	if NewTime(time.Time{}).String() != "" || !NewTime(time.Time{}).IsZero() {
		t.Error("the zero instant stays unknown")
	}
}

// The hand-written form is the layout's, at every instant, and takes no memory.
func TestTimeForm(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		at := NewTime(time.Unix(r.Int64N(253402300800), r.Int64N(1e9)))
		if r.IntN(10) == 0 {
			at = NewTime(time.Date(r.IntN(14000)-2000, 3, 1, 0, 0, 0, 0, time.UTC))
		}
		if want := at.Std().Format(timeLayout); !at.IsZero() && at.String() != want {
			t.Fatalf("%q, want %q", at, want)
		}
	}
	at, buf := NewTime(time.Unix(1e9, 0)), make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { buf, _ = at.AppendText(buf[:0]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A copy shares nothing that is ever edited in place.
func TestCloneIsDeep(t *testing.T) {
	i := itemIn(StatusInProgress)
	i.Lease.LastHeartbeat = &LeaseHeartbeat{ProgressSummary: "half"}
	i.Completion, i.Acceptance = &Completion{CompletedBy: "a"}, &Acceptance{AcceptedBy: "b"}
	i.Blockers = []Blocker{{BlockerCode: "x"}}
	i.Intents = []Intent{{State: IntentWaiting}}
	i.WorkItem.OwnedPaths = []string{"src"}
	c := i.Clone()
	if diff := cmp.Diff(i, c, cmp.AllowUnexported(Time{})); diff != "" {
		t.Fatalf("the copy differs:\n%s", diff)
	}
	c.Lease.LastHeartbeat.ProgressSummary = "all"
	c.Lease.Renewals = 9
	c.Completion.CompletedBy, c.Acceptance.AcceptedBy = "z", "z"
	c.Blockers[0].BlockerCode, c.Intents[0].State, c.WorkItem.OwnedPaths[0] = "z", IntentDenied, "z"
	if i.Lease.LastHeartbeat.ProgressSummary != "half" || i.Lease.Renewals != 0 || i.Completion.CompletedBy != "a" ||
		i.Acceptance.AcceptedBy != "b" || i.Blockers[0].BlockerCode != "x" || i.Intents[0].State != IntentWaiting ||
		i.WorkItem.OwnedPaths[0] != "src" {
		t.Error("changing the copy changed the original")
	}
}
