package queue

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/screen"
	"signalbox/ui/sheet"
	"signalbox/ui/uitest"
)

// decision is a world of one item that requires attention, with prose of
// several lines in every field that takes some.
func decision(now time.Time) *fleet.State {
	it := uitest.Item("work:ledger:currency", "Minor units or decimals?", acop.StatusRequiresAttention, 3, now)
	it.WorkItem.Summary = "Minor units are exact.\n\nDecimals read better."
	it.Blockers = []acop.Blocker{{BlockerCode: acop.BlockerExternalDecision, Severity: acop.SeverityHigh, Summary: "first\nsecond", SuggestedResolution: "ask\nagain"}}
	it.Operations = []acop.Operation{{Kind: "edit", Description: "cut\npaste"}}
	st := fleet.New()
	st.Apply(uitest.Live(now))
	st.Apply(fleet.SnapshotLoaded{At: now, Snapshot: &acop.Snapshot{Revision: 3, Role: acop.RoleLead, Items: []*acop.Item{it},
		Entries: []acop.Posted{{Revision: 2, Entry: acop.BlackboardEntry{EntryID: "e", WorkItemID: it.ID(), EntryKind: acop.EntryFinding, Summary: "one\ntwo", Details: "three\nfour"}}}}})
	return st
}

// Prose keeps its lines; a stand-in for a line end is for one-line cells alone.
func TestProseKeepsItsLines(t *testing.T) {
	now := time.Now()
	c := ctx(decision(now), now, 160, 60)
	sh := sheet.New(screen.Item("work:ledger:currency", 3))
	for name, view := range map[string]string{"context": ansi.Strip(New().View(c)), "sheet": ansi.Strip(sh.View(c))} {
		right := view
		if name == "context" {
			var b strings.Builder
			for _, l := range strings.Split(view, "\n") {
				_, r, _ := strings.Cut(l, "│")
				b.WriteString(r + "\n")
			}
			right = b.String()
		}
		if strings.Contains(right, "␤") || strings.Contains(right, "␊") {
			t.Errorf("%s: a line end is drawn:\n%s", name, right)
		}
		for _, want := range []string{"Minor units are exact.", "Decimals read better.", "first", "second", "one", "two"} {
			if !strings.Contains(right, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, right)
			}
		}
	}
}

// The room goes to the words: no column is kept for what no ask has, and title
// and detail are not cut while there is room.
func TestRowsUseTheRoom(t *testing.T) {
	now := time.Now()
	for _, size := range []struct{ w, words int }{{76, 26}, {118, 20}, {158, 44}, {238, 102}} {
		s := New()
		asks := decision(now).Asks(now)
		r := arrange(size.w, 36, len(asks), 0)
		ws := columns(r.asks.w, needOf(asks))
		if ws[cBlocks] != 0 {
			t.Errorf("%d: %d cells are kept for blocks that are not", size.w, ws[cBlocks])
		}
		if got := ws[cTitle] + ws[cDetail]; got < size.words {
			t.Errorf("%d: %d cells for the words, want %d", size.w, got, size.words)
		}
		view := ansi.Strip(s.View(ctx(decision(now), now, size.w, 36)))
		if !strings.Contains(strings.Split(view, "\n")[1], "Minor units or decimals?") {
			t.Errorf("%d: the row does not tell its title:\n%s", size.w, view)
		}
	}
	blocking := []fleet.Ask{{Kind: fleet.AskUnreachable, Blocks: 12}, {Kind: fleet.AskTask}}
	ws := columns(64, needOf(blocking))
	if ws[cBlocks] != len("blocks 12") || ws[cKind] != len("unreachable") {
		t.Errorf("%v", ws)
	}
}

// What is ranked by is told in words where there is room for them, the first of the
// rule included, and a number of waiting items is not taken for that of the names
// beside it.
func TestRowsTellTheRule(t *testing.T) {
	now := time.Now()
	st := decision(now)
	last := "work:ledger:currency"
	for i, id := range []string{"work:b", "work:c", "work:d"} {
		it := uitest.Item(id, "Waits", acop.StatusBlocked, 4, now)
		it.Blockers = []acop.Blocker{{BlockerCode: acop.BlockerDependency, Severity: acop.SeverityMedium, DependsOnWorkItemID: last}}
		st.Apply(uitest.Changed(it, acop.VerbPut, uint64(4+i), now))
		last = id
	}
	view := ansi.Strip(New().View(ctx(st, now, 238, 36)))
	if row := strings.Split(view, "\n")[1]; !strings.Contains(row, "decide medium ") {
		t.Errorf("the severity is not told: %q", row)
	}
	// In little room the word is short, and it is still a word: no colour is needed.
	low := uitest.Item("work:low", "Low", acop.StatusRequiresAttention, 9, now)
	low.WorkItem.Priority = acop.PriorityLow
	st.Apply(uitest.Changed(low, acop.VerbPut, 9, now))
	for _, w := range []int{58, 78, 98, 118, 158} {
		narrow := ansi.Strip(New().View(ctx(st, now, w, 36)))
		if !strings.Contains(narrow, "decide med ") || !strings.Contains(narrow, "decide low ") {
			t.Errorf("%d: medium and low look alike:\n%s", w, narrow)
		}
	}
	if !strings.Contains(view, "unblocks  work:b; 3 wait behind it in all") {
		t.Errorf("what it unblocks is not told:\n%s", view)
	}
}

// What happens if nobody acts is in sight at 80x24, with tasks below.
func TestConsequenceIsInSight(t *testing.T) {
	now := time.Now()
	for _, kind := range []string{"decide", "grant", "accept"} {
		st := uitest.World(now)
		for _, id := range []string{"task_c1", "task_d1", "task_e1"} {
			for _, f := range uitest.TaskFacts(id, "run-tests", now) {
				st.Apply(f)
			}
		}
		s, c := New(), ctx(st, now, 80, 20)
		s.SetFilter("kind:" + kind)
		if view := ansi.Strip(s.View(c)); !strings.Contains(view, "If nobody acts: ") || !strings.Contains(view, "LIVE TASKS") {
			t.Errorf("%s:\n%s", kind, view)
		}
	}
}
