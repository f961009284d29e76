package ui_test

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// B91: nothing of the dashboard is left in the cells of the alternate screen, as
// some multiplexers show them again when the terminal has grown meanwhile.
func TestQuitLeavesBlankCells(t *testing.T) {
	for _, key := range []string{"q", "ctrl+c"} {
		bubble(t, func(t *testing.T) {
			r := open(t, ui.Options{}, uitest.Options{W: 80, H: 24})
			r.Resize(120, 40)
			r.Keys(key)
			if v := r.m.View(); strings.TrimSpace(ansi.Strip(v.Content)) != "" || !v.AltScreen {
				t.Errorf("%s: the last frame is not blank: %q", key, v.Content)
			}
			out := r.Written()
			if i := strings.LastIndex(out, "\x1b[?1049l"); i < 0 || !strings.Contains(out[max(0, i-200):i], "\x1b[2J") && !strings.Contains(out[max(0, i-200):i], "\x1b[J") {
				t.Errorf("%s: the cells were not wiped before the screen was left: %q", key, out[max(0, i-200):])
			}
		})
	}
}

// Why a key cannot act now is told in full, in the help and in the palette, and
// the palette prefers what can.
func TestReasonsAreNotCut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{ReadOnly: true}, uitest.Options{W: 80, H: 26})
		r.Keys("?")
		seen := strings.Join(strings.Fields(strings.ReplaceAll(r.Screen(), "│", " ")), " ")
		if n := strings.Count(seen, "not now: this program was started with --read-only"); n != 1 || strings.Count(seen, "(likewise)") < 5 || strings.Contains(seen, "…") {
			t.Errorf("the reason is told %d times, and not left at that for the keys below\n%s", n, r.Screen())
		}
		r.Keys("esc", ":")
		if l := r.line("▌ "); strings.Contains(l, "not now") {
			t.Errorf("what cannot act is picked first: %q", l)
		}
		r.Type("deny")
		r.Must("deny cannot act now: this program was started with --read-only")
	})
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.to("decide")
		r.Keys("?")
		for _, l := range strings.Split(r.Screen(), "\n")[3:4] {
			if strings.Contains(l, "not now") || strings.Contains(l, "it is requires_attention") {
				t.Errorf("a reason is torn from its key: %q", l)
			}
		}
		r.Keys("esc", ":")
		r.Type("rev")
		r.Must("revoke cannot act now: nobody holds it") // not "previous screen"
		r.Keys("esc", ":")
		r.Type("block")
		r.Must("block cannot act now: only a ready item can be blocked") // not decide, whose note speaks of blocked
	})
}

// Until the person presses a key the cursor is on the worst ask, whatever was
// known first.
func TestCursorStartsOnTheWorstAsk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		late := uitest.TaskFacts("task_late", "run-tests", time.Now().Add(-50*time.Second))
		r.facts(late...)
		r.Must("▌ ")
		r.facts(uitest.Live(time.Now()), fleet.SnapshotLoaded{Snapshot: uitest.Snapshot(time.Now()), At: time.Now()})
		_, first := r.Find("NEEDS YOU")
		if !strings.Contains(r.Row(first+1), "▌") {
			t.Fatalf("the cursor is not on the first row\n%s", r.Screen())
		}
		worse := uitest.Item("work:new:worst", "A worse one", acop.StatusRequiresAttention, 1843, time.Now())
		worse.WorkItem.Priority = acop.PriorityUrgent
		r.facts(uitest.Changed(worse, acop.VerbPut, 1843, time.Now()))
		if !strings.Contains(r.Row(first+1), "▌") {
			t.Fatalf("the cursor left the first row before any key\n%s", r.Screen())
		}
		was := r.Row(first + 1)
		r.Keys("?", "esc")
		worse = uitest.Item("work:a:worse", "Worse still", acop.StatusRequiresAttention, 1844, time.Now().Add(-time.Hour))
		worse.WorkItem.Priority = acop.PriorityUrgent
		r.facts(uitest.Changed(worse, acop.VerbPut, 1844, time.Now()))
		for _, l := range strings.Split(r.Screen(), "\n") {
			if strings.Contains(l, "▌") && l[:40] != was[:40] {
				t.Fatalf("the row moved under the cursor\n%s", r.Screen())
			}
		}
	})
}

// One esc takes the toast and clears the filter.
func TestEscTakesToastAndFilter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Keys("/")
		r.Type("kind:decide")
		r.Keys("enter", "D")
		r.Must("deny: ", "esc clears")
		r.Keys("esc")
		r.MustNot("deny: ", "esc clears")
	})
}
