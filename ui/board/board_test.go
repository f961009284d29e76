package board

import (
	"os"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/pane/worlds"
	"signalbox/ui/screen"
	"signalbox/ui/uitest"
)

// H-096, house rule 31: every size, every world, both layouts.
func TestSweep(t *testing.T) {
	worlds.Sweep(t, func() screen.Screen { return New() })
	worlds.Sweep(t, func() screen.Screen { return &Screen{asList: true, closed: true} })
	worlds.Sweep(t, func() screen.Screen { return &Screen{by: byRepo, order: byTitle} })
}

// B93: state can be read without colour and without more than ASCII.
func TestPlain(t *testing.T) { worlds.Plain(t, func() screen.Screen { return New() }) }

func press(s *Screen, c *screen.Ctx, keys ...string) {
	for _, k := range keys {
		s.Update(c, uitest.Key(k))
	}
}

func change(st *fleet.State, id string, f func(*acop.Item)) {
	it := st.Items[id].Clone()
	f(it)
	it.Revision++
	st.Apply(fleet.OwnerEvent{At: worlds.Now, Event: acop.Event{Family: acop.FamilyWorkUpdate, Revision: st.Revision + 1, Last: true,
		AtUTC: acop.NewTime(worlds.Now), Verb: "block", WorkItemID: id, Item: it}})
}

// Promise 2: the selected card stays selected wherever it goes.
func TestSelectionFollowsItsCard(t *testing.T) {
	for name, size := range map[string][2]int{"columns": {238, 66}, "list": {78, 20}} {
		t.Run(name, func(t *testing.T) {
			st := worlds.One()
			c := worlds.Ctx(st, size[0], size[1])
			s := New()
			if !s.Select(c, screen.Item("work:http:seam", 0)) {
				t.Fatal("cannot select")
			}
			change(st, "work:http:seam", func(i *acop.Item) { i.WorkItem.Status = acop.StatusBlocked })
			change(st, "work:auth:docs", func(i *acop.Item) { i.WorkItem.Status = acop.StatusReady })
			worlds.Exact(t, name, s.View(c), c.W, c.H)
			got := s.Target(c)
			if got.ID != "work:http:seam" || got.Revision != st.Items["work:http:seam"].Revision {
				t.Errorf("target %+v", got)
			}
		})
	}
}

func TestMoveFilterGroup(t *testing.T) {
	st := worlds.One()
	c := worlds.Ctx(st, 238, 66)
	s := New()
	if got := s.Target(c).ID; got != "work:auth:token-rotation" {
		t.Fatalf("first is %q", got)
	}
	press(s, c, "l")
	if got := s.Target(c).ID; got != "work:http:seam" {
		t.Errorf("right: %q", got)
	}
	press(s, c, "l", "l", "j")
	if got := s.Target(c); got.ID != "work:ui:table" || got.Worker != "worker-2" || got.ClaimID == "" {
		t.Errorf("held: %+v", got)
	}
	s.SetFilter("status:completed")
	if got := s.Shown(c); len(got) != 1 || got[0].ID != "work:db:index" {
		t.Errorf("filtered: %+v", got)
	}
	if !s.Select(c, screen.Item("work:http:seam", 0)) || s.Filter() != "" {
		t.Error("Select must clear a filter that hides its target")
	}
	press(s, c, "v")
	if len(s.Shown(c)) != 7 || s.inColumns(c) {
		t.Error("grouped by repo: a list of all")
	}
}

func BenchmarkView(b *testing.B) {
	st := worlds.Many(10000, 200, 50)
	for name, s := range map[string]*Screen{"columns": New(), "list": {asList: true}, "filtered": func() *Screen { s := New(); s.SetFilter("status:ready area"); return s }()} {
		c := worlds.Ctx(st, 238, 66)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.View(c)
			}
		})
		b.Run(name+"-changing", func(b *testing.B) {
			n := 0
			for b.Loop() {
				n++
				b.StopTimer()
				change(st, "work:area03:item-00003", func(i *acop.Item) { i.StatusSinceUTC = acop.NewTime(worlds.Now.Add(time.Duration(n) * time.Second)) })
				b.StartTimer()
				s.View(c)
			}
		})
	}
}

// TestDump prints views for a person to read: SIGNALBOX_DUMP=1 go test -run Dump -v.
func TestDump(t *testing.T) {
	if os.Getenv("SIGNALBOX_DUMP") == "" {
		t.Skip("set SIGNALBOX_DUMP to read the views")
	}
	for _, size := range [][2]int{{78, 20}, {118, 36}, {238, 40}} {
		t.Log("\n" + ansi.Strip(New().View(worlds.Ctx(worlds.One(), size[0], size[1]))))
	}
	t.Log("\n" + ansi.Strip(New().View(worlds.Ctx(worlds.Many(400, 40, 20), 158, 30))))
	t.Log("\n" + ansi.Strip(New().View(worlds.Ctx(worlds.Empty(), 78, 20))))
}

func TestGolden(t *testing.T) {
	golden.RequireEqual(t, []byte(ansi.Strip(New().View(worlds.Ctx(worlds.One(), 178, 16)))))
}

// A card says how many blockers there are and what they are, the one that nobody can
// clear first.
func TestBlockersInWords(t *testing.T) {
	st := worlds.One()
	c := worlds.Ctx(st, 118, 30)
	dep := func(id string) acop.Blocker {
		return acop.Blocker{BlockerCode: acop.BlockerDependency, DependsOnWorkItemID: id}
	}
	review := acop.Blocker{BlockerCode: acop.BlockerReviewRequired}
	for want, bs := range map[string][]acop.Blocker{
		"review_required":                            {review},
		"waits for work:ui:table":                    {dep("work:ui:table")},
		"waits for 2: work:ui:table, work:http:seam": {dep("work:ui:table"), dep("work:http:seam")},
		"2 blockers: review_required, work:ui:table": {review, dep("work:ui:table")},
		"dangling: work:nowhere":                     {dep("work:nowhere")},
		"3 blockers, dangling: work:nowhere":         {review, dep("work:ui:table"), dep("work:nowhere")},
	} {
		it := worlds.Item("work:x", func(i *acop.Item) { i.Blockers = bs })
		if got, _ := blockers(c, it); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
