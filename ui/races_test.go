package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// race is one act whose target changes between what the person saw and the key
// that answers.
type race struct {
	name    string
	prepare func(*rig)
	keys    []string // up to the open form; a word with a blank before it is typed
	change  func(*rig)
	answer  []string
	says    []string // the explained refusal
}

func (r *rig) press(keys []string) {
	r.t.Helper()
	for _, k := range keys {
		if text, ok := strings.CutPrefix(k, " "); ok {
			r.Type(text)
			continue
		}
		r.Keys(k)
	}
}

// becomes makes the owner tell that an item is another one now.
func becomes(id string, verb acop.Verb, change func(*acop.Item)) func(*rig) {
	return func(r *rig) {
		it := item(r.t, id)
		change(it)
		r.facts(uitest.Changed(it, verb, 1900, time.Now()))
	}
}

func replaced(it *acop.Item) { it.WorkItem.Title = "Something else altogether" }

func regranted(it *acop.Item) {
	uitest.Lease(it, "worker-8", 10*time.Minute, time.Second, time.Now())
	it.Lease.Claim.ClaimID = "claim:another"
}

func restarted(r *rig) {
	for _, id := range []string{"task_a7c9d1e2f3", "task_b1b2b3b4b5"} {
		r.facts(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventResent, TaskID: id, Provider: "local", At: time.Now(), Attempt: 2}})
	}
}

func races() []race {
	onAsk := func(kind string) func(*rig) { return func(r *rig) { r.to(kind) } }
	onItem := func(id string) func(*rig) { return func(r *rig) { r.onBoard(id) } }
	onTask := func(r *rig) { r.Keys("3") }
	// "Look again, then answer once more.", wrapped anywhere.
	look := []string{"✗ changed meanwhile", "more."}
	return []race{
		{"revoke, the claim re-granted", onAsk("lease"), []string{"r"}, becomes("work:ui:table", acop.VerbGrant, regranted), []string{"ctrl+s"},
			append(look, "another claim holds it now", "worker-8")},
		{"revoke, the lease lapsed", onAsk("lease"), []string{"r"},
			becomes("work:ui:table", acop.VerbExpire, func(it *acop.Item) { it.WorkItem.Status, it.Lease = acop.StatusReady, nil }), []string{"ctrl+s"},
			[]string{"no longer possible"}},
		{"grant, the item replaced", onAsk("grant"), []string{"g", " fine"}, becomes("work:http:seam", acop.VerbPut, replaced), []string{"enter"}, look},
		{"grant, granted to another", onAsk("grant"), []string{"g", " fine"}, becomes("work:http:seam", acop.VerbGrant, func(it *acop.Item) {
			it.WorkItem.Status, it.Intents = acop.StatusClaimed, nil
			regranted(it)
		}), []string{"enter"}, []string{"no longer possible", "worker-7"}},
		{"grant, another request in its place", onAsk("grant"), []string{"g", " fine"}, becomes("work:http:seam", acop.VerbIntent, func(it *acop.Item) {
			it.Intents = nil
			uitest.Intent(it, "worker-8", time.Now())
			it.Intents[0].ClaimIntent.ClaimIntentID = "intent:another"
		}), []string{"enter"}, []string{"no longer possible", "the request of worker-7 no longer waits"}},
		{"deny, another request in its place", onAsk("grant"), []string{"D", " no"}, becomes("work:http:seam", acop.VerbIntent, func(it *acop.Item) {
			it.Intents[0].State = acop.IntentWithdrawn
			uitest.Intent(it, "worker-8", time.Now())
			it.Intents[1].ClaimIntent.ClaimIntentID = "intent:another"
		}), []string{"enter"}, []string{"no longer possible", "the request of worker-7 no longer waits"}},
		{"cancel an item, replaced", onAsk("decide"), []string{"x", " no use"}, becomes("work:auth:token-rotation", acop.VerbPut, replaced), []string{"enter", "y"}, look},
		{"cancel an item, the claim re-granted", onAsk("lease"), []string{"x", " no use"}, becomes("work:ui:table", acop.VerbGrant, regranted), []string{"enter", "y"},
			append(look, "worker-8")},
		{"accept, completed by another claim", onAsk("accept"), []string{"a"}, becomes("work:db:index", acop.VerbComplete, func(it *acop.Item) {
			it.Completion.ClaimID, it.Completion.CompletedBy = "claim:another", "worker-8"
		}), []string{"y"}, append(look, "its evidence changed")},
		{"accept, the evidence changed", onAsk("accept"), []string{"a"}, becomes("work:db:index", acop.VerbComplete, func(it *acop.Item) {
			it.Completion.Evidence.ValidationResults = []string{"tests-pass"}
		}), []string{"y"}, append(look, "its evidence changed", "1 of 2")},
		{"decide, replaced", onAsk("decide"), []string{"d"}, becomes("work:auth:token-rotation", acop.VerbPut, replaced), []string{"y"}, look},
		{"decide, decided by another lead", onAsk("decide"), []string{"d"}, becomes("work:auth:token-rotation", acop.VerbResolve, func(it *acop.Item) {
			it.WorkItem.Status, it.Blockers = acop.StatusReady, nil
		}), []string{"y"}, []string{"no longer possible"}},
		{"send back, completed by another claim", onAsk("accept"), []string{"s", " again"}, becomes("work:db:index", acop.VerbComplete, func(it *acop.Item) {
			it.Completion.ClaimID = "claim:another"
		}), []string{"enter", "y"}, look},
		{"supersede, replaced", onItem("work:cli:flags"), []string{"S", " work:db:index", "enter", " newer"},
			becomes("work:cli:flags", acop.VerbPut, replaced), []string{"enter", "y"}, look},
		{"supersede, somebody took it", onItem("work:cli:flags"), []string{"S", " work:db:index", "enter", " newer"},
			becomes("work:cli:flags", acop.VerbGrant, func(it *acop.Item) { it.WorkItem.Status = acop.StatusClaimed; regranted(it) }), []string{"enter", "y"},
			append(look, "worker-8")},
		{"block, replaced", onItem("work:cli:flags"), []string{"b", "enter", " waits"}, becomes("work:cli:flags", acop.VerbPut, replaced), []string{"enter"}, look},
		{"block, somebody took it", onItem("work:cli:flags"), []string{"b", "enter", " waits"},
			becomes("work:cli:flags", acop.VerbGrant, func(it *acop.Item) { it.WorkItem.Status = acop.StatusClaimed; regranted(it) }), []string{"enter"},
			[]string{"no longer possible"}},
		{"unblock, other blockers", onItem("work:auth:docs"), []string{"b"}, becomes("work:auth:docs", acop.VerbBlock, func(it *acop.Item) {
			it.Blockers = []acop.Blocker{{BlockerCode: acop.BlockerReviewRequired, Severity: acop.SeverityHigh, Summary: "look"}}
		}), []string{"ctrl+s"}, append(look, "its blockers changed")},
		{"consume, closed by another", func(r *rig) {
			becomes("work:db:index", acop.VerbAccept, func(it *acop.Item) { it.WorkItem.Status = acop.StatusAccepted })(r)
			r.onBoard("work:db:index")
		}, []string{"C"}, func(r *rig) {
			it := item(r.t, "work:db:index")
			it.WorkItem.Status = acop.StatusConsumed
			r.facts(uitest.Changed(it, acop.VerbConsume, 1901, time.Now()))
		}, []string{"y"}, []string{"no longer possible"}},
		{"requeue, already ready", onItem("work:ops:backup"), nil,
			becomes("work:ops:backup", acop.VerbRequeue, func(it *acop.Item) { it.WorkItem.Status = acop.StatusReady }), []string{"u"}, []string{"requeue: "}},
		{"post, the item closed", onAsk("decide"), []string{"p", "enter", " a word"}, becomes("work:auth:token-rotation", acop.VerbPut, replaced), []string{"ctrl+s"}, look},
		{"cancel a task, restarted", onTask, []string{"x", " slow"}, restarted, []string{"enter", "y"}, append(look, "attempt 2")},
		{"re-send a task, restarted", onTask, []string{"R"}, restarted, []string{"y"}, append(look, "attempt 2")},
	}
}

// Promise 2: whatever happens to the target between what was seen and the key that
// answers, the act is not done but explained; nothing is ever done to another
// target than the one on the screen.
func TestNothingIsDoneToWhatWasNotSeen(t *testing.T) {
	for _, c := range races() {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := world(t, ui.Options{}, uitest.Options{W: 130, H: 44})
				c.prepare(r)
				r.press(c.keys)
				c.change(r)
				r.press(c.answer)
				if acts, calls := r.owner.Acts(), r.buyer.Calls(); len(acts)+len(calls) != 0 {
					t.Fatalf("it was done: %+v %q\n%s", acts, calls, r.Screen())
				}
				r.Must(c.says...)
			})
		})
	}
}

// What the owner knows before this program does is refused by the owner, with the
// revision that was on the screen, and explained.
func TestTheOwnerRefusesWhatWasNotSeen(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*rig)
		keys    []string
		rev     uint64
	}{
		"revoke":    {func(r *rig) { r.to("lease") }, []string{"r", "ctrl+s"}, 1833},
		"grant":     {func(r *rig) { r.to("grant") }, []string{"g", " fine", "enter"}, 1820},
		"cancel":    {func(r *rig) { r.to("decide") }, []string{"x", " no", "enter", "y"}, 1839},
		"accept":    {func(r *rig) { r.to("accept") }, []string{"a", "y"}, 1830},
		"decide":    {func(r *rig) { r.to("decide") }, []string{"d", "y"}, 1839},
		"send back": {func(r *rig) { r.to("accept") }, []string{"s", " again", "enter", "y"}, 1830},
		"supersede": {func(r *rig) { r.onBoard("work:cli:flags") }, []string{"S", " work:db:index", "enter", " newer", "enter", "y"}, 1811},
		"block":     {func(r *rig) { r.onBoard("work:cli:flags") }, []string{"b", "enter", " waits", "enter"}, 1811},
		"requeue":   {func(r *rig) { r.onBoard("work:ops:backup") }, []string{"u"}, 1812},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := world(t, ui.Options{}, uitest.Options{W: 130, H: 44})
				r.owner.Answer = func(acop.Act) (*acop.Receipt, error) {
					return nil, acop.Errorf(acop.CodeRevisionMismatch, "the item is at revision 1999")
				}
				c.prepare(r)
				r.press(c.keys)
				r.Wait(3 * time.Second)
				if a := r.last(); a.IfRevision != c.rev || len(r.owner.Acts()) != 1 {
					t.Fatalf("%d acts, at revision %d, want one at %d", len(r.owner.Acts()), a.IfRevision, c.rev)
				}
				r.Must("refused: signalbox.revision_mismatch", fmt.Sprintf("at rev %d", c.rev))
				r.MustNot("requested:")
			})
		})
	}
}

// Of several, those are acted on that are as they were seen; the report names the
// others and why.
func TestBulkLeavesOutWhatChanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 130, H: 44})
		r.owner.Answer = func(acop.Act) (*acop.Receipt, error) { return &acop.Receipt{Revision: 1842}, nil }
		for _, kind := range []string{"accept", "grant", "decide"} {
			r.to(kind)
			r.Keys("space")
		}
		r.Keys("x")
		r.Must("Cancel 3 items")
		becomes("work:http:seam", acop.VerbPut, replaced)(r)
		done := item(t, "work:db:index")
		done.WorkItem.Status = acop.StatusConsumed
		r.facts(uitest.Changed(done, acop.VerbConsume, 1901, time.Now()))
		r.Must("changed meanwhile and left out: 2 of 3; work:")
		r.Type("cleaning up")
		r.Keys("enter", "y")
		if acts := r.owner.Acts(); len(acts) != 1 || acts[0].WorkItemID != "work:auth:token-rotation" {
			t.Fatalf("%+v\n%s", acts, r.Screen())
		}
		r.Must("cancel: 1 of 3 done", "✗ work:http:seam", "changed meanwhile: its text changed",
			"✗ work:db:index", "no longer possible", "✓ work:auth:token-rotation")
	})
	// When all of them changed there is nothing to do: look again.
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 130, H: 44})
		for _, kind := range []string{"grant", "decide"} {
			r.to(kind)
			r.Keys("space")
		}
		r.Keys("x")
		becomes("work:http:seam", acop.VerbPut, replaced)(r)
		it := item(t, "work:auth:token-rotation")
		replaced(it)
		r.facts(uitest.Changed(it, acop.VerbPut, 1901, time.Now()))
		r.Must("changed meanwhile: all 2; work:http:seam: its text changed")
		r.Type("cleaning up")
		r.Keys("enter", "y")
		r.Must("Cancel 2 items", "answer once more")
		if n := len(r.owner.Acts()); n != 0 {
			t.Fatalf("%d acts", n)
		}
	})
}

// Tasks that are cancelled together are reported together.
func TestBulkCancelOfTasksReports(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 130, H: 44})
		r.Keys("3", "*")
		r.Must("2 rows marked")
		r.Keys("x")
		r.Must("Cancel 2 tasks")
		r.facts(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventResult, TaskID: "task_b1b2b3b4b5", Provider: "local",
			At: time.Now(), Result: &acmp.Result{TaskID: "task_b1b2b3b4b5"}}})
		r.Type("enough")
		r.Keys("enter", "y")
		if calls := r.buyer.Calls(); len(calls) != 1 || calls[0] != "cancel task_a7c9d1e2f3 enough" {
			t.Fatalf("%q\n%s", calls, r.Screen())
		}
		r.Must("cancel: 1 of 2 done", "the task has ended")
	})
}

// An owner that comes back with an older log, as from a backup, confirms nothing
// that it answered before: such acts end, explained, and their targets are free.
func TestActsEndWhenTheLogGoesBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 150, H: 44})
		r.owner.Answer = func(acop.Act) (*acop.Receipt, error) { return &acop.Receipt{Revision: 1850}, nil }
		r.to("decide")
		r.Keys("d", "enter")
		r.Must("requested: decide") // answered, and its event not seen yet
		old := uitest.Snapshot(time.Now())
		old.Revision = 1841
		r.facts(fleet.SnapshotLoaded{Snapshot: old, At: time.Now()})
		r.Must("decide work:auth:token-rotation: the owner's log went back from revision 1842 to 1841", "is now", "Look again")
		r.MustNot("requested: decide")
		r.Keys("esc")
		r.to("decide")
		r.Keys("d", "enter")
		if n := len(r.owner.Acts()); n != 2 {
			t.Fatalf("the target is still busy: %d acts\n%s", n, r.Screen())
		}
	})
}
