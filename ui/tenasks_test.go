package ui_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// askCase is one kind of ask: what happens outside brings it, and takes it away.
type askCase struct {
	kind fleet.AskKind
	come func(*rig)
	row  []string // what the row says
	page []string // what the context says: who, since when, what it blocks, if ignored
	go_  func(*rig)
	log  string // what the Log says then
}

const askedItem = "work:the:one"

// theOne tells the owner's word on the item that the asks are about; another one
// waits for it.
func theOne(verb acop.Verb, status acop.Status, change func(*acop.Item)) func(*rig) {
	return func(r *rig) {
		now := time.Now()
		it := uitest.Item(askedItem, "Rotate the keys", status, 0, now)
		if change != nil {
			change(it)
		}
		r.next(it, verb)
	}
}

// next is the next event of the owner.
func (r *rig) next(it *acop.Item, verb acop.Verb) {
	r.rev++
	r.facts(uitest.Changed(it, verb, 1842+r.rev, time.Now()))
}

func (r *rig) posted(e acop.BlackboardEntry) {
	r.rev++
	now := time.Now()
	e.WorkItemID, e.Status, e.CreatedAtUTC = askedItem, acop.EntryActive, acop.NewTime(now.Add(-5*time.Minute))
	r.facts(fleet.OwnerEvent{At: now, Event: acop.Event{Family: acop.FamilyBlackboard, Revision: 1842 + r.rev, Last: true,
		AtUTC: acop.NewTime(now), Actor: e.AuthorAgentUID, Verb: string(acop.VerbPost), WorkItemID: askedItem, Entry: &e}})
}

func (r *rig) task(kind acmp.EventKind, change func(*acmp.TaskEvent)) {
	ev := acmp.TaskEvent{Kind: kind, TaskID: "task_the_one", Provider: "local", At: time.Now(), Attempt: 1}
	if kind == acmp.EventSent {
		ceiling := json.Number("0.1")
		ev.HeartbeatInterval, ev.Deadline = 2*time.Second, ev.At.Add(time.Hour)
		ev.Params = &acmp.InvokeParams{TaskID: ev.TaskID, Capability: "rotate-keys", MaxPriceCU: &ceiling}
	}
	if change != nil {
		change(&ev)
	}
	r.facts(fleet.TaskHappened{Event: ev})
}

func (r *rig) link(state fleet.LinkState) {
	r.facts(fleet.LinkChanged{Link: fleet.Link{State: state, Server: "http://127.0.0.1:7700", Since: time.Now(), Problem: "connection refused"}})
}

func (r *rig) scoped(id, worker string, status acop.Status) {
	it := uitest.Item(id, "Title of "+id, status, 0, time.Now())
	it.WorkItem.OwnedPaths = []string{"auth/keys.go"}
	if worker != "" {
		uitest.Lease(it, worker, time.Hour, 5*time.Minute, time.Now())
	}
	r.next(it, acop.VerbGrant)
}

func askCases() []askCase {
	free := theOne(acop.VerbResolve, acop.StatusReady, nil)
	return []askCase{
		{fleet.AskDecide, theOne(acop.VerbPut, acop.StatusRequiresAttention, nil),
			[]string{"! decide", askedItem, "Rotate the keys", "blocks 1", "12m"},
			[]string{"decide, severity medium, for 12m", "nobody can take it up; 1 item waits behind it", "work:behind", "who planner"},
			free, "ask gone: decide " + askedItem},
		{fleet.AskGrant, theOne(acop.VerbIntent, acop.StatusReady, func(it *acop.Item) { uitest.Intent(it, "worker-7", time.Now()) }),
			[]string{"? grant", "worker-7", askedItem, "3m"},
			[]string{"grant, severity medium, for 3m", "the request runs out; worker-7 has to ask again", "who worker-7", "runs out", "in 12m00", "work:behind"},
			theOne(acop.VerbGrant, acop.StatusClaimed, func(it *acop.Item) { uitest.Lease(it, "worker-7", time.Hour, 0, time.Now()) }),
			"ask gone: grant " + askedItem},
		{fleet.AskAccept, theOne(acop.VerbComplete, acop.StatusCompleted, func(it *acop.Item) {
			it.Completion = &acop.Completion{CompletedBy: "worker-7", CompletedAtUTC: acop.NewTime(time.Now())}
		}),
			[]string{"✓ accept", askedItem, "no evidence required", "12m"},
			[]string{"accept, severity medium, for 12m", "it stays completed; nobody may build on it; 1 item waits behind it", "worker-7"},
			theOne(acop.VerbAccept, acop.StatusAccepted, nil), "ask gone: accept " + askedItem},
		{fleet.AskLease, theOne(acop.VerbGrant, acop.StatusInProgress, func(it *acop.Item) {
			uitest.Lease(it, "worker-7", 10*time.Minute, 9*time.Minute, time.Now())
		}),
			[]string{"↺ lease", askedItem, "no renewal", "1m"},
			[]string{"lease, severity medium, for 1m", "the claim ends, the item goes back to ready and worker-7 is refused", "work:behind"},
			theOne(acop.VerbRenew, acop.StatusInProgress, func(it *acop.Item) {
				uitest.Lease(it, "worker-7", 20*time.Minute, 9*time.Minute, time.Now())
				it.Lease.RenewedAtUTC = acop.NewTime(time.Now())
			}), "ask gone: lease " + askedItem},
		{fleet.AskTask, func(r *rig) { r.task(acmp.EventSent, nil); r.Wait(7 * time.Second) },
			[]string{"✗ task", "task_th", "rotate-keys", "no sign of life"},
			[]string{"task, severity medium, for 7s", "it fails at its deadline", "on local", "runs out"},
			func(r *rig) { r.task(acmp.EventHeartbeat, nil) }, "ask gone: task task_the_one"},
		{fleet.AskBlocked, theOne(acop.VerbBlock, acop.StatusBlocked, func(it *acop.Item) {
			it.Blockers = []acop.Blocker{{BlockerCode: acop.BlockerExternalDecision, Severity: acop.SeverityHigh, Summary: "legal must say"}}
		}),
			[]string{"■ blocked", askedItem, "blocks 1", "12m"},
			[]string{"blocked, severity high, for 12m", "it stays blocked until a person unblocks it; 1 item waits behind it", "legal must say", "who planner"},
			theOne(acop.VerbUnblock, acop.StatusReady, nil), "ask gone: blocked " + askedItem},
		{fleet.AskReview, func(r *rig) {
			free(r)
			r.posted(acop.BlackboardEntry{EntryID: "entry:q", EntryKind: acop.EntryReviewRequest, AuthorAgentUID: "worker-7", Summary: "is this the right seam?"})
		},
			[]string{"? review", "is this the right seam?", "5m"},
			[]string{"review, severity medium, for 5m", "worker-7 waits for an answer", "work:behind"},
			func(r *rig) {
				r.posted(acop.BlackboardEntry{EntryID: "entry:a", EntryKind: acop.EntryDecision, AuthorAgentUID: "lead-02", Summary: "yes"})
			}, "ask gone: review " + askedItem},
		{fleet.AskOverlap, func(r *rig) {
			r.scoped("work:other", "worker-2", acop.StatusInProgress)
			r.scoped(askedItem, "worker-7", acop.StatusInProgress)
		},
			[]string{"▲ overlap", "overlaps work:other", "auth/keys.go", "5m"},
			[]string{"overlap, severity high, for 5m", "both change the same code; one of them will have to be redone or merged", "auth/keys.go", "work:other", "worker-2, 5", "worker-7"},
			func(r *rig) { r.scoped("work:other", "", acop.StatusReady) }, "ask gone: overlap"},
		{fleet.AskBudget, func(r *rig) {
			r.task(acmp.EventSent, nil)
			r.task(acmp.EventError, func(ev *acmp.TaskEvent) {
				ev.Err = &acmp.Error{Code: acmp.CodeBudgetExceeded, Message: "too little", Data: map[string]any{"min_price_cu": 0.5}}
			})
		},
			[]string{"$ budget", "task_th", "rotate-keys"},
			[]string{"budget, severity medium", "it stays undone; it needs a higher ceiling or another provider", "asks for 0.5 CU against a ceiling of 0.1 CU", "on local"},
			func(r *rig) { r.Keys("V") }, "seen: budget:task_the_one, budget"},
		{fleet.AskUnreachable, func(r *rig) { r.link(fleet.LinkDegraded) },
			[]string{"○ unreachable", "owner"},
			[]string{"unreachable, severity high", "what is shown may be out of date; no act reaches the owner", "connection refused"},
			func(r *rig) { r.link(fleet.LinkLive) }, "ask gone: unreachable the owner does not answer"},
	}
}

// Every kind of ask comes by its cause, says what, who, since when, what it blocks
// and what follows if nobody acts, leaves by itself when its cause is gone, and the
// Log says so.
func TestTenKindsOfAsk(t *testing.T) {
	var tried []fleet.AskKind
	for _, c := range askCases() {
		tried = append(tried, c.kind)
		t.Run(string(c.kind), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := open(t, ui.Options{}, uitest.Options{W: 200, H: 50})
				snap := uitest.Snapshot(time.Now())
				behind := uitest.Item("work:behind", "Waits for the one", acop.StatusBlocked, 1, time.Now())
				behind.Blockers = []acop.Blocker{{BlockerCode: acop.BlockerDependency, DependsOnWorkItemID: askedItem}}
				snap.Items, snap.Entries = []*acop.Item{uitest.Item(askedItem, "Rotate the keys", acop.StatusReady, 1, time.Now()), behind}, nil
				r.facts(uitest.Live(time.Now()), fleet.SnapshotLoaded{Snapshot: snap, At: time.Now()})
				r.Must("NEEDS YOU (0)")
				c.come(r)
				r.Must("NEEDS YOU (1)")
				r.to(string(c.kind))
				row := r.line("▌")
				for _, want := range c.row {
					if !strings.Contains(row, want) {
						t.Errorf("the row lacks %q: %s", want, row)
					}
				}
				page := contextOf(r.Screen())
				for _, want := range c.page {
					if !strings.Contains(page, want) {
						t.Errorf("the context lacks %q: %s", want, page)
					}
				}
				c.go_(r)
				r.Must("NEEDS YOU (0)")
				r.Keys("6")
				r.Must(c.log)
			})
		})
	}
	if want := fleet.AskKinds(); !slices.Equal(tried, want) {
		t.Errorf("tried %v, want %v", tried, want)
	}
}

// Five claims in one path are four asks, and each tells in its row what it met, at
// every width, and in the pane who holds that and for how long.
func TestOverlapOfMany(t *testing.T) {
	for _, w := range []int{80, 120, 200} {
		bubble(t, func(t *testing.T) {
			r := open(t, ui.Options{}, uitest.Options{W: w, H: 50})
			snap := uitest.Snapshot(time.Now())
			snap.Items, snap.Entries = nil, nil
			r.facts(uitest.Live(time.Now()), fleet.SnapshotLoaded{Snapshot: snap, At: time.Now()})
			for i := range 5 {
				it := uitest.Item(fmt.Sprint("work:", i), "Title", acop.StatusInProgress, 0, time.Now())
				it.WorkItem.OwnedPaths = []string{"auth/keys.go"}
				r.next(uitest.Lease(it, fmt.Sprint("worker-", i), time.Hour, time.Duration(9-i)*time.Minute+30*time.Second, time.Now()), acop.VerbGrant)
			}
			r.Must("NEEDS YOU (4)", "overlaps work:0 +1 more", "overlaps work:0 +2 more", "overlaps work:0 +3 more")
			r.Keys("end")
			if row := r.line("▌"); !strings.Contains(row, "work:4") || !strings.Contains(row, "overlaps work:0 +3 more") {
				t.Errorf("%d: %s", w, row)
			}
			r.Must("worker-0, 50m", "worker-3, 53m", " left, held")
			r.Keys("m", "3")
			r.Must("NEEDS YOU (3)")
			it := uitest.Item("work:5", "Title", acop.StatusInProgress, 0, time.Now())
			it.WorkItem.OwnedPaths = []string{"auth/keys.go"}
			r.next(uitest.Lease(it, "worker-5", time.Hour, 8*time.Minute, time.Now()), acop.VerbGrant)
			r.Must("NEEDS YOU (5)", "overlaps work:0 +4 more") // met one more: it is back
		})
	}
}

// contextOf is the pane beside the queue with its lines joined.
func contextOf(shown string) string {
	var b strings.Builder
	for l := range strings.Lines(shown) {
		if _, right, ok := strings.Cut(l, "│"); ok {
			b.WriteString(right + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// What a dialog tells of a task's clocks stays true for as long as it is open.
func TestDialogTellsATaskAsItIsNow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.facts(uitest.Live(time.Now()), fleet.SnapshotLoaded{Snapshot: uitest.Snapshot(time.Now()), At: time.Now()}, uitest.Provider("local", time.Now()))
		r.task(acmp.EventSent, nil)
		r.Keys("3", "x")
		r.Must("last sign just now")
		r.Wait(90 * time.Second)
		r.Must("running   1m30 · deadline in 58m", "last sign 1m ago")
		r.task(acmp.EventError, func(ev *acmp.TaskEvent) { ev.Err = &acmp.Error{Code: acmp.CodeInternal, Message: "no disk"} })
		r.Must("ended     failed just now")
		r.MustNot("last sign")
	})
}

// What settles the ask of a failed task stands first in the key row, at 80 cells too.
func TestKeyRowBeginsWithWhatSettles(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{}, uitest.Options{W: 80, H: 24})
		r.facts(uitest.Live(time.Now()), fleet.SnapshotLoaded{Snapshot: uitest.Snapshot(time.Now()), At: time.Now()}, uitest.Provider("local", time.Now()))
		r.task(acmp.EventError, func(ev *acmp.TaskEvent) { ev.Err = &acmp.Error{Code: acmp.CodeInternal, Message: "no disk"} })
		r.to("task")
		r.Must("\n V seen  n new item")
	})
}

// What is wrong with many ended tasks is taken note of together, and a note that
// cannot be kept is told.
func TestSeeManyTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{}, uitest.Options{W: 130, H: 40})
		snap := uitest.Snapshot(time.Now())
		snap.Items, snap.Entries = nil, nil
		r.facts(uitest.Live(time.Now()), fleet.SnapshotLoaded{Snapshot: snap, At: time.Now()}, uitest.Provider("local", time.Now()))
		for _, id := range []string{"task_one", "task_two", "task_three"} {
			r.facts(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventError, TaskID: id, Provider: "local", At: time.Now(),
				Err: &acmp.Error{Code: acmp.CodeInternal, Message: "no disk"}}})
		}
		r.Must("NEEDS YOU (3)")
		r.Keys("*")
		r.Must("3 rows marked")
		r.buyer.Err = errors.New("the disk is full")
		r.Keys("V")
		r.Must("NEEDS YOU (0)", "3 tasks seen", "the disk is full; the ask will be there again")
		if calls := r.buyer.Calls(); len(calls) != 3 {
			t.Errorf("%q", calls)
		}
		r.Keys("6")
		r.Must("seen: task:task_one, failed", "seen: task:task_three, failed")
		r.MustNot("ask gone")
	})
}

// A task that waits for input says so in the key row at every width, before the acts
// on it, and what was sent is not told as if the task had asked for it.
func TestInputOfATaskIsOffered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{}, uitest.Options{W: 80, H: 24})
		r.facts(uitest.Live(time.Now()), fleet.SnapshotLoaded{Snapshot: uitest.Snapshot(time.Now()), At: time.Now()}, uitest.Provider("local", time.Now()))
		r.task(acmp.EventSent, func(ev *acmp.TaskEvent) { ev.Params.InputStream, ev.Params.Stream = true, true })
		r.Keys("3")
		r.Must("I send input  E end input  x cancel", "It takes input: I sends, E ends it.")
		r.Keys("I")
		r.Type("one line")
		r.Keys("enter")
		r.Must("input sent to task_the_one")
		r.Keys("E")
		r.Must("end of input sent to task_the_one")
		r.MustNot("asked for")
	})
}

// Input that the provider has not confirmed in time is no refusal: it is on its way,
// and typing it again would double it.
func TestUnconfirmedInputIsNoRefusal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{}, uitest.Options{W: 130, H: 40})
		r.facts(uitest.Live(time.Now()), fleet.SnapshotLoaded{Snapshot: uitest.Snapshot(time.Now()), At: time.Now()}, uitest.Provider("local", time.Now()))
		r.task(acmp.EventSent, func(ev *acmp.TaskEvent) { ev.Params.InputStream = true })
		r.buyer.Err = fmt.Errorf("input chunk 3 for task_the_one: %w", acmp.ErrUnconfirmed)
		r.Keys("3", "I")
		r.Must("Input for rotate-keys")
		r.Type("one line")
		r.Keys("enter")
		r.Must("the provider has not confirmed it yet; it is kept and sent again")
		r.MustNot("refused")
	})
}
