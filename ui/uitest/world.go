package uitest

import (
	"encoding/json"
	"fmt"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/fleet"
)

// Noon is the instant at which the fake world stands: 14:02 UTC on some day.
var Noon = time.Date(2026, 5, 16, 14, 2, 0, 0, time.UTC)

// Item makes a work item of the fake world.
func Item(id, title string, status acop.Status, rev uint64, now time.Time) *acop.Item {
	at := acop.NewTime(now.Add(-12 * time.Minute))
	return &acop.Item{
		WorkItem: acop.WorkItem{
			WorkItemID: id, ProtocolVersion: acop.ProtocolVersion, WorkKind: acop.KindImplement, CreatedAtUTC: at,
			Producer: "planner", Status: status, Priority: acop.PriorityHigh, ActionabilityScore: 0.91, Title: title,
			Summary: "What is to be done, in a sentence that is long enough to be wrapped on a narrow screen.",
		},
		CreatedBy: "planner", SubmittedStatus: acop.StatusReady, StatusSinceUTC: at, UpdatedAtUTC: at, Revision: rev,
	}
}

// Lease gives it a live claim with ttl, granted ago before now.
func Lease(it *acop.Item, worker string, ttl, ago time.Duration, now time.Time) *acop.Item {
	granted := acop.NewTime(now.Add(-ago))
	it.Lease = &acop.Lease{
		Claim: acop.Claim{
			ClaimID: "claim:" + it.ID(), WorkItemID: it.ID(), WorkerAgentUID: worker,
			GrantedAtUTC: granted, ExpiresAtUTC: granted.Add(ttl), ClaimStatus: acop.ClaimActive,
		},
		TTLSeconds: int64(ttl / time.Second), Progress: "third test of nine passes", ProgressAtUTC: granted,
	}
	return it
}

// Intent lets worker wait for a grant of it.
func Intent(it *acop.Item, worker string, now time.Time) *acop.Item {
	at := acop.NewTime(now.Add(-3 * time.Minute))
	it.Intents = append(it.Intents, acop.Intent{
		ClaimIntent: acop.ClaimIntent{
			ClaimIntentID: "intent:" + it.ID(), WorkItemID: it.ID(), WorkerAgentUID: worker,
			RequestedAtUTC: at, RequestedTTLSeconds: 600, Scope: "whole item",
		},
		State: acop.IntentWaiting, ExpiresUTC: at.Add(15 * time.Minute),
	})
	return it
}

// Items are the work items of the fake world at now.
func Items(now time.Time) []*acop.Item {
	rot := Item("work:auth:token-rotation", "Two ways to rotate tokens; which one may break v1 clients?", acop.StatusRequiresAttention, 1839, now)
	rot.WorkItem.WorkKind = acop.KindRefactor
	rot.Blockers = []acop.Blocker{{BlockerCode: acop.BlockerExternalDecision, Severity: acop.SeverityHigh, Summary: "needs a word on v1 clients"}}
	docs := Item("work:auth:docs", "Describe rotation", acop.StatusBlocked, 1802, now)
	docs.Blockers = []acop.Blocker{{BlockerCode: acop.BlockerDependency, Severity: acop.SeverityLow, Summary: "waits for rotation", DependsOnWorkItemID: rot.ID()}}
	seam := Intent(Item("work:http:seam", "Cut the HTTP seam", acop.StatusReady, 1820, now), "worker-7", now)
	seam.WorkItem.OwnedPaths = []string{"server/http/**"}
	pool := Lease(Item("work:http:pool", "Pool connections", acop.StatusInProgress, 1825, now), "worker-2", 10*time.Minute, 4*time.Minute, now)
	pool.WorkItem.OwnedPaths = []string{"server/http/pool.go"}
	index := Item("work:db:index", "Index the events table", acop.StatusCompleted, 1830, now)
	index.ValidationRequirements = []acop.ValidationRequirement{
		{RequirementID: "tests-pass", Kind: "test", Summary: "unit tests pass"},
		{RequirementID: "plan-shown", Kind: "review", Summary: "the query plan uses the index"},
	}
	index.Completion = &acop.Completion{
		CompletedBy: "worker-3", ClaimID: "claim:done", CompletedAtUTC: acop.NewTime(now.Add(-time.Minute)),
		Evidence: acop.CompletionEvidence{ValidationResults: []string{"tests-pass", "plan-shown"}, ArtifactIDs: []string{"artifact:plan.txt"}},
	}
	table := Lease(Item("work:ui:table", "Draw the table", acop.StatusInProgress, 1833, now), "worker-4", 10*time.Minute, 9*time.Minute+12*time.Second, now)
	free := Item("work:cli:flags", "Parse flags once", acop.StatusReady, 1811, now)
	held := Item("work:ops:backup", "Back up the store", acop.StatusReleased, 1812, now)
	return []*acop.Item{rot, docs, seam, pool, index, table, free, held}
}

// Snapshot is the owner's snapshot of the fake world.
func Snapshot(now time.Time) *acop.Snapshot {
	conf := 0.86
	return &acop.Snapshot{
		ProtocolVersion: acop.ProtocolVersion, Revision: 1842, AtUTC: acop.NewTime(now), Identity: "lead-01", Role: acop.RoleLead,
		Items:  Items(now),
		Closed: map[acop.Status]int{acop.StatusConsumed: 4, acop.StatusCancelled: 1},
		Entries: []acop.Posted{{Revision: 1840, Entry: acop.BlackboardEntry{
			EntryID: "entry:1", WorkItemID: "work:auth:token-rotation", EntryKind: acop.EntryRisk, AuthorAgentUID: "worker-9",
			CreatedAtUTC: acop.NewTime(now.Add(-2 * time.Minute)), Status: acop.EntryActive, Summary: "Watch for clients that cache keys", Confidence: &conf,
		}}},
		Settings: acop.Settings{GrantMode: acop.GrantLead, Revision: 7},
	}
}

// Provider is a reachable provider with two capabilities.
func Provider(name string, now time.Time) fleet.ProviderSeen {
	up := true
	return fleet.ProviderSeen{At: now, Provider: acmp.Provider{
		Name: name, Endpoint: "http://127.0.0.1:7800/mcp", Reachable: &up, Since: now,
		Settings: &acmp.Settings{
			Version: acmp.Version, Role: "provider", Accepts: []string{"text", "json"}, Emits: []string{"text"},
			Features: acmp.Features{OutputStreaming: true, HeartbeatIntervalMS: 2000, Capabilities: []acmp.Capability{
				{Name: "run-tests", PriceCU: "0.003"}, {Name: "git-log"},
			}},
		},
	}}
}

// TaskFacts are a running task with some lines of output.
func TaskFacts(id, capability string, now time.Time) []fleet.Fact {
	ceiling := json.Number("0.003")
	sent := now.Add(-42 * time.Second)
	facts := []fleet.Fact{fleet.TaskHappened{Event: acmp.TaskEvent{
		Kind: acmp.EventSent, TaskID: id, At: sent, Provider: "local", Attempt: 1,
		Params:            &acmp.InvokeParams{TaskID: id, Capability: capability, Stream: true, TimeoutMS: 60000, MaxPriceCU: &ceiling},
		HeartbeatInterval: 2 * time.Second, Deadline: sent.Add(time.Minute),
	}}}
	for i := range 5 {
		line, _ := json.Marshal(fmt.Sprintf("ok   package %d  0.0%ds\n", i, i))
		facts = append(facts, fleet.TaskHappened{Event: acmp.TaskEvent{
			Kind: acmp.EventChunk, TaskID: id, At: now.Add(time.Duration(i-6) * time.Second), Provider: "local",
			Seq: int64(i), Chunk: acmp.Payload{Type: "text", Data: line},
		}})
	}
	p := 0.45
	return append(facts, fleet.TaskHappened{Event: acmp.TaskEvent{
		Kind: acmp.EventHeartbeat, TaskID: id, At: now.Add(-800 * time.Millisecond), Provider: "local", Progress: &p, Detail: "package 5 of 11",
	}})
}

// Live is the fact that the owner answers.
func Live(now time.Time) fleet.LinkChanged {
	return fleet.LinkChanged{Link: fleet.Link{State: fleet.LinkLive, Server: "http://127.0.0.1:7700", Since: now, LastSeen: now}}
}

// Facts are the whole fake world at now.
func Facts(now time.Time) []fleet.Fact {
	facts := []fleet.Fact{Live(now), fleet.SnapshotLoaded{Snapshot: Snapshot(now), At: now}, Provider("local", now)}
	facts = append(facts, TaskFacts("task_a7c9d1e2f3", "sentiment", now)...)
	return append(facts, TaskFacts("task_b1b2b3b4b5", "run-tests", now.Add(-8*time.Second))...)
}

// World is a state with the whole fake world applied.
func World(now time.Time) *fleet.State {
	s := fleet.New()
	for _, f := range Facts(now) {
		s.Apply(f)
	}
	return s
}

// Changed is the event by which the owner tells that it is now as given.
func Changed(it *acop.Item, verb acop.Verb, rev uint64, now time.Time) fleet.OwnerEvent {
	c := it.Clone()
	c.Revision = rev
	return fleet.OwnerEvent{At: now, Event: acop.Event{
		Family: acop.FamilyWorkUpdate, Revision: rev, Last: true, AtUTC: acop.NewTime(now), Actor: "lead-01", Verb: string(verb),
		WorkItemID: it.ID(), To: it.Status(), Item: c,
	}}
}
