package fleet

import (
	"fmt"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
)

// t0 is when every test begins, by both clocks unless a test says otherwise.
var t0 = time.Date(2026, 5, 16, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return t0.Add(d) }

// owner makes events as an owner would, one revision each.
type owner struct {
	s   *State
	rev uint64
	now time.Time
}

func newOwner(s *State) *owner { return &owner{s: s, now: t0} }

// snapshot loads items as the first knowledge.
func (o *owner) snapshot(items ...*acop.Item) *owner {
	o.rev++
	for _, i := range items {
		i.Revision = o.rev
	}
	o.s.Apply(SnapshotLoaded{At: o.now, Snapshot: &acop.Snapshot{
		Revision: o.rev, AtUTC: acop.NewTime(o.now), Identity: "lead-01", Role: acop.RoleLead, Items: items,
	}})
	return o
}

// event applies one event that carries item, and returns it.
func (o *owner) event(verb acop.Verb, item *acop.Item, from acop.Status, change func(*acop.Event)) acop.Event {
	o.rev++
	ev := acop.Event{
		Family: acop.FamilyWorkUpdate, Revision: o.rev, Last: true, AtUTC: acop.NewTime(o.now), Actor: "somebody",
		Verb: string(verb), From: from,
	}
	if item != nil {
		item.Revision = o.rev
		ev.Item, ev.WorkItemID, ev.To = item, item.ID(), item.Status()
	}
	if change != nil {
		change(&ev)
	}
	o.s.Apply(OwnerEvent{Event: ev, At: o.now})
	return ev
}

func (o *owner) post(id, item string, kind acop.EntryKind, author string, supersedes ...string) {
	o.event(acop.VerbPost, nil, "", func(ev *acop.Event) {
		ev.Family, ev.WorkItemID = acop.FamilyBlackboard, item
		ev.Entry = &acop.BlackboardEntry{
			EntryID: id, WorkItemID: item, EntryKind: kind, AuthorAgentUID: author, Status: acop.EntryActive,
			CreatedAtUTC: acop.NewTime(o.now), Summary: "about " + item, SupersedesEntryIDs: supersedes,
		}
	})
}

func item(id string, st acop.Status) *acop.Item {
	return &acop.Item{
		WorkItem: acop.WorkItem{
			WorkItemID: id, Status: st, Priority: acop.PriorityMedium, Title: "title of " + id, Producer: "planner",
			CreatedAtUTC: acop.NewTime(t0),
		},
		CreatedBy: "planner", StatusSinceUTC: acop.NewTime(t0),
	}
}

func held(id, worker string, granted time.Time, ttl time.Duration, paths ...string) *acop.Item {
	i := item(id, acop.StatusInProgress)
	i.WorkItem.OwnedPaths = paths
	i.Lease = &acop.Lease{
		TTLSeconds: int64(ttl / time.Second),
		Claim: acop.Claim{
			ClaimID: "claim-" + id, WorkItemID: id, WorkerAgentUID: worker, ClaimStatus: acop.ClaimActive,
			GrantedAtUTC: acop.NewTime(granted), ExpiresAtUTC: acop.NewTime(granted.Add(ttl)),
		},
	}
	return i
}

func dependsOn(i *acop.Item, ids ...string) *acop.Item {
	for _, id := range ids {
		i.Blockers = append(i.Blockers, acop.Blocker{
			BlockerCode: acop.BlockerDependency, Severity: acop.SeverityLow, DependsOnWorkItemID: id,
		})
	}
	return i
}

// sent applies the first event of a task.
func sent(s *State, id string, at time.Time, interval, timeout time.Duration) {
	s.Apply(TaskHappened{Event: acmp.TaskEvent{
		Kind: acmp.EventSent, TaskID: id, At: at, Provider: "p", HeartbeatInterval: interval, Deadline: at.Add(timeout),
		Attempt: 1, Params: &acmp.InvokeParams{TaskID: id, Capability: "run-tests"},
	}})
}

func task(s *State, kind acmp.EventKind, id string, at time.Time, change func(*acmp.TaskEvent)) {
	ev := acmp.TaskEvent{Kind: kind, TaskID: id, At: at, Provider: "p"}
	if change != nil {
		change(&ev)
	}
	s.Apply(TaskHappened{Event: ev})
}

func chunk(s *State, id string, seq int64, text string) {
	task(s, acmp.EventChunk, id, after(time.Second), func(ev *acmp.TaskEvent) { ev.Seq, ev.Chunk = seq, acmp.Text(text) })
}

// kinds lists asks as "kind target reason".
func kinds(asks []Ask) []string {
	out := make([]string, 0, len(asks))
	for _, a := range asks {
		out = append(out, fmt.Sprintf("%s %s %s", a.Kind, a.Target.ID, a.Reason))
	}
	return out
}
