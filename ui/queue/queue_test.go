package queue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/screen"
	"signalbox/ui/sheet"
	"signalbox/ui/theme"
	"signalbox/ui/uitest"
)

var sizes = [][2]int{{0, 0}, {1, 1}, {40, 10}, {60, 12}, {78, 20}, {118, 36}, {238, 66}}

func ctx(st *fleet.State, now time.Time, w, h int) *screen.Ctx {
	return &screen.Ctx{State: st, Now: now, Styles: theme.New(theme.Options{Dark: true}), W: w, H: h, Focused: true}
}

// worldsOf are states that strain a layout.
func worldsOf(now time.Time) map[string]*fleet.State {
	one := fleet.New()
	for _, f := range []fleet.Fact{uitest.Live(now), fleet.SnapshotLoaded{At: now, Snapshot: &acop.Snapshot{
		Revision: 1, Role: acop.RoleLead, Items: []*acop.Item{uitest.Item("work:one", "One", acop.StatusCompleted, 1, now)},
	}}} {
		one.Apply(f)
	}
	hard := fleet.New()
	var items []*acop.Item
	for i, text := range []string{strings.Repeat("very long ", 400), "宽宽宽宽 ⚠️ 👨‍👩‍👧 1️⃣ e\u0301", "\x1b[2J\x1b]52;c;aGk=\x07\u202e a\r\nb", ""} {
		it := uitest.Item(fmt.Sprint(i, text), text, acop.Statuses()[i%3], uint64(i+1), now)
		it.WorkItem.Summary, it.WorkItem.OwnedPaths = text, []string{text}
		it.Blockers = []acop.Blocker{{BlockerCode: text, Summary: text, Severity: acop.Severity(text), DependsOnWorkItemID: text}}
		it.ValidationRequirements = []acop.ValidationRequirement{{RequirementID: text, Summary: text}}
		it.Completion = &acop.Completion{CompletedBy: text, Evidence: acop.CompletionEvidence{ArtifactIDs: []string{text}}}
		items = append(items, uitest.Intent(uitest.Lease(it, text, time.Minute, time.Minute, now), text, now))
	}
	hard.Apply(fleet.SnapshotLoaded{At: now, Snapshot: &acop.Snapshot{Revision: 9, Identity: "x", Role: acop.RoleLead, Items: items}})
	many := uitest.World(now)
	for i := range 300 {
		many.Apply(uitest.Changed(uitest.Item(fmt.Sprintf("work:many:%d", i), "Many", acop.StatusRequiresAttention, uint64(2000+i), now), acop.VerbPut, uint64(2000+i), now))
	}
	return map[string]*fleet.State{"empty": fleet.New(), "one": one, "some": uitest.World(now), "hard": hard, "many": many}
}

func exact(t *testing.T, name, view string, w, h int) {
	t.Helper()
	if w <= 0 || h <= 0 {
		if view != "" {
			t.Errorf("%s: something is drawn into nothing", name)
		}
		return
	}
	lines := strings.Split(view, "\n")
	if len(lines) != h {
		t.Errorf("%s %dx%d: %d lines", name, w, h, len(lines))
	}
	for i, l := range lines {
		if n := ansi.StringWidth(l); n != w {
			t.Errorf("%s %dx%d: line %d is %d cells: %q", name, w, h, i, n, ansi.Strip(l))
		}
		if s := ansi.Strip(l); strings.ContainsAny(s, "\x1b\r\x07\u202e") || strings.Contains(l, "\x1b]") || strings.Contains(l, "\x1b[2J") {
			t.Errorf("%s: control characters in %q", name, l)
		}
	}
}

func TestSweep(t *testing.T) {
	now := time.Now()
	for name, st := range worldsOf(now) {
		for _, size := range sizes {
			c := ctx(st, now, size[0], size[1])
			s := New()
			exact(t, name, s.View(c), size[0], size[1])
			for _, k := range []string{"down", "down", "end", "pgup", "tab", "down", "J", "tab", "z", "z", "home"} {
				s.Update(c, uitest.Key(k))
				exact(t, name+" after "+k, s.View(c), size[0], size[1])
				s.Target(c)
				s.Shown(c)
			}
			s.SetFilter("kind:grant -nothing")
			exact(t, name+" filtered", s.View(c), size[0], size[1])
			for id := range st.Items {
				sh := sheet.New(screen.Item(id, 1))
				exact(t, name+" sheet", sh.View(c), size[0], size[1])
				sh.Loading(1, st)
				sh.Loaded(1, &acop.Detail{Revision: 3, Item: st.Items[id], Claims: []acop.Claim{{WorkerAgentUID: id, ClaimStatus: acop.ClaimStatus(id)}},
					Events: []acop.Event{{Actor: id, Verb: id, Reason: id, Code: id, From: acop.Status(id), To: acop.StatusReady}}}, "")
				sh.Update(c, uitest.Key("end"))
				exact(t, name+" sheet end", sh.View(c), size[0], size[1])
				if len(st.Items) > 20 {
					break
				}
			}
		}
	}
}

func TestArrange(t *testing.T) {
	for _, c := range []struct {
		w, h, asks, tasks int
		want              plan
	}{
		{118, 36, 5, 2, plan{rect{0, 0, 70, 33}, rect{0, 33, 70, 3}, rect{71, 0, 47, 36}, true}},
		{78, 20, 5, 2, plan{rect{0, 0, 78, 6}, rect{0, 17, 78, 3}, rect{0, 6, 78, 11}, false}},
		{78, 20, 1, 0, plan{rect{0, 0, 78, 2}, rect{}, rect{0, 2, 78, 18}, false}}, // one ask takes one row
		{78, 20, 99, 0, plan{rect{0, 0, 78, 14}, rect{}, rect{0, 14, 78, 6}, false}},
		{58, 10, 5, 0, plan{rect{0, 0, 58, 10}, rect{}, rect{}, false}},
		{0, 0, 5, 5, plan{}},
	} {
		if got := arrange(c.w, c.h, c.asks, c.tasks); got != c.want {
			t.Errorf("%d×%d with %d and %d: %+v, want %+v", c.w, c.h, c.asks, c.tasks, got, c.want)
		}
	}
}

// The target carries what the row showed.
func TestTargetIsTheRow(t *testing.T) {
	now := time.Now()
	c := ctx(uitest.World(now), now, 118, 36)
	s := New()
	if !s.Select(c, screen.Item("work:http:seam", 0)) {
		t.Fatal("the ask is not there")
	}
	got := s.Target(c)
	if got.Kind != screen.KindIntent || got.ID != "intent:work:http:seam" || got.WorkItemID != "work:http:seam" || got.Revision != 1820 || got.AskKey == "" {
		t.Errorf("%+v", got)
	}
	s.Select(c, screen.Task("task_a7c9d1e2f3"))
	if got := s.Target(c); got.Kind != screen.KindTask || got.TaskID != "task_a7c9d1e2f3" {
		t.Errorf("%+v", got)
	}
}

// With nothing put aside, the list of what was put aside is empty: it must never show
// what waits under that name.
func TestSnoozedListOfNothing(t *testing.T) {
	now := time.Now()
	st := uitest.World(now)
	c, s := ctx(st, now, 120, 36), New()
	if len(s.Shown(c)) == 0 {
		t.Fatal("no ask waits")
	}
	s.Update(c, uitest.Key("z"))
	if shown := s.Shown(c); len(shown) > 0 {
		t.Errorf("%d asks are shown as snoozed", len(shown))
	}
	if view := ansi.Strip(s.View(c)); !strings.Contains(view, "Nothing is snoozed") {
		t.Errorf("the screen does not say that nothing is snoozed\n%s", view)
	}
}

// The last line of the context can be scrolled to wherever the context stands.
func TestContextScrollsToItsEnd(t *testing.T) {
	now := time.Now()
	it := uitest.Item("work:long", "Long", acop.StatusRequiresAttention, 1, now)
	for i := range 30 {
		it.Blockers = append(it.Blockers, acop.Blocker{BlockerCode: fmt.Sprintf("code-%d", i), Severity: acop.SeverityHigh})
	}
	it.WorkItem.OwnedPaths = []string{"the/last/line.go"}
	st := fleet.New()
	st.Apply(fleet.SnapshotLoaded{At: now, Snapshot: &acop.Snapshot{Revision: 1, Role: acop.RoleLead, Items: []*acop.Item{it}}})
	for _, size := range [][2]int{{78, 20}, {120, 20}} {
		c, s := ctx(st, now, size[0], size[1]), New()
		for range 100 {
			s.Update(c, uitest.Key("J"))
			s.View(c)
		}
		if view := ansi.Strip(s.View(c)); !strings.Contains(view, "the/last/line.go") {
			t.Errorf("%dx%d: the end of the context is out of reach\n%s", size[0], size[1], view)
		}
	}
}

// The context says how much of it is out of sight, scrolls no further than there is
// something to read, and drawing changes nothing.
func TestContextScrolls(t *testing.T) {
	now := time.Now()
	st := uitest.World(now)
	it := uitest.Item("work:long", "Long", acop.StatusRequiresAttention, 2000, now)
	it.WorkItem.Priority = acop.PriorityUrgent
	for i := range 40 {
		it.Blockers = append(it.Blockers, acop.Blocker{BlockerCode: fmt.Sprint("code_", i), Summary: "why"})
	}
	st.Apply(uitest.Changed(it, acop.VerbPut, 2000, now))
	for _, size := range [][2]int{{78, 20}, {158, 36}} {
		s, c := New(), ctx(st, now, size[0], size[1])
		s.Select(c, screen.Item("work:long", 0))
		if v := ansi.Strip(s.View(c)); !strings.Contains(v, " more ") || strings.Contains(v, " above") || strings.Contains(v, "code_39") {
			t.Errorf("%v: what is out of sight is not told:\n%s", size, v)
		}
		for range 200 {
			s.Update(c, uitest.Key("J")) // and no frame between them
		}
		at := s.scroll
		v := ansi.Strip(s.View(c))
		if !strings.Contains(v, " above") || strings.Contains(v, " more ") || s.scroll != at {
			t.Errorf("%v: not at the end, or drawing scrolled:\n%s", size, v)
		}
		s.Update(c, uitest.Key("K"))
		if v = ansi.Strip(s.View(c)); !strings.Contains(v, "J 1 more") {
			t.Errorf("%v: one line back is not one line back:\n%s", size, v)
		}
		s.Update(c, uitest.Key("down"))
		if v = ansi.Strip(s.View(c)); strings.Contains(v, " above") {
			t.Errorf("%v: another row is not shown from its beginning:\n%s", size, v)
		}
	}
}
