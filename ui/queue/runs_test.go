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
	"signalbox/ui/uitest"
)

// crowded is a world of 300 asks: 210 to accept, 60 of them urgent, and 90 to decide, 40
// of them of low priority.
func crowded(now time.Time) *fleet.State {
	var items []*acop.Item
	for i := range 300 {
		status, prio := acop.StatusCompleted, acop.PriorityMedium
		switch {
		case i < 60:
			prio = acop.PriorityUrgent
		case i >= 260:
			status, prio = acop.StatusRequiresAttention, acop.PriorityLow
		case i >= 210:
			status = acop.StatusRequiresAttention
		}
		it := uitest.Item(fmt.Sprintf("work:%03d", i), "Title", status, uint64(i+1), now.Add(time.Duration(i)*time.Second))
		it.WorkItem.Priority = prio
		items = append(items, it)
	}
	st := fleet.New()
	st.Apply(uitest.Live(now))
	st.Apply(fleet.SnapshotLoaded{At: now, Snapshot: &acop.Snapshot{Revision: 300, Role: acop.RoleLead, Items: items}})
	return st
}

// } goes through the beginnings of the runs and { back through them, from within a run
// to its own beginning first; both stop at the ends.
func TestRuns(t *testing.T) {
	now := time.Now()
	c, s := ctx(crowded(now), now, 120, 30), New()
	at := func(keys string) string {
		for _, k := range strings.Fields(keys) {
			s.Update(c, uitest.Key(k))
		}
		return s.Target(c).WorkItemID
	}
	first := at("home")
	for _, step := range []struct{ keys, want string }{
		{"}", "work:060"}, {"}", "work:210"}, {"}", "work:260"}, {"}", "work:299"}, {"}", "work:299"},
		{"{", "work:260"}, {"down down {", "work:260"}, {"{", "work:210"}, {"{ {", first}, {"{", first},
	} {
		if got := at(step.keys); got != step.want {
			t.Errorf("%s: at %s, want %s", step.keys, got, step.want)
		}
	}
	s.SetFilter("nothing:fits")
	if s.Update(c, uitest.Key("}")); s.Target(c) != (screen.Target{}) {
		t.Errorf("%+v", s.Target(c))
	}
}

// A filter that hides the selected row leaves the cursor at the first row it shows; one
// that shows it leaves it there.
func TestFilterKeepsOrStartsAtTheTop(t *testing.T) {
	now := time.Now()
	c, s := ctx(crowded(now), now, 120, 30), New()
	for _, k := range strings.Fields("home } } down down") {
		s.Update(c, uitest.Key(k))
	}
	if got := s.Target(c).WorkItemID; got != "work:212" {
		t.Fatal(got)
	}
	s.SetFilter("kind:decide")
	if got := s.Target(c).WorkItemID; got != "work:212" {
		t.Errorf("a row that is shown was left for %s", got)
	}
	s.SetFilter("kind:accept severity:medium")
	s.View(c)
	if got := s.Target(c).WorkItemID; got != "work:060" {
		t.Errorf("at %s", got)
	}
	s.Update(c, uitest.Key("down"))
	s.SetFilter("kind:accept severity:medium") // the same again moves nothing
	if got := s.Target(c).WorkItemID; got != "work:061" {
		t.Errorf("at %s", got)
	}
}

// Where not all asks are in sight the heading tells what they are, the rule gives way
// before the numbers, and what is filtered out is not counted.
func TestHeadingCountsKinds(t *testing.T) {
	now := time.Now()
	st := crowded(now)
	for _, size := range []struct {
		w    int
		want string
	}{{60, "NEEDS YOU (300)  decide 90 · accept 210"}, {80, "NEEDS YOU (300)  decide 90 · accept 210"}, {120, "NEEDS YOU (300)  decide 90 · accept 210"},
		{238, "NEEDS YOU (300)  decide 90 · accept 210"}} {
		c, s := ctx(st, now, size.w, 30), New()
		head := strings.Split(ansi.Strip(s.View(c)), "\n")[0]
		if !strings.Contains(head, size.want) || size.w == 238 && !strings.Contains(head, "rule: severity") {
			t.Errorf("%d: %q", size.w, head)
		}
		s.SetFilter("severity:high,low")
		if head = strings.Split(ansi.Strip(s.View(c)), "\n")[0]; !strings.Contains(head, "NEEDS YOU (100)  decide 40 · accept 60") {
			t.Errorf("%d: %q", size.w, head)
		}
	}
	c, s := ctx(decision(now), now, 120, 30), New()
	if head := strings.Split(ansi.Strip(s.View(c)), "\n")[0]; strings.Contains(head, "decide") || !strings.Contains(head, "rule:") {
		t.Errorf("one ask in sight needs no count: %q", head)
	}
}

// Kinds without room are counted together and nothing is cut in a word.
func TestCensusFits(t *testing.T) {
	var asks []fleet.Ask
	for i, k := range fleet.AskKinds() {
		for range 10 * (i + 1) {
			asks = append(asks, fleet.Ask{Kind: k})
		}
	}
	for w := range 200 {
		line := census(asks, w, " · ")
		if len([]rune(line)) > w {
			t.Fatalf("%d: %q", w, line)
		}
		for _, word := range strings.Split(line, " · ") {
			if f := strings.Fields(word); line != "" && len(f) != 2 && !strings.HasSuffix(word, " more kinds") && word != "1 more kind" {
				t.Fatalf("%d: %q", w, line)
			}
		}
	}
	if line := census(asks, 60, " · "); !strings.HasPrefix(line, "decide 10 · grant 20 · ") || !strings.HasSuffix(line, " more kinds") {
		t.Errorf("%q", line)
	}
}
