package sheet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
	"signalbox/ui/uitest"
)

// open is the sheet of an item about which entries were posted, in w×h cells.
func open(w, h int, entries ...acop.BlackboardEntry) (*Sheet, *screen.Ctx) {
	now := time.Now()
	st := fleet.New()
	sn := &acop.Snapshot{Revision: 1, Role: acop.RoleLead, Items: []*acop.Item{uitest.Item("work:a", "A", acop.StatusReady, 1, now)}}
	for i, e := range entries {
		e.EntryID, e.WorkItemID, e.AuthorAgentUID = fmt.Sprint("entry:", i), "work:a", "worker-1"
		sn.Entries = append(sn.Entries, acop.Posted{Revision: uint64(i + 1), Entry: e})
	}
	st.Apply(fleet.SnapshotLoaded{Snapshot: sn, At: now})
	return New(screen.Item("work:a", 1)), &screen.Ctx{State: st, Now: now, Styles: theme.New(theme.Options{Dark: true}), W: w, H: h}
}

// What is left out of a long text is marked, and what is kept for the next frame never
// shows in the place of something else.
func TestLongTexts(t *testing.T) {
	long, lines := strings.Repeat("word ", proseBytes/5+9), strings.Repeat("line\n", 9)
	s, c := open(100, 400,
		acop.BlackboardEntry{Summary: long, Details: "short"}, acop.BlackboardEntry{Summary: "short", Details: lines},
		acop.BlackboardEntry{Summary: long[:len(long)-5]})
	for range 2 {
		view := ansi.Strip(s.View(c))
		if n := strings.Count(view, "…\n") + strings.Count(view, "… "); n != 3 {
			t.Errorf("%d marks, want 3\n%s", n, view)
		}
		if n := strings.Count(view, " line "); n != 8 {
			t.Errorf("%d lines of the details", n)
		}
	}
	wide := s.View(c)
	c.W = 60
	if narrow := s.View(c); strings.Contains(narrow, strings.Split(wide, "\n")[30]) {
		t.Error("rows of another width are drawn")
	}
	c.W = 100
	if s.View(c) != wide {
		t.Error("the same sheet is drawn in another way")
	}
}

// The cleaned and broken texts are kept, and not without bound.
func TestKeptTextsAreBounded(t *testing.T) {
	s, c := open(100, 40, acop.BlackboardEntry{Summary: "one", Details: "two"})
	s.View(c)
	n := len(s.kept)
	if s.View(c); len(s.kept) != n || n == 0 {
		t.Errorf("%d kept, then %d", n, len(s.kept))
	}
	for w := 20; w < 20+keptProse/2; w++ { // some texts each
		c.W = w
		s.View(c)
	}
	if len(s.kept) > keptProse {
		t.Errorf("%d are kept", len(s.kept))
	}
}

// BenchmarkView draws an item about which two hundred long entries were posted.
func BenchmarkView(b *testing.B) {
	for name, unit := range map[string]string{"ascii": "word and ", "han": "你好世界", "emoji": "👨‍👩‍👧 1️⃣ "} {
		b.Run(name, func(b *testing.B) {
			all := strings.Repeat(unit, 9000/len(unit))
			entries := make([]acop.BlackboardEntry, 200)
			for i := range entries {
				entries[i] = acop.BlackboardEntry{Summary: all, Details: all}
			}
			s, c := open(118, 36, entries...)
			for b.Loop() {
				s.View(c)
			}
		})
	}
}
