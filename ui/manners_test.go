package ui_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

func TestStartAndQuit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{Server: "http://box:7700"}, uitest.Options{W: 120, H: 40})
		r.Must("1 Queue", "connecting", "Nothing is known to need you", "? keys")
		if !r.AltScreen() || r.Title() != "signalbox" {
			t.Errorf("alternate screen %v, title %q", r.AltScreen(), r.Title())
		}
		r.Keys("q")
		if !r.Ended() || r.AltScreen() || r.CursorHidden() || r.Err != nil {
			t.Errorf("ended %v, alternate screen %v, cursor hidden %v, err %v", r.Ended(), r.AltScreen(), r.CursorHidden(), r.Err)
		}
		for _, mode := range []string{"\x1b[?2004l", "\x1b[?1004l", "\x1b[?1002l"} {
			if !strings.Contains(r.Written(), mode) {
				t.Errorf("%q was not written: the terminal is left in a mode", mode)
			}
		}
	})
}

// Quitting says what would stop and is harmless by default.
func TestQuitWarns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{CarriesOwner: true, CanBackground: true}, uitest.Options{W: 120, H: 40})
		r.Keys("q")
		r.Must("2 tasks are running", "2 claims are live", "keep it going in the background")
		r.Keys("enter")
		r.MustNot("2 tasks are running;")
		if r.Ended() {
			t.Fatal("enter quit")
		}
		r.Keys("q", "b")
		if !r.Ended() || !r.m.Background() {
			t.Error("it did not go on in the background")
		}
	})
}

func TestInterruptTwiceLeaves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{})
		r.Keys("ctrl+c")
		r.Must("tasks are running")
		r.Keys("ctrl+c")
		if !r.Ended() || !r.m.Interrupted() {
			t.Error("the second ctrl+c did not leave")
		}
	})
}

// Loss of the owner is said with the age of what is shown, and recovery once.
func TestOwnerLostAndBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		seen := time.Now()
		r.Wait(14 * time.Second)
		lost := fleet.LinkChanged{Link: fleet.Link{State: fleet.LinkDegraded, LastSeen: seen, Try: 3, Problem: "connection refused"}}
		r.facts(lost)
		r.Must("owner lost, as of 1", "s ago, reconnecting, try 3", "does not answer", "work:auth:token")
		r.Wait(10 * time.Second)
		r.Must("as of 2")
		r.facts(uitest.Live(time.Now()))
		r.Must("the owner is back", "● ", "rev 1842")
		r.facts(fleet.LinkChanged{Link: fleet.Link{State: fleet.LinkRefused, Problem: "bad token"}})
		r.Must("refused by the owner")
	})
}

func TestFrozenBadge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{}, uitest.Options{W: 80, H: 24})
		snap := uitest.Snapshot(time.Now())
		snap.Settings.Frozen = true
		r.facts(uitest.Live(time.Now()), fleet.SnapshotLoaded{Snapshot: snap, At: time.Now()})
		r.Must("FROZEN")
	})
}

// B89, B91: every size draws exactly; the settled frame equals a fresh start.
func TestSizes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 80, H: 24})
		for _, s := range [][2]int{{20, 5}, {5, 2}, {1, 1}, {0, 0}, {59, 40}, {60, 16}, {134, 40}, {240, 70}, {80, 24}} {
			r.Resize(s[0], s[1])
			r.Keys("j", "?", "esc")
			if s[0] == 0 {
				continue
			}
			lines := strings.Split(r.m.View().Content, "\n")
			if len(lines) != s[1] {
				t.Errorf("%v: %d lines", s, len(lines))
			}
			for i, l := range lines {
				if w := ansi.StringWidth(l); w != s[0] {
					t.Errorf("%v: line %d is %d cells wide", s, i, w)
				}
			}
		}
		// What the terminal shows after all that is what a fresh drawing gives.
		r.showsFresh("at the end")
	})
}

// B89: it starts in a window of any size; each screen that was scrolled to its end
// survives a window that is as good as none, and is whole again afterwards.
func TestStartsAndShrinksToNothing(t *testing.T) {
	for _, start := range [][2]int{{1, 1}, {5, 2}, {80, 24}} {
		bubble(t, func(t *testing.T) {
			r := world(t, ui.Options{}, uitest.Options{W: start[0], H: start[1]})
			for _, key := range []string{"1", "2", "3", "4", "5", "6"} {
				r.Resize(80, 24)
				r.Keys(key, "end", "pgdown")
				name := r.Row(1)[:20]
				for _, s := range [][2]int{{20, 5}, {5, 2}, {1, 1}, {0, 0}, {80, 24}} {
					r.Resize(s[0], s[1])
					r.Keys("end", "pgdown")
				}
				if got := r.Row(1); !strings.HasPrefix(got, name) {
					t.Errorf("from %v: screen %s was %q and is %q", start, key, name, got)
				}
				r.showsFresh(fmt.Sprintf("from %v, screen %s", start, key))
			}
			r.Resize(1, 1)
			r.Keys("q")
			if !r.Ended() {
				t.Errorf("from %v: q does not leave", start)
			}
		})
	}
}

// showsFresh fails the test unless the terminal shows what a fresh drawing gives.
func (r *rig) showsFresh(when string) {
	r.t.Helper()
	fresh := strings.Split(ansi.Strip(r.m.View().Content), "\n")
	for i, l := range strings.Split(r.Screen(), "\n") {
		if strings.TrimRight(fresh[i], " ") != l {
			r.t.Errorf("%s: row %d shows %q, not %q", when, i, l, fresh[i])
		}
	}
}

func TestTooSmallCanQuit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 40, H: 10})
		r.Must("needs 60×16")
		r.Keys("x", "d", "enter") // nothing that cannot be seen acts
		r.Keys("q")
		if !r.Ended() || len(r.owner.Acts()) > 0 {
			t.Error("q did not quit, or something acted unseen")
		}
	})
}

// B16, B22: pasted text never runs a command, nor does what follows in the same
// read.
func TestPasteRunsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Raw("\x1b[200~note\x1b[201~qdx\x1b[201~")
		if r.Ended() {
			t.Fatal("a pasted q quit")
		}
		r.MustNot("Decide work", "Cancel work")
		r.Wait(time.Second)
		r.Keys("d")
		r.Must("Decide work")
		r.Keys("esc", "/")
		r.Raw("\x1b[200~02:00:3F:10:3F:7A\x1b[201~")
		r.Must("02:00:3F:10:3F:7A")
		r.Wait(time.Second)
		r.Keys("ctrl+u")
		r.Raw("\x1b[200~[97;5:3u\x1b[201~")
		r.Must("/[97;5:3u")
	})
}

func TestFilter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Keys("/")
		r.Type("kind:grant")
		r.Must("NEEDS YOU (1)", "work:http")
		r.Keys("enter")
		r.Must("filter kind:grant, esc clears")
		r.Keys("esc")
		r.Must("NEEDS YOU (5)")
		r.Keys("/")
		r.Type("nothing fits this")
		r.Must("Nothing fits the filter")
		r.Keys("esc")
		r.Must("NEEDS YOU (5)")
	})
}

func TestPaletteAndHelp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Keys("?")
		r.Must("Keys, as they are now", "grant the item to the worker", "not now:")
		r.Keys("esc", ":")
		r.Type("board")
		r.Keys("enter")
		r.Must("─ Board")
		r.Keys("1", ":")
		r.Type("task_a7")
		r.Keys("enter")
		r.Must("─ Tasks")
		r.Keys("1", ":")
		r.Type("decide")
		r.Keys("enter")
		r.Must("Decide work:auth:token-rotation")
	})
}

// Rows never move under the cursor.
func TestCursorHoldsItsRow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.to("grant")
		worse := uitest.Item("work:new:worst", "A worse one", acop.StatusRequiresAttention, 1843, time.Now())
		worse.WorkItem.Priority = acop.PriorityUrgent
		r.facts(uitest.Changed(worse, acop.VerbPut, 1843, time.Now()))
		for _, l := range strings.Split(r.Screen(), "\n") {
			if strings.Contains(l, "▌") && !strings.Contains(l, " grant ") {
				t.Fatalf("the cursor is on another row\n%s", r.Screen())
			}
		}
		r.Keys("g")
		r.Must("Grant work:http:seam")
	})
}

func TestMouse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		x, y := r.Find("work:db:index")
		r.Send(tea.BlurMsg{}, tea.FocusMsg{})
		r.Click(x, y) // the click that brings the focus does nothing
		r.Must("▌ ! decide")
		r.Click(x, y)
		r.Must("▌ ✓ accept")
		r.Wait(time.Second)
		r.Click(x, y)
		r.MustNot("Item work")
		r.Click(x, y)
		r.Must("Item work:db:index")
		r.Keys("esc")
		bx, by := r.Find("2 Board")
		r.Click(bx, by)
		r.Must("─ Board")
	})
}

// B21: a flood of the wheel in one read is taken in at once; the key behind it
// acts, and nothing moves on after it.
func TestWheelFlood(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 80, H: 24})
		r.Keys("2", "home")
		r.Raw(strings.Repeat("\x1b[<65;10;10M", 200) + "k")
		list := r.m.State().Items
		at := strings.Count(r.Screen()[:strings.Index(r.Screen(), "▌")], "\n")
		r.Raw("j")
		if end := strings.Count(r.Screen()[:strings.Index(r.Screen(), "▌")], "\n"); end <= at {
			t.Errorf("of %d items row %d is selected, then row %d: the key did not act at the end\n%s", len(list), at, end, r.Screen())
		}
		before := r.Screen()
		r.Wait(time.Second)
		if r.Screen() != before && strings.Index(r.Screen(), "▌") != strings.Index(before, "▌") {
			t.Errorf("it moves on:\n%s", r.Screen())
		}
		r.Raw(strings.Repeat("j", 300) + "1")
		r.Must("─ Queue")
	})
}

// B93: no colour is needed to read a state; a light terminal gets its own.
func TestColours(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{NoColor: true}, uitest.Options{W: 120, H: 40})
		r.Must("decide", "attention")
		for _, sgr := range []string{"38;2;", "48;2;", "[31m"} {
			if strings.Contains(r.m.View().Content, sgr) {
				t.Errorf("%q is in a view without colour", sgr)
			}
		}
	})
	views := map[string]bool{}
	for _, light := range []bool{false, true} { // each alone: the end of one lets minutes pass, in which another would draw
		bubble(t, func(t *testing.T) {
			views[world(t, ui.Options{}, uitest.Options{W: 120, H: 40, Light: light}).m.View().Content] = true
		})
	}
	if len(views) != 2 {
		t.Error("a light terminal is drawn as a dark one")
	}
	anyColour := regexp.MustCompile(`\x1b\[([0-9]+;)*(3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]`)
	for p, never := range map[colorprofile.Profile]*regexp.Regexp{
		colorprofile.ASCII: anyColour, colorprofile.ANSI: regexp.MustCompile(`[34]8;[25];`), colorprofile.ANSI256: regexp.MustCompile(`[34]8;2;`),
	} {
		bubble(t, func(t *testing.T) {
			r := world(t, ui.Options{}, uitest.Options{Profile: p})
			r.Must("decide")
			r.Keys("2", "3", "g", "esc")
			if got := never.FindString(r.Written()); got != "" {
				t.Errorf("%v: %q was written", p, got)
			}
			if p != colorprofile.ASCII && !anyColour.MatchString(r.Written()) {
				t.Errorf("%v: no colour at all", p)
			}
		})
	}
}

func TestASCII(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{ASCII: true}, uitest.Options{W: 120, H: 40})
		for _, keys := range [][]string{{"home"}, {"g"}, {"?"}, {":"}, {"x"}, {"enter"}, {"i"}} {
			r.Keys(keys...)
			for _, c := range r.m.View().Content {
				if c > 0x7e {
					t.Fatalf("%v: %q is drawn\n%s", keys, c, r.Screen())
				}
			}
			r.Keys("esc")
		}
	})
}

// B96, H-096: nothing that came from outside reaches the terminal as control.
func TestHostileText(t *testing.T) {
	attacks := []string{
		"\x1b]52;c;aGk=\x07", "\x1b]0;owned\x07", "\x1b[2J", "\x1b[10A", "\x1b[6n", "\x1b[?1049l", "\x1bc",
		"\x1bPq#0\x1b\\", "\x1b_Gx\x1b\\", "\x1b]9;x\x07", "\u202e", "\u009b2J", "a\rb\nc\vd\x00e\u0085f",
	}
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		now := time.Now()
		evil := strings.Join(attacks, " ")
		var items []*acop.Item
		for i, st := range acop.Statuses() {
			it := uitest.Item(fmt.Sprintf("work:%d:%s", i, evil), evil, st, uint64(i+1), now)
			it.WorkItem.Summary, it.WorkItem.OwnedPaths, it.WorkItem.TargetBranch = evil, []string{evil}, evil
			it.Blockers = []acop.Blocker{{BlockerCode: evil, Summary: evil, Severity: acop.Severity(evil)}}
			uitest.Intent(it, evil, now)
			items = append(items, it)
		}
		snap := &acop.Snapshot{Revision: 50, Identity: evil, Role: acop.RoleLead, Items: items, Entries: []acop.Posted{{Revision: 40, Entry: acop.BlackboardEntry{
			EntryID: evil, WorkItemID: items[0].ID(), EntryKind: acop.EntryKind(evil), AuthorAgentUID: evil, Summary: evil, Details: evil,
		}}}}
		r.facts(uitest.Live(now), fleet.SnapshotLoaded{Snapshot: snap, At: now})
		r.facts(uitest.TaskFacts("task"+evil, evil, now)...)
		r.owner.Answer = func(acop.Act) (*acop.Receipt, error) { return nil, acop.Errorf(acop.Code(evil), "%s", evil) }
		for _, k := range []string{"j", "g", "esc", "d", "enter", "x", "esc", "enter", "esc", "2", "j", "enter", "esc", "3", ":", "esc", "?", "esc", "p", "esc", "y"} {
			r.Keys(k)
		}
		out := r.Written()
		for _, seq := range []string{"\x1b]52;c;aGk=", "\x1b]0;owned", "\x1b]9;x", "\x1bc", "\x1bPq#0", "\x1b_G", "\x1b[10A", "\x1b[6n"} {
			if i := strings.Index(out, seq); i >= 0 {
				t.Errorf("%q of an agent reached the terminal: %q", seq, out[max(0, i-40):min(len(out), i+40)])
			}
		}
		if strings.ContainsAny(r.m.View().Content, "\u202e\u009b\u0085\r\v\x00\x07") {
			t.Errorf("a control character is in the view\n%q", r.Screen())
		}
		for _, l := range strings.Split(r.m.View().Content, "\n") {
			if ansi.StringWidth(l) != 120 {
				t.Errorf("a line is %d cells wide: %q", ansi.StringWidth(l), ansi.Strip(l))
			}
		}
	})
}

// A new ask rings only when nobody looks.
func TestBell(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{Notify: "bell"}, uitest.Options{W: 120, H: 40})
		add := func(id string, rev uint64) {
			it := uitest.Item(id, "x", acop.StatusRequiresAttention, rev, time.Now())
			it.WorkItem.Priority = acop.PriorityUrgent
			r.facts(uitest.Changed(it, acop.VerbPut, rev, time.Now()))
		}
		add("work:a", 1850)
		if r.Bells() != 0 {
			t.Error("it rang under the eyes of the lead")
		}
		r.Send(tea.BlurMsg{})
		add("work:b", 1851)
		if r.Bells() != 1 {
			t.Errorf("%d bells", r.Bells())
		}
		if r.Title() != "signalbox (7)" {
			t.Errorf("title %q", r.Title())
		}
	})
}

// B83: an idle box draws nothing new between two minutes.
func TestIdleIsIdle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.facts(uitest.Live(time.Now()))
		r.Wait(2 * time.Minute)
		before := len(r.Written())
		r.Wait(20 * time.Second)
		if n := len(r.Written()) - before; n > 200 {
			t.Errorf("%d bytes written while nothing moved", n)
		}
	})
}

// Lists say how much of them is out of sight, above and below.
func TestListsTellWhatIsOutOfSight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 80, H: 24})
		for n := range 60 {
			id := fmt.Sprintf("work:many:%02d", n)
			it := uitest.Lease(uitest.Item(id, "x", acop.StatusInProgress, 1900, time.Now()), fmt.Sprintf("worker-%02d", n), 10*time.Minute, 0, time.Now())
			r.facts(uitest.Changed(it, acop.VerbClaim, uint64(1900+n), time.Now()))
			entry := uitest.Changed(it, acop.VerbPost, uint64(2000+n), time.Now())
			entry.Event.Family, entry.Event.Entry = acop.FamilyBlackboard, &acop.BlackboardEntry{EntryID: "entry:" + id, WorkItemID: id, EntryKind: acop.EntryFinding, Summary: "s"}
			r.facts(entry)
			r.facts(uitest.TaskFacts("task_"+id, "x", time.Now())[0])
		}
		for _, key := range []string{"2", "3", "4", "5", "6"} {
			r.Keys(key, "home")
			r.Must(" below ")
			r.MustNot(" above")
			r.Keys("pgdown", "pgdown")
			r.Must(" above", " below ")
			r.Keys("end")
			r.Must(" above ")
			r.MustNot(" below")
		}
		r.Keys("2", "enter")
		r.Resize(60, 16)
		r.Must("Item work:", "↓ ") // the sheet is longer than the screen
	})
}

// What a screen is for stands in its key row at every width, also while nothing
// is selected.
func TestKeyRowHasWhatTheScreenIsFor(t *testing.T) {
	for _, w := range []int{60, 80, 120} {
		bubble(t, func(t *testing.T) {
			r := world(t, ui.Options{}, uitest.Options{W: w, H: 24})
			for key, want := range map[string]string{"2": "n new item", "3": "i invoke", "4": "p post", "5": "i invoke"} {
				r.Keys(key)
				if row := r.Row(23); !strings.Contains(row, want) {
					t.Errorf("%d cells, screen %s: no %q in %q", w, key, want, row)
				}
			}
			r.Keys("4", "p")
			r.Must("post: no row is selected; k selects the newest")
			r.Keys("k", "p")
			r.Must("Post on ")
		})
	}
}

// On a sheet enter has nothing to open, and says so.
func TestEnterOnASheet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Keys("enter")
		r.Must("Item work:")
		r.Keys("enter")
		r.Must("open: this is everything about the row")
	})
}

// An empty screen lets the owner's address be copied, and lists no key that would
// do nothing there.
func TestEmptyScreensGiveTheAddress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.facts(uitest.Live(time.Now()), fleet.SnapshotLoaded{At: time.Now(), Snapshot: &acop.Snapshot{Role: acop.RoleLead, Identity: "lead-01"}})
		for _, key := range []string{"1", "2", "4", "5", "6"} {
			r.Keys(key)
			r.Must("http://127.0.0.1:7700 (y copies the address)")
			if row := r.Row(39); strings.Contains(row, "k select") {
				t.Errorf("nothing to select: %q", row)
			}
			r.Keys("y")
			r.Must("clipboard: the owner's address")
			r.Keys("esc", "*")
			r.Must("mark all: no row is shown")
		}
	})
}
