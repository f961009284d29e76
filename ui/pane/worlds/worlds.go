package worlds

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// Now is the instant of every world.
var Now = time.Date(2026, 5, 16, 14, 2, 7, 0, time.UTC)

// Sizes are the sizes every view must survive.
var Sizes = [][2]int{{0, 0}, {1, 1}, {3, 2}, {40, 10}, {58, 12}, {78, 20}, {80, 24}, {120, 40}, {238, 66}, {240, 70}}

// Ctx is what a screen is given to draw s in w×h cells.
func Ctx(s *fleet.State, w, h int) *screen.Ctx {
	return &screen.Ctx{State: s, Now: Now, Styles: theme.New(theme.Options{Dark: true}), W: w, H: h, Focused: true}
}

// All are the worlds by name.
func All() map[string]*fleet.State {
	return map[string]*fleet.State{
		"empty": Empty(), "one": One(), "many": Many(400, 40, 20),
		"long":    Strange(strings.Repeat("a very long text without an end ", 400)),
		"wide":    Strange("你好世界🏳️‍🌈 ⚠️ 1️⃣ नमस्ते שלום e\u0301"),
		"hostile": Strange(Hostile), "cut off": CutOff(),
	}
}

// Hostile is text that tries everything at once (B96, B99, B100).
const Hostile = "\x1b]52;c;aGk=\x07\x1b[2J\x1b[10A\x1b]0;t\x07\x1bPq#0\x1b\\\u202eevil\u2067\x9b31m\x1b[?1049l\r\nnext\tcol\x00\x08\u200b\ufeff\u2028end\x1b]8;;javascript:x\x07"

// Empty is a fresh owner with nothing in it.
func Empty() *fleet.State {
	s := fleet.New()
	live(s)
	s.Apply(fleet.SnapshotLoaded{At: Now, Snapshot: snapshot(nil, nil)})
	return s
}

func live(s *fleet.State) {
	s.Apply(fleet.LinkChanged{Link: fleet.Link{State: fleet.LinkLive, Server: "http://127.0.0.1:7420", Since: Now.Add(-time.Hour), LastSeen: Now}})
}

func snapshot(items []*acop.Item, entries []acop.Posted) *acop.Snapshot {
	return &acop.Snapshot{
		ProtocolVersion: acop.ProtocolVersion, Revision: 1842, AtUTC: acop.NewTime(Now), Identity: "lead-01", Role: acop.RoleLead,
		Items: items, Entries: entries, Settings: acop.Settings{GrantMode: acop.GrantLead},
		Closed: map[acop.Status]int{acop.StatusConsumed: 12, acop.StatusCancelled: 3},
	}
}

// Item makes a ready work item.
func Item(id string, change func(*acop.Item)) *acop.Item {
	it := &acop.Item{
		WorkItem: acop.WorkItem{
			WorkItemID: id, ProtocolVersion: acop.ProtocolVersion, WorkKind: acop.KindImplement,
			CreatedAtUTC: acop.NewTime(Now.Add(-2 * time.Hour)), Producer: "planner", Status: acop.StatusReady,
			Priority: acop.PriorityMedium, ActionabilityScore: 0.5, Title: "Do " + id, TargetRepoID: "api", TargetBranch: "main",
		},
		CreatedBy: "planner", StatusSinceUTC: ago(12 * time.Minute), UpdatedAtUTC: ago(time.Minute), Revision: 1800,
	}
	if change != nil {
		change(it)
	}
	return it
}

func ago(d time.Duration) acop.Time { return acop.NewTime(Now.Add(-d)) }

// Hold gives it a lease of 10 minutes with left remaining.
func Hold(it *acop.Item, worker string, left time.Duration, progress string) {
	const ttl = 600
	granted := Now.Add(left - ttl*time.Second)
	it.WorkItem.Status = acop.StatusInProgress
	it.Lease = &acop.Lease{
		Claim: acop.Claim{ClaimID: "claim_" + it.WorkItem.WorkItemID, WorkItemID: it.WorkItem.WorkItemID, WorkerAgentUID: worker,
			GrantedAtUTC: acop.NewTime(granted), ExpiresAtUTC: acop.NewTime(granted.Add(ttl * time.Second)), ClaimStatus: acop.ClaimActive},
		TTLSeconds: ttl, RenewedAtUTC: acop.NewTime(granted), Renewals: 2,
		HeartbeatAtUTC: ago(20 * time.Second), Progress: progress, ProgressAtUTC: ago(3 * time.Minute),
		LastHeartbeat: &acop.LeaseHeartbeat{ClaimID: "claim_" + it.WorkItem.WorkItemID, ObservedAtUTC: ago(20 * time.Second), ProgressStatus: "running", ProgressSummary: progress},
	}
}

func conf(f float64) *float64 { return &f }

// One is a small, plausible afternoon: the canonical world of the goldens.
func One() *fleet.State {
	s := fleet.New()
	live(s)
	s.Apply(fleet.SnapshotLoaded{At: Now, Snapshot: snapshot(oneItems(), oneEntries())})
	oneTasks(s)
	oneLog(s)
	return s
}

func oneItems() []*acop.Item {
	return []*acop.Item{
		Item("work:auth:token-rotation", func(i *acop.Item) {
			i.WorkItem.Status, i.WorkItem.Priority, i.WorkItem.WorkKind = acop.StatusRequiresAttention, acop.PriorityHigh, acop.KindRefactor
			i.WorkItem.Title, i.WorkItem.ActionabilityScore = "Two ways to rotate tokens; which may break v1 clients?", 0.91
			i.Blockers = []acop.Blocker{{BlockerCode: acop.BlockerExternalDecision, Severity: acop.SeverityHigh, Summary: "needs a person"}}
		}),
		Item("work:http:seam", func(i *acop.Item) {
			i.WorkItem.Title, i.WorkItem.OwnedPaths = "Cut a seam in the HTTP layer", []string{"server/http/**", "server/mux.go"}
			i.Intents = []acop.Intent{{State: acop.IntentWaiting, ClaimIntent: acop.ClaimIntent{ClaimIntentID: "int_1", WorkItemID: i.ID(), WorkerAgentUID: "worker-7", RequestedAtUTC: ago(3 * time.Minute), RequestedTTLSeconds: 600}}}
		}),
		Item("work:auth:docs", func(i *acop.Item) {
			i.WorkItem.Status, i.WorkItem.Title = acop.StatusBlocked, "Write the migration notes"
			i.Blockers = []acop.Blocker{{BlockerCode: acop.BlockerDependency, Severity: acop.SeverityMedium, DependsOnWorkItemID: "work:auth:token-rotation"}}
		}),
		Item("work:ui:table", func(i *acop.Item) {
			i.WorkItem.Title, i.WorkItem.OwnedPaths = "Align the table columns", []string{"ui/table.go"}
			Hold(i, "worker-2", 48*time.Second, "columns measured, tests next")
		}),
		Item("work:db:cache", func(i *acop.Item) {
			i.WorkItem.Title, i.WorkItem.WorkKind, i.WorkItem.Priority = "Fix the cache that forgets", acop.KindRepair, acop.PriorityUrgent
			Hold(i, "worker-9", 412*time.Second, "")
			i.WorkItem.Status = acop.StatusClaimed
		}),
		Item("work:db:index", func(i *acop.Item) {
			i.WorkItem.Status, i.WorkItem.Title = acop.StatusCompleted, "Add the missing index"
			i.ValidationRequirements = []acop.ValidationRequirement{{RequirementID: "unit"}, {RequirementID: "bench"}}
			i.Completion = &acop.Completion{CompletedBy: "worker-3", CompletedAtUTC: ago(time.Minute), Evidence: acop.CompletionEvidence{ValidationResults: []string{"unit", "bench"}}}
		}),
		Item("work:ci:cache", func(i *acop.Item) {
			i.WorkItem.Status, i.WorkItem.Title = acop.StatusAccepted, "Cache the module downloads"
			i.Acceptance = &acop.Acceptance{AcceptedBy: "lead-01", AcceptedAtUTC: ago(30 * time.Minute)}
		}),
	}
}

func oneEntries() []acop.Posted {
	e := func(rev uint64, id, item string, kind acop.EntryKind, author, summary string, age time.Duration, more func(*acop.BlackboardEntry)) acop.Posted {
		p := acop.Posted{Revision: rev, Entry: acop.BlackboardEntry{EntryID: id, WorkItemID: item, EntryKind: kind, AuthorAgentUID: author, CreatedAtUTC: ago(age), Status: acop.EntryActive, Summary: summary}}
		if more != nil {
			more(&p.Entry)
		}
		return p
	}
	return []acop.Posted{
		e(1810, "entry_1", "work:auth:token-rotation", acop.EntryHypothesis, "worker-1", "Old clients ignore the new header", 40*time.Minute, func(b *acop.BlackboardEntry) { b.Confidence = conf(0.55) }),
		e(1815, "entry_2", "work:auth:token-rotation", acop.EntryFinding, "worker-1", "Old clients fail on the new header", 25*time.Minute, func(b *acop.BlackboardEntry) {
			b.Confidence, b.SupersedesEntryIDs = conf(0.92), []string{"entry_1"}
			b.Details = "Tried with 1.4, 1.5 and 1.6.\nOnly 1.6 reads it; the others close the connection."
		}),
		e(1822, "entry_3", "work:auth:token-rotation", acop.EntryRisk, "lead-01", "Watch for sessions that outlive the key", 12*time.Minute, func(b *acop.BlackboardEntry) { b.Confidence = conf(0.86) }),
		e(1830, "entry_4", "work:db:index", acop.EntryReviewRequest, "worker-3", "Please look at the lock order", 4*time.Minute, nil),
		e(1838, "entry_5", "work:ui:table", acop.EntryPartialResult, "worker-2", "Columns line up for the board", 50*time.Second, nil),
	}
}

func oneTasks(s *fleet.State) {
	yes, no := true, false
	set := &acmp.Settings{Version: acmp.Version, Role: "provider", Features: acmp.Features{OutputStreaming: true, HeartbeatIntervalMS: 5000,
		Capabilities: []acmp.Capability{{Name: "run-tests"}, {Name: "sentiment"}}}}
	s.Apply(fleet.ProviderSeen{Provider: acmp.Provider{Name: "local", Endpoint: "http://127.0.0.1:7430/mcp", Reachable: &yes, Since: Now.Add(-time.Hour), Settings: set}, At: Now})
	s.Apply(fleet.ProviderSeen{Provider: acmp.Provider{Name: "far", Endpoint: "https://agents.example/mcp", Reachable: &no, Since: Now.Add(-9 * time.Minute), Problem: "connection refused"}, At: Now})
	task(s, "task_a7c9d2e3", "sentiment", 12*time.Second, 5*time.Second)
	beat(s, "task_a7c9d2e3", 800*time.Millisecond, 0.45, "reading reviews")
	chunk(s, "task_a7c9d2e3", 0, "text", "reading 120 reviews\n\x1b[32mok\x1b[0m 54 done\n", 700*time.Millisecond, false)
	task(s, "task_9f2b11c0", "run-tests", 40*time.Second, 5*time.Second)
	chunk(s, "task_9f2b11c0", 0, "text", "go test ./...\nok  \tsignalbox/model\t0.12s\n", 16*time.Second, false)
	task(s, "task_c1", "translate", 3*time.Minute, 0)
	chunk(s, "task_c1", 0, "json", `{"lang":"de","text":["eins","zwei"]}`, 2*time.Minute, true)
	s.Apply(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventResult, TaskID: "task_c1", At: Now.Add(-2 * time.Minute),
		Result: &acmp.Result{TaskID: "task_c1", OutputStreamed: true, TokensUsed: 1204, CostCU: "0.003", ProviderID: "prov-1"}}})
	task(s, "task_d4", "run-tests", 9*time.Minute, 5*time.Second)
	s.Apply(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventError, TaskID: "task_d4", At: Now.Add(-8 * time.Minute),
		Err: &acmp.Error{Code: acmp.CodeTimeout, Message: "no result within 60 s", Local: true}}})
}

func task(s *fleet.State, id, capability string, age, interval time.Duration) {
	ceiling := json.Number("0.01")
	p := acmp.InvokeParams{TaskID: id, Capability: capability, MaxPriceCU: &ceiling, TimeoutMS: 60000, Stream: true}
	s.Apply(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventSent, TaskID: id, At: Now.Add(-age), Provider: "local", Params: &p,
		HeartbeatInterval: interval, Deadline: Now.Add(time.Minute - age), Attempt: 1}})
}

func beat(s *fleet.State, id string, age time.Duration, progress float64, detail string) {
	s.Apply(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventHeartbeat, TaskID: id, At: Now.Add(-age), Progress: &progress, Detail: detail}})
}

func chunk(s *fleet.State, id string, seq int64, typ, data string, age time.Duration, final bool) {
	raw := json.RawMessage(data)
	if typ == "text" {
		raw, _ = json.Marshal(data)
	}
	s.Apply(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventChunk, TaskID: id, At: Now.Add(-age), Seq: seq, Chunk: acmp.Payload{Type: typ, Data: raw}, Final: final}})
}

// Chunk streams one more text chunk to a task of a world.
func Chunk(s *fleet.State, id string, seq int64, data string) {
	chunk(s, id, seq, "text", data, 0, false)
}

func oneLog(s *fleet.State) {
	s.Apply(fleet.OwnerEvent{At: Now.Add(-30 * time.Second), Event: acop.Event{Family: acop.FamilyClaimGrant, Revision: 1843, Last: true, AtUTC: ago(30 * time.Second),
		Actor: "lead-01", Verb: "grant", WorkItemID: "work:ui:table", From: acop.StatusReady, To: acop.StatusClaimed, Reason: "nobody else knows the table"}})
	s.Apply(fleet.OwnerEvent{At: Now.Add(-20 * time.Second), Event: acop.Event{Family: acop.FamilyWorkUpdate, Revision: 1844, Last: true, AtUTC: ago(20 * time.Second),
		Actor: "lead-01", Verb: string(acop.VerbRefused), RefusedVerb: "accept", Code: string(acop.CodeNotActionable), WorkItemID: "work:ui:table", Reason: "the item is in progress"}})
	act := acop.Act{Verb: acop.VerbAccept, WorkItemID: "work:db:index"}
	s.Apply(fleet.OwnAct{At: Now.Add(-10 * time.Second), ID: 1, Act: act})
	s.Apply(fleet.OwnAct{At: Now.Add(-9 * time.Second), ID: 1, Act: act, Done: true, Err: acop.Errorf(acop.CodeRevisionMismatch, "the item moved on")})
	s.Apply(fleet.OwnAct{At: Now.Add(-5 * time.Second), ID: 2, TaskID: "task_9f2b11c0", Verb: "cancel"})
}

// CutOff is One without its owner.
func CutOff() *fleet.State {
	s := One()
	s.Apply(fleet.LinkChanged{Link: fleet.Link{State: fleet.LinkDegraded, Server: "http://127.0.0.1:7420", Since: Now.Add(-14 * time.Second), LastSeen: Now.Add(-14 * time.Second), Try: 3, Problem: "connection refused"}})
	return s
}

// Many is a busy box: items work items, agents workers and tasks live tasks.
func Many(items, agents, tasks int) *fleet.State {
	s := fleet.New()
	live(s)
	all := make([]*acop.Item, items)
	open := []acop.Status{acop.StatusReady, acop.StatusReady, acop.StatusBlocked, acop.StatusRequiresAttention, acop.StatusCompleted, acop.StatusAccepted}
	for n := range all {
		all[n] = Item(fmt.Sprintf("work:area%02d:item-%05d", n%17, n), func(i *acop.Item) {
			i.WorkItem.Title = fmt.Sprintf("Number %d of the things to do in area %d", n, n%17)
			i.WorkItem.Priority = acop.Priorities()[n%4]
			i.WorkItem.WorkKind = acop.WorkKinds()[n%7]
			i.WorkItem.ActionabilityScore = float64(n%100) / 100
			i.WorkItem.OwnedPaths = []string{fmt.Sprintf("area%d/part%d/**", n%17, n)}
			i.StatusSinceUTC = ago(time.Duration(n) * time.Second)
			if n < agents {
				Hold(i, fmt.Sprintf("worker-%03d", n), time.Duration(n*7%600)*time.Second, "step 3 of 9")
				return
			}
			i.WorkItem.Status = open[n%len(open)]
			if i.WorkItem.Status == acop.StatusBlocked {
				i.Blockers = []acop.Blocker{{BlockerCode: acop.BlockerDependency, Severity: acop.SeverityLow, DependsOnWorkItemID: fmt.Sprintf("work:area%02d:item-%05d", (n-1)%17, n-1)}}
			}
		})
	}
	entries := make([]acop.Posted, min(items, 5000))
	for n := range entries {
		entries[n] = acop.Posted{Revision: uint64(n + 1), Entry: acop.BlackboardEntry{EntryID: fmt.Sprintf("entry_%d", n), WorkItemID: all[n%items].ID(),
			EntryKind: acop.EntryKinds()[n%8], AuthorAgentUID: fmt.Sprintf("worker-%03d", n%max(1, agents)), CreatedAtUTC: ago(time.Duration(len(entries)-n) * time.Second), Summary: fmt.Sprintf("Note %d about the state of things", n)}}
	}
	s.Apply(fleet.SnapshotLoaded{At: Now, Snapshot: snapshot(all, entries)})
	yes := true
	s.Apply(fleet.ProviderSeen{Provider: acmp.Provider{Name: "local", Endpoint: "stdio:provider", Reachable: &yes, Since: Now}, At: Now})
	for n := range tasks {
		id := fmt.Sprintf("task_%08x", n*2654435761%(1<<32))
		task(s, id, fmt.Sprintf("capability-%d", n%5), time.Duration(n%50)*time.Second, 5*time.Second)
		beat(s, id, time.Duration(n%16)*time.Second, float64(n%10)/10, "working")
		chunk(s, id, 0, "text", strings.Repeat("a line of output that says something\n", 300), time.Second, false)
	}
	for n := range min(items, 2000) {
		s.Apply(fleet.OwnerEvent{At: Now, Event: acop.Event{Family: acop.FamilyLeaseHeartbeat, Revision: uint64(2000 + n), Last: true, AtUTC: ago(time.Second),
			Actor: fmt.Sprintf("worker-%03d", n%max(1, agents)), Verb: "heartbeat", WorkItemID: all[n%items].ID(), Reason: "step"}})
	}
	return s
}

// Strange is a world in which every text of others is x.
func Strange(x string) *fleet.State {
	s := fleet.New()
	s.Apply(fleet.LinkChanged{Link: fleet.Link{State: fleet.LinkDegraded, Server: x, Problem: x, Since: Now}})
	var items []*acop.Item
	for n, st := range acop.Statuses() {
		items = append(items, Item(fmt.Sprint(n, x), func(i *acop.Item) {
			w := &i.WorkItem
			w.Title, w.Summary, w.Producer, w.TargetRepoID, w.TargetBranch, w.OwnedPaths = x, x, x, x, x, []string{x, x}
			if n%2 == 0 {
				w.Title = ""
			}
			w.WorkKind, w.Priority = acop.WorkKind(x), acop.Priority(x)
			i.Blockers = []acop.Blocker{{BlockerCode: x, Summary: x, DependsOnWorkItemID: x}}
			i.SupersededBy, i.Acceptance = x, &acop.Acceptance{AcceptedBy: x, Notes: x}
			i.Completion = &acop.Completion{CompletedBy: x, Evidence: acop.CompletionEvidence{ValidationResults: []string{x}}}
			i.ValidationRequirements = []acop.ValidationRequirement{{RequirementID: x, Kind: x, Summary: x}}
			if st.Held() {
				Hold(i, x, time.Minute, x)
			}
			if st == acop.StatusReady {
				i.Intents = []acop.Intent{{State: acop.IntentWaiting, ClaimIntent: acop.ClaimIntent{ClaimIntentID: x, WorkItemID: i.ID(), WorkerAgentUID: x, RequestedAtUTC: ago(time.Minute), RequestedTTLSeconds: 600, Scope: x}}}
			}
			w.Status = st
		}))
	}
	entry := acop.BlackboardEntry{EntryID: x, WorkItemID: items[0].ID(), EntryKind: acop.EntryKind(x), AuthorAgentUID: x, CreatedAtUTC: ago(0), Summary: x, Details: x, SupersedesEntryIDs: []string{x, "b"}}
	s.Apply(fleet.SnapshotLoaded{At: Now, Snapshot: snapshot(items, []acop.Posted{{Revision: 1, Entry: entry}})})
	s.Apply(fleet.ProviderSeen{Provider: acmp.Provider{Name: x, Endpoint: x, Problem: x, ProviderID: x, Settings: &acmp.Settings{Version: x, Features: acmp.Features{Capabilities: []acmp.Capability{{Name: x, PriceCU: json.Number(x)}}}}}, At: Now})
	p := acmp.InvokeParams{TaskID: x, Capability: x}
	s.Apply(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventSent, TaskID: x, At: Now, Provider: x, Params: &p, Attempt: 1, Deadline: Now.Add(time.Minute)}})
	s.Apply(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventHeartbeat, TaskID: x, At: Now, Detail: x}})
	chunk(s, x, 0, "text", x+"\n"+x, 0, false)
	s.Apply(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventError, TaskID: x, At: Now, Err: &acmp.Error{Code: 7, Message: x, Data: map[string]any{x: x}}}})
	live := acmp.InvokeParams{TaskID: "live " + x, Capability: x}
	s.Apply(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventSent, TaskID: live.TaskID, At: Now, Provider: x, Params: &live, Attempt: 1, Deadline: Now.Add(time.Minute)}})
	s.Apply(fleet.OwnerEvent{At: Now, Event: acop.Event{Family: acop.Family(x), Revision: 5000, Last: true, Actor: x, OnBehalfOf: x, Verb: x, WorkItemID: x, From: acop.Status(x), To: acop.Status(x), Reason: x, Code: x, RefusedVerb: x}})
	s.Apply(fleet.OwnAct{At: Now, ID: 1, Act: acop.Act{Verb: acop.Verb(x), WorkItemID: x, Reason: x}, Done: true, Err: acop.Errorf(acop.Code(x), "%s", x)})
	return s
}
