package log

import (
	"fmt"
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

// H-096, house rule 31.
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

func event(st *fleet.State, n int) {
	st.Apply(fleet.OwnerEvent{At: worlds.Now, Event: acop.Event{Family: acop.FamilyLeaseHeartbeat, Revision: st.Revision + 1, Last: true,
		AtUTC: acop.NewTime(worlds.Now), Actor: "worker-2", Verb: "renew", WorkItemID: "work:ui:table", Reason: fmt.Sprintf("number %d", n)}})
}

// Promise 8: refused acts are in the log, of the owner and of this program.
func TestRefusedAndOwn(t *testing.T) {
	c := worlds.Ctx(worlds.One(), 238, 30)
	v := view(New(), c)
	for _, want := range []string{"grant", "ready → claimed", "✗ refused", "work_item_not_actionable", "signalbox.revision_mis", "the item moved on", "○ asked", "task_9f2b11c0"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is missing:\n%s", want, v)
		}
	}
}

func TestFollowAndFilter(t *testing.T) {
	st := worlds.One()
	c := worlds.Ctx(st, 78, 20)
	s := New()
	press(s, c, "v") // with heartbeats
	s.View(c)
	event(st, 1)
	if v := view(s, c); !strings.Contains(v, "number 1") {
		t.Fatalf("does not follow:\n%s", v)
	}
	press(s, c, "k", "k")
	at := s.Target(c).ID
	for n := range 12000 { // more than is kept
		event(st, n+2)
	}
	if s.Target(c).ID == at {
		t.Error("the line is no longer kept, so the cursor cannot be on it")
	}
	press(s, c, "end")
	if !s.Target(c).IsZero() {
		t.Error("nothing is selected while the log follows")
	}
	if v := view(s, c); !strings.Contains(v, "number 12001") || !strings.Contains(v, "following") {
		t.Errorf("end:\n%s", v)
	}
	press(s, c, "k")
	at = s.Target(c).ID
	event(st, 5)
	event(st, 6)
	if v := view(s, c); s.Target(c).ID != at || !strings.Contains(v, "2 new below") {
		t.Errorf("place lost:\n%s", v)
	}
	s.SetFilter("kind:renew 12001")
	if n := len(s.Shown(c)); n != 1 {
		t.Errorf("filter shows %d", n)
	}
	if !s.Select(c, screen.Item("work:ui:table", 0)) || s.Filter() != "" {
		t.Error("select the latest line about an item")
	}
}

func TestHideHeartbeats(t *testing.T) {
	st := worlds.One()
	c := worlds.Ctx(st, 78, 20)
	s := New()
	before := len(s.Shown(c))
	for n := range 5 {
		event(st, n)
	}
	if got := len(s.Shown(c)); got != before {
		t.Errorf("%d lines shown, want %d", got, before)
	}
	press(s, c, "v")
	if got := len(s.Shown(c)); got != before+5 {
		t.Errorf("%d lines shown, want %d", got, before+5)
	}
}

// B102: an export keeps the data and holds no raw escape.
func TestExport(t *testing.T) {
	c := worlds.Ctx(worlds.Strange(worlds.Hostile), 78, 20)
	for _, key := range []string{"E", "M"} {
		save, ok := press(New(), c, key).(screen.Save)
		if !ok || !strings.HasPrefix(save.Name, "signalbox-log-20260516-") {
			t.Fatalf("%s: %+v", key, save)
		}
		if strings.ContainsAny(string(save.Content), "\x1b\x07\x00") {
			t.Errorf("%s: raw control in %q", key, save.Content)
		}
	}
}

func BenchmarkView(b *testing.B) {
	st := worlds.Many(10000, 200, 50)
	for name, line := range map[string]string{"all": "", "filtered": "kind:heartbeat worker"} {
		b.Run(name, func(b *testing.B) {
			c := worlds.Ctx(st, 238, 66)
			s := New()
			s.SetFilter(line)
			for b.Loop() {
				event(st, 1)
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
	for _, size := range [][2]int{{78, 20}, {118, 24}, {238, 24}} {
		t.Log("\n" + view(New(), worlds.Ctx(worlds.One(), size[0], size[1])))
	}
	t.Log("\n" + view(New(), worlds.Ctx(worlds.CutOff(), 78, 14)))
}

// A line whose act was answered is what it is now, for a filter too.
func TestFilterSeesTheAnswerOfAnAct(t *testing.T) {
	st := worlds.One()
	c := worlds.Ctx(st, 118, 24)
	asked, refused := New(), New()
	asked.SetFilter("outcome:asked item:work:a")
	refused.SetFilter("outcome:refused item:work:a")
	act := fleet.OwnAct{At: worlds.Now, ID: 7, Act: acop.Act{Verb: acop.VerbRevoke, WorkItemID: "work:a"}, Verb: "revoke"}
	st.Apply(act)
	if a, r := len(asked.Shown(c)), len(refused.Shown(c)); a != 1 || r != 0 {
		t.Fatalf("asked for: %d asked, %d refused", a, r)
	}
	act.Done, act.Err = true, acop.Errorf(acop.CodeRevisionMismatch, "it moved")
	st.Apply(act)
	if a, r := len(asked.Shown(c)), len(refused.Shown(c)); a != 0 || r != 1 {
		t.Errorf("answered: %d asked, %d refused", a, r)
	}
}

// B102: no text of somebody else breaks out of its cell, loads a picture or becomes
// markup where the Markdown is shown.
func TestMarkdownCellsHold(t *testing.T) {
	st := fleet.New()
	const evil = "a\\|b | c\\\\| ![x](http://evil/?q) <img src=x> `code` [y](z)"
	st.Apply(fleet.Noted{At: worlds.Now, Text: evil})
	save, ok := press(New(), worlds.Ctx(st, 78, 20), "M").(screen.Save)
	if !ok {
		t.Fatal("nothing is saved")
	}
	lines := strings.Split(strings.TrimSpace(string(save.Content)), "\n")
	if len(lines) != 3 {
		t.Fatalf("%q", lines)
	}
	// What is escaped is taken away as a reader of Markdown does; what stays is markup.
	var markup strings.Builder
	for s := lines[2]; s != ""; {
		if len(s) > 1 && s[0] == '\\' {
			s = s[2:]
			continue
		}
		markup.WriteByte(s[0])
		s = s[1:]
	}
	if n := strings.Count(markup.String(), "|"); n != 8 {
		t.Errorf("%d cell borders, want 8: %s", n, lines[2])
	}
	if strings.ContainsAny(markup.String(), "[]<>`") {
		t.Errorf("markup is left: %s", lines[2])
	}
}

// The history is read before the items are known: their repositories and branches
// are looked at again when they come.
func TestFilterByPlaceFollowsTheItem(t *testing.T) {
	st := worlds.One()
	event(st, 7)
	c := worlds.Ctx(st, 118, 30)
	s := New()
	press(s, c, "v") // with heartbeats
	s.SetFilter("repo:moved")
	if v := view(s, c); strings.Contains(v, "number 7") {
		t.Fatalf("it fits before it was moved:\n%s", v)
	}
	it := st.Items["work:ui:table"].Clone()
	it.WorkItem.TargetRepoID = "repo-moved"
	st.Apply(uitest.Changed(it, acop.VerbPut, st.Revision+1, worlds.Now))
	if v := view(s, c); !strings.Contains(v, "number 7") {
		t.Errorf("its item is in the repository now:\n%s", v)
	}
}
