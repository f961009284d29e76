package ui_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// dialogQuiet is over the pause in front of a dialog that opened by itself.
const dialogQuiet = 400 * time.Millisecond

// onBoard puts the cursor of the board on an item.
func (r *rig) onBoard(id string) {
	r.t.Helper()
	r.Keys(":")
	r.Type(id)
	r.Keys("enter")
	r.Must("Item " + id)
}

// did fails unless the last act has the verb and stands on the item.
func (r *rig) did(verb acop.Verb, id string) {
	r.t.Helper()
	if a := r.last(); a.Verb != verb || a.WorkItemID != id {
		r.t.Fatalf("the owner was asked for %s on %q, want %s on %q\n%s", a.Verb, a.WorkItemID, verb, id, r.Screen())
	}
}

// called fails unless the buyer was called so.
func (r *rig) called(call string) {
	r.t.Helper()
	for _, c := range r.buyer.Calls() {
		if strings.HasPrefix(c, call) {
			return
		}
	}
	r.t.Fatalf("the buyer was called %q, want %q\n%s", r.buyer.Calls(), call, r.Screen())
}

// way is how an action is tried. The key is the one of the live key map.
type way struct {
	prepare func(*rig)               // puts the cursor where the action can act
	answer  []string                 // keys in its dialog; a word with a blank before it is typed
	check   func(r *rig, key string) // what it must have done
	// refuse puts the cursor where it cannot act; nil for what is always possible.
	refuse func(*rig)
	why    string
}

// All asks of a kind are marked with one key, beside what is marked, and unmarked with
// the same; an act reports on each of them.
func TestMarkLike(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		for i := range 3 {
			it := uitest.Item(fmt.Sprint("work:more:", i), "More", acop.StatusCompleted, 0, time.Now())
			r.next(it, acop.VerbComplete)
		}
		r.to("decide")
		r.Keys("+")
		r.Must("1 row marked")
		r.to("accept")
		r.Keys("+")
		r.Must("5 rows marked")
		r.Keys("home") // the decision is the first row
		r.Keys("+")
		r.Must("4 rows marked")
		r.Keys("a")
		r.Must("Accept 4 items")
		r.Keys("esc", "esc")
		r.MustNot("marked")
	})
}

// ways has every action; a new one without an entry fails the test.
func ways() map[string]way {
	onAsk := func(kind string) func(*rig) { return func(r *rig) { r.to(kind) } }
	onItem := func(id string) func(*rig) { return func(r *rig) { r.onBoard(id) } }
	onTask := func(r *rig) { r.Keys("3") }
	did := func(verb acop.Verb, id string) func(*rig, string) { return func(r *rig, _ string) { r.did(verb, id) } }
	shows := func(needles ...string) func(*rig, string) { return func(r *rig, _ string) { r.Must(needles...) } }
	ended := func(r *rig) {
		r.facts(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventResult, TaskID: "task_a7c9d1e2f3", Provider: "local",
			At: time.Now(), Result: &acmp.Result{TaskID: "task_a7c9d1e2f3"}}})
		r.Keys("3")
		r.facts(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventResult, TaskID: "task_b1b2b3b4b5", Provider: "local",
			At: time.Now(), Result: &acmp.Result{TaskID: "task_b1b2b3b4b5"}}})
	}
	failed := func(r *rig) {
		r.facts(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventError, TaskID: "task_b1b2b3b4b5", Provider: "local",
			At: time.Now(), Err: &acmp.Error{Code: acmp.CodeInternal, Message: "no disk"}}})
		r.to("task")
	}
	noRole := func(r *rig) {
		snap := uitest.Snapshot(time.Now())
		snap.Role = acop.RoleReader
		r.facts(fleet.SnapshotLoaded{Snapshot: snap, At: time.Now()})
	}
	w := map[string]way{
		"grant":     {onAsk("grant"), []string{" the pool is nearly done", "enter"}, did(acop.VerbGrant, "work:http:seam"), onAsk("accept"), "grant: "},
		"deny":      {onAsk("grant"), []string{" not now", "enter"}, did(acop.VerbDeny, "work:http:seam"), onAsk("accept"), "deny: "},
		"decide":    {onAsk("decide"), []string{"y"}, did(acop.VerbResolve, "work:auth:token-rotation"), onAsk("accept"), "decide: "},
		"accept":    {onAsk("accept"), []string{"y"}, did(acop.VerbAccept, "work:db:index"), onAsk("decide"), "accept: only completed work"},
		"send-back": {onAsk("accept"), []string{" again", "enter", "y"}, did(acop.VerbSendBack, "work:db:index"), onAsk("decide"), "send back: "},
		"revoke":    {onAsk("lease"), []string{"ctrl+s"}, did(acop.VerbRevoke, "work:ui:table"), onAsk("decide"), "revoke: "},
		"cancel":    {onAsk("decide"), []string{" no use", "enter", "y"}, did(acop.VerbCancel, "work:auth:token-rotation"), ended, "cancel: the task has ended"},
		"block":     {onItem("work:cli:flags"), []string{"enter", " waits", "enter"}, did(acop.VerbBlock, "work:cli:flags"), onItem("work:db:index"), "block: "},
		"requeue":   {onItem("work:ops:backup"), nil, did(acop.VerbRequeue, "work:ops:backup"), onItem("work:db:index"), "requeue: "},
		"consume": {func(r *rig) {
			it := item(r.t, "work:db:index")
			it.WorkItem.Status = acop.StatusAccepted
			r.facts(uitest.Changed(it, acop.VerbAccept, 1900, time.Now()))
			r.onBoard("work:db:index")
		}, []string{"y"}, did(acop.VerbConsume, "work:db:index"), onItem("work:cli:flags"), "consume: "},
		"supersede": {onItem("work:cli:flags"), []string{" work:db:index", "enter", " newer", "enter", "y"}, did(acop.VerbSupersede, "work:cli:flags"),
			func(r *rig) { noRole(r); r.onBoard("work:cli:flags") }, "supersede: "},
		"post": {onAsk("decide"), []string{"enter", " a word", "ctrl+s"}, did(acop.VerbPost, "work:auth:token-rotation"),
			func(r *rig) { noRole(r); r.Keys("1") }, "post: "},
		"edit": {onAsk("decide"), nil, func(r *rig, _ string) {
			r.Wait(2 * time.Second) // the input loop is awaited when the editor takes the terminal
			r.Must("Post on work:auth:token-rotation", "from the editor", "with details")
		}, nil, ""},
		"new":    {nil, []string{" work:new", "enter", " title", "enter"}, did(acop.VerbPut, "work:new"), noRole, "new item: "},
		"freeze": {nil, []string{" release", "enter"}, did(acop.VerbSettings, ""), noRole, "freeze: "},
		"invoke": {nil, []string{"enter", "enter"}, func(r *rig, _ string) { r.called("invoke local run-tests") },
			func(r *rig) {
				p := uitest.Provider("local", time.Now())
				p.Provider.Settings = nil
				r.facts(p)
			}, "invoke: provider local runs no tasks: it has no ACMP"},
		"write-out": {onTask, nil, shows("saved to /tmp/x/task_"), onAsk("decide"), "write out: "},
		"resend":    {onTask, []string{"y"}, func(r *rig, _ string) { r.called("resend task_") }, ended, "re-send: the task has ended"},
		"open":      {onAsk("decide"), nil, shows("Item work:auth:token-rotation"), func(r *rig) { r.Keys("4", "/"); r.Type("nothing fits"); r.Keys("enter") }, "open: no row is selected"},
		"snooze":    {onAsk("decide"), []string{"1"}, shows("1 ask snoozed"), onTask, "snooze: only an ask"},
		"seen": {failed, nil, func(r *rig, _ string) {
			r.Must("seen: task_", "it stays on the Tasks screen")
			r.called("seen task_b1b2b3b4b5")
		}, onAsk("decide"), "seen: this ask leaves by itself"},
		"copy":      {onAsk("decide"), nil, shows("clipboard: work:auth:token-rotation"), func(r *rig) { r.Keys("4", "/"); r.Type("nothing fits"); r.Keys("enter") }, "copy id: no row is selected"},
		"mark":      {onAsk("decide"), nil, shows("1 row marked"), func(r *rig) { r.Keys("4", "/"); r.Type("nothing fits"); r.Keys("enter") }, "mark: no row is selected"},
		"mark-all":  {nil, nil, shows("5 rows marked"), nil, ""},
		"mark-like": {onAsk("decide"), nil, shows("1 row marked"), onTask, "mark kind: only the asks"},
		"next":      {nil, nil, shows("─ Board"), nil, ""},
		"previous":  {nil, nil, shows("─ Log"), nil, ""},
		"filter":    {nil, []string{" grant", "enter"}, shows("filter grant"), nil, ""},
		"palette":   {nil, nil, shows("─ Commands"), nil, ""},
		"help":      {nil, nil, shows("Keys, as they are now"), nil, ""},
		"suspend":   {nil, nil, nil, nil, ""}, // a real terminal shows it: cli's tests
		"quit":      {nil, nil, shows("tasks are running"), nil, ""},
	}
	for id, name := range map[string]string{"queue": "Queue", "board": "Board", "tasks": "Tasks", "feed": "Feed", "agents": "Agents", "log": "Log"} {
		w["go-"+id] = way{func(r *rig) { r.Keys("]", "]") }, nil, shows("─ " + name), nil, ""}
	}
	return w
}

// tryOptions make everything possible that an action may need.
func tryOptions() ui.Options {
	return ui.Options{
		Editor: []string{"sh", "-c", `printf 'from the editor\n\nwith details\n' >"$0"`},
		Save:   func(name string, _ []byte) (string, error) { return "/tmp/x/" + name, nil },
		SaveFrom: func(name string, r io.Reader) (string, error) {
			_, err := io.Copy(io.Discard, r)
			return "/tmp/x/" + name, err
		},
	}
}

// Every action of the key map does what it says at its key, is listed in the help
// and in the palette, and where it cannot act says why and does nothing.
func TestEveryAction(t *testing.T) {
	all := ways()
	for _, b := range ui.KeyMap() {
		w, ok := all[b.ID]
		if !ok {
			t.Errorf("the action %s is not tried here", b.ID)
			continue
		}
		t.Run(b.ID, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				suspended := false
				r := world(t, tryOptions(), uitest.Options{W: 120, H: 40, Filter: func(_ tea.Model, msg tea.Msg) tea.Msg {
					if _, ok := msg.(tea.SuspendMsg); ok {
						suspended = true
						return nil // this process goes on
					}
					return msg
				}})
				if w.prepare != nil {
					w.prepare(r)
				}
				before := r.Screen()
				r.Keys(b.Keys[0])
				if suspended != (b.ID == "suspend") {
					t.Fatalf("%s suspends: %v", b.Keys[0], suspended)
				}
				if b.ID == "suspend" {
					return
				}
				if r.Screen() == before && len(r.owner.Acts()) == 0 && len(r.buyer.Calls()) == 0 && !strings.HasPrefix(b.ID, "go-") {
					t.Fatalf("the key %s does nothing\n%s", b.Keys[0], r.Screen())
				}
				for _, k := range w.answer {
					if text, ok := strings.CutPrefix(k, " "); ok {
						r.Type(text)
						continue
					}
					r.Keys(k)
				}
				if w.check != nil {
					w.check(r, b.Keys[0])
				}
			})
			if w.refuse == nil {
				return
			}
			bubble(t, func(t *testing.T) {
				r := world(t, tryOptions(), uitest.Options{W: 120, H: 40})
				w.refuse(r)
				r.Keys(b.Keys[0])
				r.Must(w.why)
				if n := len(r.owner.Acts()) + len(r.buyer.Calls()); n != 0 {
					t.Fatalf("a refused action asked for something\n%s", r.Screen())
				}
			})
		})
	}
}

// The help lists every action with its key.
func TestHelpListsEveryAction(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 240, H: 70})
		r.Keys("?")
		for _, b := range ui.KeyMap() {
			if !r.Has(b.Help) {
				t.Errorf("the help does not have %s: %q\n", b.ID, b.Help)
			}
		}
		r.Keys("esc", ":")
		r.Type("supersede")
		r.Must("replace the item by another one")
	})
}

// Read-only refuses every act at its key and asks for nothing.
func TestReadOnlyRefusesEveryAct(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := tryOptions()
		o.ReadOnly = true
		r := world(t, o, uitest.Options{W: 120, H: 40})
		for _, b := range ui.KeyMap() {
			if b.Group != "Decide" && b.Group != "Work items" && b.Group != "Tasks" || b.ID == "write-out" {
				continue
			}
			r.Keys(b.Keys[0])
			r.Must("--read-only")
			r.Keys("esc", "esc")
		}
		if n := len(r.owner.Acts()) + len(r.buyer.Calls()); n != 0 {
			t.Fatal("something was asked for")
		}
	})
}

// Promise 2: what was decided on is not what is there any more. Each ends in an
// explained refusal, and nothing is asked for.
func TestTargetChangedUnderTheDialog(t *testing.T) {
	for name, c := range map[string]struct {
		open   func(*rig)
		change func(*rig)
		answer []string
		why    string
	}{
		"item replaced": {
			func(r *rig) { r.to("accept"); r.Keys("a") },
			func(r *rig) {
				it := item(r.t, "work:db:index")
				it.WorkItem.Status, it.Completion = acop.StatusSuperseded, nil
				r.facts(uitest.Changed(it, acop.VerbSendBack, 1900, time.Now()))
			}, []string{"y"}, "no longer possible",
		},
		"claim granted anew": {
			func(r *rig) { r.to("lease"); r.Keys("r") },
			func(r *rig) {
				it := uitest.Lease(item(r.t, "work:ui:table"), "worker-9", 10*time.Minute, 0, time.Now())
				it.Lease.Claim.ClaimID = "claim:of-another"
				r.facts(uitest.Changed(it, acop.VerbClaim, 1900, time.Now()))
			}, []string{"ctrl+s"}, "another claim holds it now",
		},
		"task sent again": {
			func(r *rig) { r.Keys("3", "x"); r.Type("too slow") },
			func(r *rig) {
				for _, id := range []string{"task_a7c9d1e2f3", "task_b1b2b3b4b5"} {
					r.facts(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventResent, TaskID: id, Provider: "local", At: time.Now(), Attempt: 2}})
				}
			}, []string{"enter", "y"}, "runs as attempt 2",
		},
		"task ended": {
			func(r *rig) { r.Keys("3", "x"); r.Type("too slow") },
			func(r *rig) {
				for _, id := range []string{"task_a7c9d1e2f3", "task_b1b2b3b4b5"} {
					r.facts(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventResult, TaskID: id, Provider: "local", At: time.Now(),
						Result: &acmp.Result{TaskID: id}}})
				}
			}, []string{"enter", "y"}, "the task has ended",
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
				c.open(r)
				c.change(r)
				r.Keys(c.answer...)
				r.Must(c.why)
				if n := len(r.owner.Acts()) + len(r.buyer.Calls()); n != 0 {
					t.Fatalf("an act went to the wrong target: %+v %v", r.owner.Acts(), r.buyer.Calls())
				}
			})
		})
	}
}

// What the clipboard cannot take goes into a file, and says so.
func TestCopyFallsBackToAFile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := tryOptions()
		o.NoClipboard = true
		r := world(t, o, uitest.Options{W: 120, H: 40})
		r.to("decide")
		r.Keys("y")
		r.Must("this terminal has no clipboard; saved to /tmp/x/copy.txt")
	})
}

// A notification goes to the command only for what is above the floor and while
// nobody looks; the hook for asks gets every one.
func TestHooksGetAsks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		got, told := make(chan fleet.Ask, 9), make(chan fleet.Ask, 9)
		r := world(t, ui.Options{
			Notify: "command", Floor: fleet.SeverityHigh,
			NotifyBy: func(_ context.Context, a fleet.Ask) { told <- a },
			OnAsk:    func(_ context.Context, a fleet.Ask) { got <- a },
		}, uitest.Options{W: 120, H: 40})
		add := func(id string, p acop.Priority, rev uint64) {
			it := uitest.Item(id, "x", acop.StatusRequiresAttention, rev, time.Now())
			it.WorkItem.Priority = p
			r.facts(uitest.Changed(it, acop.VerbPut, rev, time.Now()))
		}
		add("work:a", acop.PriorityUrgent, 1850)
		if len(got) != 1 || len(told) != 0 {
			t.Fatalf("%d and %d under the eyes of the lead", len(got), len(told))
		}
		r.Send(tea.BlurMsg{})
		add("work:b", acop.PriorityLow, 1851)
		add("work:c", acop.PriorityUrgent, 1852)
		if len(got) != 3 || len(told) != 1 || (<-told).WorkItemID != "work:c" {
			t.Fatalf("%d and %d", len(got), len(told))
		}
	})
}

// New items carry all that was entered.
func TestNewItemFields(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Keys("n")
		r.Type("work:new:full")
		r.Keys("tab")
		r.Type("Full")
		r.Keys("tab", "right", "tab", "right", "tab")
		r.Type("why")
		r.Keys("tab")
		r.Type("work:missing")
		r.Keys("ctrl+s")
		r.Must("there is no item work:missing")
		r.Keys("ctrl+u")
		r.Type("work:cli:flags")
		r.Keys("tab")
		r.Raw("\x1b[200~tests-pass: unit tests pass\nplan: the plan is shown\x1b[201~")
		r.Wait(pasteOver)
		r.Keys("tab")
		r.Type("a/**, b.go")
		r.Keys("tab", "tab")
		r.Type("repo-1")
		r.Keys("ctrl+s")
		doc := r.last().Document
		if doc == nil {
			t.Fatal(r.Screen())
		}
		w := doc.WorkItem
		if w.Status != acop.StatusBlocked || len(doc.Blockers) != 1 || doc.Blockers[0].DependsOnWorkItemID != "work:cli:flags" ||
			len(doc.ValidationRequirements) != 2 || doc.ValidationRequirements[1].RequirementID != "plan" ||
			len(w.OwnedPaths) != 2 || w.TargetRepoID != "repo-1" || w.WorkKind != acop.KindRefactor || w.Summary != "why" {
			t.Fatalf("%+v\n%+v", w, doc)
		}
	})
}
