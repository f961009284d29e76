package sheet

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/screen"
)

// ID is the screen id of a sheet.
const ID screen.ID = "sheet"

// Sheet is the open sheet of one item. It is a screen.Screen, so that every act
// works on it.
type Sheet struct {
	item    string
	origin  screen.Target
	detail  *acop.Detail
	loading int    // id of the request under way; 0: none
	problem string // why the detail could not be read
	// asked is the item's revision as it was known when the detail was asked for
	// last, link since when the connection was as it was then.
	asked  uint64
	link   time.Time
	scroll int
	filter string
	h      int
	total  int
	kept   map[proseKey][]string // broken texts, see keptProse
}

// New opens the sheet of t's work item.
func New(t screen.Target) *Sheet { return &Sheet{item: t.WorkItemID, origin: t} }

// ItemID is the work item the sheet is about.
func (s *Sheet) ItemID() string { return s.item }

// Title names the sheet in the rule above it.
func (s *Sheet) Title() string { return "Item " + text.ID(s.item) }

// Loading notes that request id asks for the detail, and what st knows meanwhile.
func (s *Sheet) Loading(id int, st *fleet.State) {
	s.loading, s.link, s.asked = id, st.Link.Since, s.revision(st)
}

// revision is the revision of the item as st knows it, or 0.
func (s *Sheet) revision(st *fleet.State) uint64 {
	if it := st.Items[s.item]; it != nil {
		return it.Revision
	}
	return 0
}

// Loaded takes the answer to request id; another one's is dropped.
func (s *Sheet) Loaded(id int, d *acop.Detail, problem string) {
	if id != s.loading {
		return
	}
	s.loading = 0
	s.problem = problem
	if d != nil {
		s.detail = d
	}
}

// Outdated reports whether the detail is to be read now: no request is under way,
// and the item changed since the last one, or that one failed and the owner has come
// back. A failed read is never repeated for any other reason.
func (s *Sheet) Outdated(st *fleet.State) bool {
	switch rev := s.revision(st); {
	case s.loading != 0:
		return false
	case s.problem != "":
		return rev > s.asked || st.Link.State == fleet.LinkLive && !st.Link.Since.Equal(s.link)
	case s.detail != nil:
		return rev > max(s.detail.Revision, s.asked)
	}
	return false
}

// ID implements screen.Screen.
func (s *Sheet) ID() screen.ID { return ID }

// Name implements screen.Screen.
func (s *Sheet) Name() string { return "Item" }

// Badge implements screen.Screen.
func (s *Sheet) Badge(*screen.Ctx) string { return "" }

// Filter implements screen.Screen.
func (s *Sheet) Filter() string { return s.filter }

// SetFilter shows only the lines that hold the text.
func (s *Sheet) SetFilter(f string) { s.filter, s.scroll = f, 0 }

// Bindings implements screen.Screen.
func (s *Sheet) Bindings() []screen.Binding { return screen.Nav() }

// Update implements screen.Screen.
func (s *Sheet) Update(_ *screen.Ctx, msg tea.Msg) screen.Intent {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		s.nav(screen.Match(s.Bindings(), msg.String()))
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelUp {
			s.nav(screen.Up)
		} else {
			s.nav(screen.Down)
		}
	}
	return nil
}

func (s *Sheet) nav(do string) {
	switch do {
	case screen.Up:
		s.scroll--
	case screen.Down:
		s.scroll++
	case screen.PageUp:
		s.scroll -= max(1, s.h-1)
	case screen.PageDown:
		s.scroll += max(1, s.h-1)
	case screen.Top:
		s.scroll = 0
	case screen.Bottom:
		s.scroll = s.total
	}
	s.scroll = max(0, min(s.scroll, s.total-s.h))
}

// Target implements screen.Screen: the item, as the row showed it that opened
// the sheet.
func (s *Sheet) Target(c *screen.Ctx) screen.Target {
	t := screen.Item(s.item, 0)
	if s.origin.Kind == screen.KindIntent || s.origin.Kind == screen.KindClaim {
		t = s.origin
	}
	t.AskKey = s.origin.AskKey
	if it := s.known(c); it != nil {
		t.Revision = it.Revision
	}
	return t
}

// known is the item as the state has it, or as the owner told.
func (s *Sheet) known(c *screen.Ctx) *acop.Item {
	if c.State != nil {
		if it := c.State.Items[s.item]; it != nil {
			return it
		}
	}
	if s.detail != nil {
		return s.detail.Item
	}
	return nil
}

// Shown implements screen.Screen.
func (s *Sheet) Shown(c *screen.Ctx) []screen.Target { return []screen.Target{s.Target(c)} }

// Select implements screen.Screen.
func (s *Sheet) Select(_ *screen.Ctx, t screen.Target) bool { return t.WorkItemID == s.item }

// View implements screen.Screen.
func (s *Sheet) View(c *screen.Ctx) string {
	if c.W <= 0 || c.H <= 0 {
		return ""
	}
	lines := s.lines(c)
	s.h, s.total = c.H, len(lines)
	s.scroll = max(0, min(s.scroll, s.total-s.h))
	return kit.Lines(lines[min(s.scroll, len(lines)):], c.W, c.H)
}

// Hidden implements screen.Scroller.
func (s *Sheet) Hidden(*screen.Ctx) (above, below int) {
	return s.scroll, max(0, s.total-s.h-s.scroll)
}
