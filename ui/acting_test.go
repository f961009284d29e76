package ui_test

import (
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

// Numbers in forms have their unit: a term is written and read as a length of time, and
// what is none is refused with what is one.
func TestFormsTellUnits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.to("grant")
		r.Keys("g")
		r.Must("TTL 10m · scope")
		if l := r.line("TTL     "); !strings.Contains(l, "10m ") || !strings.Contains(l, "s m h d; the owner may give less") {
			t.Errorf("%s", l)
		}
		r.Type("the pool is nearly done")
		r.Keys("shift+tab", "ctrl+u")
		r.Must("the worker's wish, or the owner's choice")
		r.Type("soon")
		r.Keys("ctrl+s")
		r.Must("a TTL is like 40s, 10m or 2h, from 1s to 365d;")
		r.Keys("ctrl+u")
		r.Type("1h30m")
		r.Keys("ctrl+s")
		if a := r.last(); a.TTLSeconds != 5400 {
			t.Errorf("%+v\n%s", a, r.Screen())
		}
		r.to("decide")
		r.Keys("p")
		for _, want := range [][2]string{{"confidence", "0 to 1"}} {
			if l := r.line(want[0]); !strings.Contains(l, want[1]) {
				t.Errorf("%s", l)
			}
		}
		r.Keys("esc", "n")
		if l := r.line(" score "); !strings.Contains(l, "0 to 1") {
			t.Errorf("%s", l)
		}
		r.Keys("esc", "3", "i")
		for _, want := range [][2]string{{"timeout", "s m h d"}, {"at most", "CU"}} {
			if l := r.line(want[0]); !strings.Contains(l, want[1]) {
				t.Errorf("%s", l)
			}
		}
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

// What was given and not asked for is evidence as well: beside the ask, where it is
// accepted, and on the sheet.
func TestEvidenceNobodyAskedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		it := item(t, "work:db:index")
		it.Completion.Evidence.ValidationResults = append(it.Completion.Evidence.ValidationResults, "soak-10m")
		r.facts(uitest.Changed(it, acop.VerbComplete, 1900, time.Now()))
		r.to("accept")
		r.Must("│ unasked   soak-10m")
		r.Keys("a")
		r.Must("Accept work:db:index", "2 of 2", "│ unasked   soak-10m  ") // over the one beside the ask
		r.Keys("esc", "enter")
		r.Must("REQUIREMENTS AND EVIDENCE", "unasked", "soak-10m")
	})
}

// What was sent back is replaced: the word is about the successor and names it.
func TestSendBackNamesTheSuccessor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.owner.Answer = func(acop.Act) (*acop.Receipt, error) {
			return &acop.Receipt{Revision: 1900, Status: acop.StatusReady,
				Item: &acop.Item{WorkItem: acop.WorkItem{WorkItemID: "work:repair", Status: acop.StatusReady}}}, nil
		}
		r.to("accept")
		r.Keys("s", " again", "enter", "y")
		r.Must("send back work:db:index: done, it goes on as work:repair, ready")
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

// Before the owner has answered, nothing can be decided.
func TestNoRoleYet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Keys("n")
		r.Must("the owner has not answered yet")
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
