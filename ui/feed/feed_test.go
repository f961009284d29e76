package feed

import (
	"os"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/pane/worlds"
	"signalbox/ui/screen"
	"signalbox/ui/uitest"
)

// C-041, H-096, house rule 31.
func TestSweep(t *testing.T) { worlds.Sweep(t, func() screen.Screen { return New() }) }

// B93: state can be read without colour and without more than ASCII.
func TestPlain(t *testing.T) { worlds.Plain(t, func() screen.Screen { return New() }) }

func press(s *Screen, c *screen.Ctx, keys ...string) (out screen.Intent) {
	for _, k := range keys {
		out = s.Update(c, uitest.Key(k))
	}
	return out
}

func view(s *Screen, c *screen.Ctx) string { return ansi.Strip(s.View(c)) }

func post(st *fleet.State, id string) {
	st.Apply(fleet.OwnerEvent{At: worlds.Now, Event: acop.Event{Family: acop.FamilyBlackboard, Revision: st.Revision + 1, Last: true, AtUTC: acop.NewTime(worlds.Now), Verb: "post", WorkItemID: "work:ui:table",
		Entry: &acop.BlackboardEntry{EntryID: id, WorkItemID: "work:ui:table", EntryKind: acop.EntryFinding, AuthorAgentUID: "worker-2", CreatedAtUTC: acop.NewTime(worlds.Now), Status: acop.EntryActive, Summary: "new " + id}}})
}

// C-041: superseded by link, dimmed, and both ends lead to each other.
func TestSuperseded(t *testing.T) {
	st := worlds.One()
	c := worlds.Ctx(st, 118, 30)
	s := New()
	if !s.Select(c, screen.Target{Kind: screen.KindEntry, ID: "entry_1"}) {
		t.Fatal("no entry_1")
	}
	v := view(s, c)
	if !strings.Contains(v, "↳ superseded    worker-1") || !strings.Contains(v, "by entry_2") {
		t.Errorf("superseded:\n%s", v)
	}
	press(s, c, "o")
	if got := s.Target(c).ID; got != "entry_2" {
		t.Errorf("o leads to %q", got)
	}
	press(s, c, "o")
	if got := s.Target(c).ID; got != "entry_1" {
		t.Errorf("o leads back to %q", got)
	}
}

// Promise 2: while the feed follows nothing is selected; a selected row stays.
func TestFollow(t *testing.T) {
	st := worlds.One()
	c := worlds.Ctx(st, 78, 20)
	s := New()
	s.View(c)
	post(st, "a")
	if v := view(s, c); !strings.Contains(v, "new a") || !s.Target(c).IsZero() {
		t.Fatalf("must follow with nothing selected, but %q:\n%s", s.Target(c).ID, v)
	}
	press(s, c, "k")
	if got := s.Target(c).ID; got != "a" {
		t.Fatalf("the first key selects the newest, got %q", got)
	}
	post(st, "b")
	post(st, "c")
	if v := view(s, c); !strings.Contains(v, "2 new below") || s.Target(c).ID != "a" {
		t.Errorf("place lost, now %q:\n%s", s.Target(c).ID, v)
	}
	press(s, c, "G")
	post(st, "d")
	if v := view(s, c); !strings.Contains(v, "new d") || !s.Target(c).IsZero() {
		t.Errorf("G must follow:\n%s", v)
	}
}

func TestFilter(t *testing.T) {
	st := worlds.One()
	c := worlds.Ctx(st, 78, 20)
	s := New()
	for line, want := range map[string]int{"kind:risk": 1, "agent:worker-1": 2, "status:superseded": 1, "item:auth -kind:risk": 2, "lock order": 1, "nothing": 0, "": 5} {
		s.SetFilter(line)
		if got := len(s.Shown(c)); got != want {
			t.Errorf("%q shows %d, want %d", line, got, want)
		}
	}
}

func BenchmarkView(b *testing.B) {
	c := worlds.Ctx(worlds.Many(10000, 200, 50), 238, 66)
	s := New()
	for b.Loop() {
		s.View(c)
	}
}

// TestDump prints views for a person to read: SIGNALBOX_DUMP=1 go test -run Dump -v.
func TestDump(t *testing.T) {
	if os.Getenv("SIGNALBOX_DUMP") == "" {
		t.Skip("set SIGNALBOX_DUMP to read the views")
	}
	for _, size := range [][2]int{{78, 20}, {118, 24}, {238, 24}} {
		s := New()
		c := worlds.Ctx(worlds.One(), size[0], size[1])
		s.Select(c, screen.Target{Kind: screen.KindEntry, ID: "entry_2"})
		t.Log("\n" + view(s, c))
	}
	t.Log("\n" + view(New(), worlds.Ctx(worlds.Empty(), 78, 14)))
}

// An entry has repository and branch from its item: when that changes, what fits
// changes with it.
func TestFilterByPlaceFollowsTheItem(t *testing.T) {
	st := worlds.One()
	post(st, "entry_place")
	c := worlds.Ctx(st, 118, 30)
	s := New()
	s.SetFilter("repo:moved")
	if v := view(s, c); strings.Contains(v, "new entry_place") {
		t.Fatalf("it fits before it was moved:\n%s", v)
	}
	it := st.Items["work:ui:table"].Clone()
	it.WorkItem.TargetRepoID = "repo-moved"
	st.Apply(uitest.Changed(it, acop.VerbPut, st.Revision+1, worlds.Now))
	if v := view(s, c); !strings.Contains(v, "new entry_place") {
		t.Errorf("its item is in the repository now:\n%s", v)
	}
	it.WorkItem.TargetBranch = "other"
	s.SetFilter("-branch:other entry_place")
	view(s, c)
	st.Apply(uitest.Changed(it, acop.VerbPut, st.Revision+1, worlds.Now))
	if v := view(s, c); strings.Contains(v, "new entry_place") {
		t.Errorf("its item is on another branch now:\n%s", v)
	}
}
