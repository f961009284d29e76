package ui_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// item is an item of the fake world by id.
func item(t *testing.T, id string) *acop.Item {
	t.Helper()
	for _, it := range uitest.Items(time.Now()) {
		if it.ID() == id {
			return it
		}
	}
	t.Fatalf("no item %s", id)
	return nil
}

// to puts the cursor of the queue on the ask of a kind.
func (r *rig) to(kind string) {
	r.t.Helper()
	r.Keys("home")
	for range 12 {
		for _, l := range strings.Split(r.Screen(), "\n") {
			if strings.Contains(l, "▌") && strings.Contains(l, " "+kind+" ") {
				return
			}
		}
		r.Keys("down")
	}
	r.t.Fatalf("no ask %q\n%s", kind, r.Screen())
}

// last is the one act the owner was asked for.
func (r *rig) last() acop.Act {
	r.t.Helper()
	acts := r.owner.Acts()
	if len(acts) == 0 {
		r.t.Fatalf("the owner was asked for nothing\n%s", r.Screen())
	}
	a := acts[len(acts)-1]
	a.Key = ""
	return a
}

func (r *rig) equal(want acop.Act) {
	r.t.Helper()
	if d := cmp.Diff(want, r.last()); d != "" {
		r.t.Fatalf("%s\n%s", d, r.Screen())
	}
}

// H-090, promise 5: the request is granted to who asks, with the overlap shown
// and a reason given.
func TestGrantRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.to("grant")
		r.Keys("g")
		r.Must("Grant work:http:seam", "worker-7", "overlap", "worker-2", "server/http")
		r.Keys("enter")
		r.Must("reason is needed") // granting over an overlap asks for one
		r.Type("the pool is nearly done")
		r.Keys("enter")
		r.equal(acop.Act{Verb: acop.VerbGrant, WorkItemID: "work:http:seam", IntentID: "intent:work:http:seam",
			TTLSeconds: 600, Reason: "the pool is nearly done", IfRevision: 1820})
	})
}

// H-090: any ready item can be granted to a worker that is chosen.
func TestGrantToChosenWorker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Keys(":")
		r.Type("work:cli:flags")
		r.Keys("enter")
		r.Must("Item work:cli:flags")
		r.Keys("g")
		r.Type("worker-4")
		r.Keys("enter")
		a := r.last()
		if a.Verb != acop.VerbClaim || a.Worker != "worker-4" || a.WorkItemID != "work:cli:flags" || a.IfRevision != 1811 || a.Scope == "" {
			t.Fatalf("%+v", a)
		}
	})
}

// Promise 1: three mixed asks in six keystrokes after the start.
func TestThreeAsksInSixKeys(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		snap := uitest.Snapshot(time.Now())
		snap.Items[3].Lease = nil // no overlap for the grant
		snap.Items[3].WorkItem.Status = acop.StatusReady
		r.facts(uitest.Live(time.Now()), fleet.SnapshotLoaded{Snapshot: snap, At: time.Now()})
		gone := map[acop.Verb]acop.Status{acop.VerbResolve: acop.StatusReady, acop.VerbAccept: acop.StatusAccepted, acop.VerbGrant: acop.StatusClaimed}
		keys, rev := 0, uint64(2000)
		press := map[string]string{"decide": "d", "accept": "a", "grant": "g", "lease": "r"}
		for range 3 {
			for kind, key := range press {
				for _, l := range strings.Split(r.Screen(), "\n") {
					if strings.Contains(l, "▌") && strings.Contains(l, " "+kind+" ") {
						r.Keys(key, "enter")
						keys += 2
						goto next
					}
				}
			}
			t.Fatalf("no ask under the cursor\n%s", r.Screen())
		next:
			a := r.last()
			rev++
			it := item(t, a.WorkItemID)
			it.WorkItem.Status = gone[a.Verb]
			it.Lease, it.Intents, it.Blockers = nil, nil, nil
			r.facts(uitest.Changed(it, a.Verb, rev, time.Now()))
		}
		if n := len(r.owner.Acts()); n != 3 || keys > 6 {
			t.Fatalf("%d acts with %d keys\n%s", n, keys, r.Screen())
		}
	})
}

// H-094.
func TestDecide(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.to("decide")
		r.Keys("d", "right")
		r.Must("blocker", "what blocks")
		r.Keys("enter", "enter")
		r.Type("ask the platform team")
		r.Keys("enter")
		r.equal(acop.Act{Verb: acop.VerbResolve, WorkItemID: "work:auth:token-rotation", Decision: acop.StatusBlocked, IfRevision: 1839,
			Blocker: &acop.Blocker{BlockerCode: acop.BlockerExternalDecision, Severity: acop.SeverityMedium, Summary: "ask the platform team"},
			Reason:  "ask the platform team"})
	})
}

// H-092: evidence first, released ids after.
func TestAcceptShowsEvidence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.owner.Answer = func(acop.Act) (*acop.Receipt, error) {
			return &acop.Receipt{Revision: 1900, Status: acop.StatusAccepted, Released: []string{"work:db:next"}}, nil
		}
		r.to("accept")
		r.Keys("a")
		r.Must("Accept work:db:index", "given", "tests-pass", "plan-shown", "2 of 2", "artifact:plan.txt")
		if len(r.owner.Acts()) != 0 {
			t.Fatal("it was accepted before it was confirmed")
		}
		r.Keys("y")
		r.Must("accept work:db:index: done, now accepted", "1 became ready: work:db:next")
	})
}

// Without all the evidence the harmless answer is the default.
func TestAcceptWithoutEvidence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		snap := uitest.Snapshot(time.Now())
		snap.Items[4].Completion.Evidence.ValidationResults = nil
		r.facts(uitest.Live(time.Now()), fleet.SnapshotLoaded{Snapshot: snap, At: time.Now()})
		r.to("accept")
		r.Keys("a")
		r.Must("missing", "0 of 2")
		r.Keys("enter")
		if n := len(r.owner.Acts()); n != 0 {
			t.Fatal("enter accepted it")
		}
	})
}

// H-091.
func TestRevoke(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.to("lease")
		r.Keys("r")
		r.Must("Revoke work:ui:table", "worker-4", "next write is refused")
		r.Keys("enter") // the reason is the ask's own words
		a := r.last()
		if a.Verb != acop.VerbRevoke || a.ClaimID != "claim:work:ui:table" || a.Reason == "" || a.Disposition != acop.StatusReady || a.IfRevision != 1833 {
			t.Fatalf("%+v", a)
		}
	})
}

// H-093: a terminal act names its target and consequence and defaults to No.
func TestCancelConfirms(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.to("lease")
		r.Keys("x")
		r.Must("Cancel work:ui:table", "claim of worker-4 is revoked", "never comes back")
		r.Keys("enter")
		r.Must("reason is needed")
		r.Type("not wanted")
		r.Keys("enter", "enter") // to the buttons; there the default leaves, after a word on the text
		r.Must("lose what you typed", "y leave", "n/esc stay")
		r.MustNot("to the answer")
		r.Keys("y")
		r.MustNot("Cancel work:ui:table")
		if n := len(r.owner.Acts()); n != 0 {
			t.Fatal("enter cancelled it")
		}
		r.Keys("x")
		r.Type("not wanted")
		r.Keys("enter", "y")
		r.equal(acop.Act{Verb: acop.VerbCancel, WorkItemID: "work:ui:table", Reason: "not wanted", IfRevision: 1833})
	})
}

// Promise 8: asked for is not done. The owner's event confirms.
func TestRequestedUntilConfirmed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 140, H: 40})
		r.owner.Hold = make(chan struct{})
		r.owner.Answer = func(acop.Act) (*acop.Receipt, error) { return &acop.Receipt{Revision: 1850}, nil }
		r.to("decide")
		r.Keys("d", "enter")
		r.Must("requested: decide")
		r.Keys("d", "enter")
		r.Must("one act at a time")
		close(r.owner.Hold)
		r.Settle()
		r.Must("requested: decide", "decide work:auth:token-rotation: done") // answered, not yet seen
		it := item(t, "work:auth:token-rotation")
		it.WorkItem.Status, it.Blockers = acop.StatusReady, nil
		r.facts(uitest.Changed(it, acop.VerbResolve, 1850, time.Now()))
		r.MustNot("requested: decide")
		if n := len(r.owner.Acts()); n != 1 {
			t.Fatalf("%d acts", n)
		}
	})
}

// H-095: a refusal says code, plain words, present state and stays until seen.
func TestRefusalIsExplained(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.owner.Answer = func(acop.Act) (*acop.Receipt, error) {
			return nil, acop.Errorf(acop.CodeRevisionMismatch, "the item is at revision 1999")
		}
		r.to("decide")
		r.Keys("d", "enter")
		r.Wait(3 * time.Second)
		r.Must("signalbox.revision_mismatch", "it changed since it was shown", "requires_attention")
		r.MustNot("requested: decide")
		r.Wait(time.Minute)
		r.Must("signalbox.revision_mismatch")
		r.Keys("j")
		r.MustNot("signalbox.revision_mismatch")
	})
}

// The sheet of an item names what its claim shares with another, as the queue does.
func TestSheetNamesOverlaps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 60})
		now := time.Now()
		seam := uitest.Lease(item(t, "work:http:seam"), "worker-7", 10*time.Minute, time.Minute, now)
		seam.WorkItem.Status, seam.Intents = acop.StatusInProgress, nil
		r.facts(uitest.Changed(seam, acop.VerbGrant, 1900, now))
		r.Keys(":")
		r.Type("work:http:pool")
		r.Keys("enter")
		r.Must("Item work:http:pool", "overlap", "server/http", "with worker-7 on work:http:seam")
	})
}

// Promise 2: what changed while a dialog was open is not decided on unseen.
func TestStaleDecisionIsNotTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.to("grant")
		r.Keys("g")
		it := item(t, "work:http:seam")
		it.WorkItem.Title = "Cut the HTTP seam and the store"
		r.facts(uitest.Changed(it, acop.VerbPut, 1900, time.Now()))
		r.Must("changed meanwhile: its text changed")
		r.Type("fine")
		r.Keys("enter")
		if n := len(r.owner.Acts()); n != 0 {
			t.Fatal("the stale decision was sent")
		}
		r.Must("Look again", "Cut the HTTP seam and the store")
		r.Type("!") // the text is kept, and so is the place
		r.Keys("enter")
		if a := r.last(); a.IfRevision != 1900 || a.Reason != "fine!" {
			t.Fatalf("%+v", a)
		}
		// An act that became impossible says so.
		r.to("accept")
		r.Keys("a")
		done := item(t, "work:db:index")
		done.WorkItem.Status = acop.StatusAccepted
		r.facts(uitest.Changed(done, acop.VerbAccept, 1901, time.Now()))
		r.Keys("enter")
		r.Must("no longer possible")
	})
}

// Signs of life move the revision but not the decision.
func TestRenewalDoesNotStopADecision(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.to("lease")
		r.Keys("x")
		r.Type("no")
		it := item(t, "work:ui:table")
		it.Lease.Progress = "still at it"
		r.facts(uitest.Changed(it, acop.VerbHeartbeat, 1950, time.Now()))
		r.MustNot("changed meanwhile")
		r.Keys("enter", "y")
		if a := r.last(); a.IfRevision != 1950 {
			t.Fatalf("%+v", a)
		}
	})
}

// An act that only a sign of life overtook is asked once more; a change that
// matters is explained.
func TestOvertakenAct(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.owner.Answer = func(a acop.Act) (*acop.Receipt, error) {
			if a.IfRevision < 1960 {
				return nil, acop.Errorf(acop.CodeRevisionMismatch, "it is at 1960")
			}
			return &acop.Receipt{Revision: 1961}, nil
		}
		r.to("lease")
		r.Keys("r", "enter")
		r.MustNot("refused:")
		it := item(t, "work:ui:table")
		it.Lease.Progress = "nearly"
		r.facts(uitest.Changed(it, acop.VerbHeartbeat, 1960, time.Now()))
		r.Must("revoke work:ui:table: done")
		acts := r.owner.Acts()
		if len(acts) != 2 || acts[1].IfRevision != 1960 || acts[0].Key == acts[1].Key {
			t.Fatalf("%+v", acts)
		}
	})
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.owner.Answer = func(acop.Act) (*acop.Receipt, error) {
			return nil, acop.Errorf(acop.CodeRevisionMismatch, "it is at 1960")
		}
		r.to("lease")
		r.Keys("r", "enter")
		it := item(t, "work:ui:table")
		it.WorkItem.Status, it.Lease = acop.StatusReady, nil
		r.facts(uitest.Changed(it, acop.VerbExpire, 1960, time.Now()))
		r.Must("refused: signalbox.revision_mismatch", "ready at rev 1960")
		// And one whose event never comes is given up.
		r.Keys("esc")
		r.to("decide")
		r.Keys("d", "enter")
		r.MustNot("refused:")
		r.Wait(3 * time.Second)
		r.Must("refused: signalbox.revision_mismatch")
		if n := len(r.owner.Acts()); n != 2 {
			t.Fatalf("%d acts", n)
		}
	})
}

func TestImpossibleActSaysWhy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.to("decide")
		r.Keys("a")
		r.Must("accept: only completed work can be judged; it is requires_attention")
	})
}

func TestReadOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{ReadOnly: true}, uitest.Options{W: 120, H: 40})
		r.Must("READ-ONLY")
		for _, k := range []string{"d", "g", "a", "x", "n", "F", "i", "p"} {
			r.Keys(k)
			r.Must("--read-only")
			r.Keys("esc")
		}
		if n := len(r.owner.Acts()); n != 0 {
			t.Fatal("something was asked for")
		}
	})
}

// Bulk acts list their targets and report per item.
func TestBulk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.owner.Answer = func(a acop.Act) (*acop.Receipt, error) {
			if a.WorkItemID == "work:db:index" {
				return nil, acop.Errorf(acop.CodeForbidden, "not yours")
			}
			return &acop.Receipt{Revision: 1850}, nil
		}
		r.to("accept")
		r.Keys("space")
		r.to("grant")
		r.Keys("space")
		r.Must("2 rows marked")
		r.Keys("x")
		r.Must("Cancel 2 items", "work:db:index", "work:http:seam")
		r.Type("cleaning up")
		r.Keys("enter", "y")
		r.Must("cancel: 1 of 2 done", "✗ work:db:index", "forbidden", "✓ work:http:seam")
		r.Keys("enter") // it opened by itself: a key meant for something else does nothing
		r.Must("cancel: 1 of 2 done", "keys are ignored until you pause")
		r.Wait(dialogQuiet)
		r.Keys("enter")
		r.MustNot("cancel: 1 of 2 done")
		if n := len(r.owner.Acts()); n != 2 {
			t.Fatalf("%d acts", n)
		}
	})
}

func TestPostNewAndFreeze(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.to("decide")
		r.Keys("p", "enter")
		r.Type("v1 ends in June")
		r.Keys("enter")
		a := r.last()
		if a.Verb != acop.VerbPost || a.Entry == nil || a.Entry.Summary != "v1 ends in June" || a.Entry.EntryKind != acop.EntryDecision ||
			a.Entry.WorkItemID != "work:auth:token-rotation" || a.Entry.AuthorAgentUID != "lead-01" || a.Entry.EntryID == "" {
			t.Fatalf("%+v", a.Entry)
		}
		r.Keys("esc", "n")
		r.Type("work:new:one")
		r.Keys("enter")
		r.Type("A new thing")
		r.Keys("enter")
		a = r.last()
		if a.Verb != acop.VerbPut || a.Document.WorkItem.WorkItemID != "work:new:one" || a.Document.WorkItem.Title != "A new thing" ||
			a.Document.WorkItem.Producer != "lead-01" || a.Document.WorkItem.CreatedAtUTC.IsZero() {
			t.Fatalf("%+v\n%s", a, r.Screen())
		}
		r.Keys("F")
		r.Type("release day")
		r.Keys("enter")
		r.Must("all grants are frozen; running work goes on")
		a = r.last()
		if a.Verb != acop.VerbSettings || a.Settings.Frozen == nil || !*a.Settings.Frozen || a.Settings.Reason != "release day" || a.IfRevision != 7 {
			t.Fatalf("%+v", a)
		}
	})
}

// An ask whose cause is gone leaves by itself and says so in the log.
func TestAskGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		it := item(t, "work:auth:token-rotation")
		it.WorkItem.Status, it.Blockers = acop.StatusReady, nil
		r.facts(uitest.Changed(it, acop.VerbResolve, 1900, time.Now()))
		r.Must("NEEDS YOU (4)")
		r.Keys("6")
		r.Must("ask gone: decide work:auth:token-rotation")
	})
}

// Before the owner has answered, nothing can be decided.
func TestNoRoleYet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Keys("n")
		r.Must("the owner has not answered yet")
	})
}

func TestSnooze(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Must("NEEDS YOU (5)")
		r.to("decide")
		r.Keys("m", "1")
		r.Must("NEEDS YOU (4)", "1 ask snoozed")
		r.Keys("z")
		r.Must("SNOOZED (1)", "decide")
		r.Keys("z")
		r.Wait(16 * time.Minute)
		r.MustNot("ask snoozed")
		r.Must("decide")
		// Until it changes.
		r.to("decide")
		r.Keys("m", "3")
		r.Must("1 ask snoozed")
		it := item(t, "work:auth:token-rotation")
		it.Blockers = nil
		r.facts(uitest.Changed(it, acop.VerbPut, 1999, time.Now()))
		r.MustNot("ask snoozed")
	})
}

// What was put aside until it changes stays there through signs of life: the holder's
// renewals and heartbeats move the item's revision, but nothing hangs on them.
func TestSnoozeSleepsThroughSignsOfLife(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		late := uitest.Lease(uitest.Item("work:http:other", "Other", acop.StatusInProgress, 0, time.Now()), "worker-6", 10*time.Minute, time.Minute, time.Now())
		late.WorkItem.OwnedPaths = []string{"server/http/pool.go"}
		r.facts(uitest.Changed(late, acop.VerbGrant, 2000, time.Now()))
		r.Must("overlap work:http:other")
		r.to("overlap")
		r.Keys("m", "3")
		r.Must("1 ask snoozed")
		for i, id := range []string{"work:http:other", "work:http:pool", "work:http:other"} {
			it := r.m.State().Items[id].Clone()
			it.Lease.Renewals++
			it.Lease.RenewedAtUTC = acop.NewTime(time.Now())
			it.Lease.Claim.ExpiresAtUTC = acop.NewTime(time.Now().Add(10 * time.Minute))
			r.facts(uitest.Changed(it, acop.VerbRenew, uint64(3000+i), time.Now()))
		}
		r.Must("1 ask snoozed")
		other := r.m.State().Items["work:http:other"].Clone()
		other.WorkItem.OwnedPaths = append(other.WorkItem.OwnedPaths, "server/http/pool_test.go")
		pool := r.m.State().Items["work:http:pool"].Clone()
		pool.WorkItem.OwnedPaths = append(pool.WorkItem.OwnedPaths, "server/http/pool_test.go")
		r.facts(uitest.Changed(other, acop.VerbPut, 3010, time.Now()), uitest.Changed(pool, acop.VerbPut, 3011, time.Now()))
		r.MustNot("ask snoozed")
	})
}

// Promise 6: cancel of a task shows requested until the provider answers.
func TestCancelTask(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Keys("tab", "x")
		r.Must("Cancel task_a7", "sentiment", "what it has sent stays readable")
		r.Type("too slow")
		r.Keys("enter", "y")
		if d := cmp.Diff([]string{"cancel task_a7c9d1e2f3 too slow"}, r.buyer.Calls()); d != "" {
			t.Fatal(d)
		}
	})
}

func TestInvoke(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Keys("i")
		r.Must("Invoke", "run-tests", ".003 CU")
		r.Keys("down", "enter")
		r.Type("--oneline")
		r.Keys("enter")
		invs := r.buyer.Invocations()
		if len(invs) != 1 || invs[0].Provider != "local" || invs[0].Params.Capability != "git-log" || !invs[0].Params.Stream ||
			string(invs[0].Params.Input.Data) != `"--oneline"` || invs[0].Params.TimeoutMS != 600_000 {
			t.Fatalf("%+v\n%s", invs, r.Screen())
		}
		// What nobody advertises stays readable and is taken as written.
		r.Keys("i")
		r.Type("zzz-new")
		r.Must("zzz-new", "nothing fits; enter takes it as written")
		r.Keys("enter")
		r.Must("provider", "zzz-new")
		r.Keys("enter", "enter")
		if invs = r.buyer.Invocations(); len(invs) != 2 || invs[1].Provider != "local" || invs[1].Params.Capability != "zzz-new" {
			t.Fatalf("%+v\n%s", invs, r.Screen())
		}
		r.Keys("i")
		r.Must("other", "zzz-new") // remembered
		r.Keys("esc", "i")
		r.Type("git")
		r.Keys("enter", "enter")
		r.Wait(time.Second)
		// A refusal before sending is explained.
		r.buyer.Err = errors.New("the provider is not reachable")
		r.Keys("i", "enter", "enter")
		r.Must("invoke git-log on local refused: the provider is not reachable")
	})
}

// The open question is answered in words; without any the decision says so.
func TestDecideCarriesTheAnswer(t *testing.T) {
	for _, c := range []struct {
		keys   []string
		answer string
		want   string
	}{
		{[]string{"d", "y"}, "", "ready as it stands"},
		{[]string{"d", "enter"}, "", "ready as it stands"},
		{[]string{"d", "tab"}, "minor units, and say so in the docs", "minor units, and say so in the docs"},
	} {
		bubble(t, func(t *testing.T) {
			r := world(t, ui.Options{}, uitest.Options{W: 80, H: 24})
			r.to("decide")
			r.Keys(c.keys...)
			if c.answer != "" {
				r.Type(c.answer)
				r.Keys("enter")
			}
			if got := r.last(); got.Verb != acop.VerbResolve || got.Reason != c.want {
				t.Errorf("%s with the reason %q, want %q\n%s", got.Verb, got.Reason, c.want, r.Screen())
			}
		})
	}
}

// A task has as long as its capability may run; where the provider tells no limit
// the form says which one it takes.
func TestInvokeTakesTheCapabilitysLimit(t *testing.T) {
	for _, c := range []struct {
		limit int64
		keys  []string
		shown string
		want  int64
	}{
		{7_200_000, nil, "2h00, as its provider limits it", 7_200_000},
		{0, nil, "10m00; its provider tells no limit", 600_000},
		{7_200_000, []string{"3", "0", "s"}, "30s", 30_000},
	} {
		bubble(t, func(t *testing.T) {
			r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
			p := uitest.Provider("local", time.Now())
			p.Provider.Settings.Features.Capabilities[0].TimeoutMS = c.limit
			r.facts(p)
			r.Keys("i")
			for n := 0; c.keys != nil && !strings.Contains(r.line("timeout"), "▌"); n++ {
				if n == 12 {
					t.Fatalf("tab does not come to the timeout\n%s", r.Screen())
				}
				r.Keys("tab")
			}
			r.Keys(c.keys...)
			r.Must(c.shown)
			r.Keys("ctrl+s")
			invs := r.buyer.Invocations()
			if len(invs) != 1 || invs[0].Params.TimeoutMS != c.want {
				t.Errorf("%+v\n%s", invs, r.Screen())
			}
		})
	}
}
