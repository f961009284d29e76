package pane

import (
	tea "charm.land/bubbletea/v2"

	"signalbox/ui/filter"
	"signalbox/ui/kit"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// Stream is a list that grows at its end, with the facts of one row beside or
// below it: what the feed and the log have in common. It follows as [Tail] does
// and holds the filter; whoever owns it keeps the rows. The zero value follows
// and shows all.
type Stream struct {
	Tail
	text  string
	query filter.Query
	empty bool // as of the last Fit
}

// Rows are what a [Stream] lists now: what passes the filter, oldest first.
type Rows struct {
	N    int                  // how many pass
	End  int                  // one above the number of the newest row there is
	Num  func(i int) int      // the number of row i over all time, growing with i
	Key  func(i int) string   // names row i for as long as it is kept
	Find func(key string) int // the index of a row, or -1
}

// Drawing is how a [Stream] draws its rows.
type Drawing struct {
	Cols []kit.Col
	// Last is the column that gives way first: where it has room, so has a note in
	// the heading.
	Last int
	// Row draws row i; Facts draws it in full in w×h cells.
	Row   func(tb Table, i int) string
	Facts func(i, w, h int) []string
	// Name is what one row is called, in capitals.
	Name string
	// Note stands in the heading while there is no word on following.
	Note string
}

// Filter is the filter as it was typed.
func (s *Stream) Filter() string { return s.text }

// Query is the filter as it was understood.
func (s *Stream) Query() filter.Query { return s.query }

// SetFilter sets the filter; "" shows all.
func (s *Stream) SetFilter(line string) { s.text, s.query = line, filter.Parse(line) }

// Bindings are the keys of the list: those of [screen.Nav] and G. The key row
// shows what leads out of the state the list is in.
func (s *Stream) Bindings() []screen.Binding {
	out := append(screen.Nav(), screen.Binding{Keys: []string{"G"}, Do: screen.Bottom, Help: "follow", Row: s.away})
	for i := range out {
		if out[i].Do == screen.Up && !s.away && !s.empty {
			out[i].Help, out[i].Shown, out[i].Row = "select", "k", true
		}
	}
	return out
}

// Fit brings the cursor in line with the rows and the size. It is called before
// anything else is asked.
func (s *Stream) Fit(c *screen.Ctx, r Rows) {
	s.empty = r.N == 0
	s.Sync(r.N, r.End, max(0, Divide(c.W, c.H).ListH-1), r.Key, r.Find)
}

// Pick puts the cursor on row i and stops following.
func (s *Stream) Pick(i int, r Rows) {
	s.Leave()
	s.To(i, r.N, r.Key)
}

// Handle takes a key by its word in Bindings, the wheel, or a click.
func (s *Stream) Handle(c *screen.Ctx, r Rows, do string, msg tea.Msg) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		s.Nav(do, r.N, r.Key)
	case tea.MouseWheelMsg:
		s.Nav(WheelWord(msg), r.N, r.Key)
	case tea.MouseClickMsg:
		d := Divide(c.W, c.H)
		if i := s.Top() + msg.Y - 1; msg.Y >= 1 && msg.Y < d.ListH && msg.X < d.ListW && i < r.N {
			s.Pick(i, r)
		}
	}
}

// WheelWord is the word of [screen.Nav] for a turn of the wheel, "" for a sideways
// one.
func WheelWord(msg tea.MouseWheelMsg) string {
	switch msg.Button {
	case tea.MouseWheelUp:
		return screen.Up
	case tea.MouseWheelDown:
		return screen.Down
	}
	return ""
}

// Draw draws the list and the facts of the selected row, while following those of
// the newest. There is at least one row.
func (s *Stream) Draw(c *screen.Ctx, r Rows, as Drawing) string {
	d := Divide(c.W, c.H)
	tb := NewTable(as.Cols, d.ListW)
	list := make([]string, 0, d.ListH)
	list = append(list, Over(c.Styles, tb.Head(c.Styles), s.note(r, tb.W(as.Last) > 0, as.Note), d.ListW))
	from, to := s.Visible(r.N)
	for i := from; i < to && len(list) < d.ListH; i++ {
		list = append(list, as.Row(tb, i))
	}
	for len(list) < d.ListH {
		list = append(list, kit.Blank(d.ListW))
	}
	var facts []string
	if d.H > 0 {
		facts = as.Facts(s.Pos(), d.W, d.H)
	}
	name := as.Name
	if s.Following() {
		name = "NEWEST " + name
	}
	return d.Join(c.Styles, list[:d.ListH], facts, name)
}

// note says what came since the reader left the end, or that the list follows.
func (s *Stream) note(r Rows, room bool, other string) string {
	if s.Following() {
		return FollowNote(room)
	}
	fresh := 0
	for i := r.N - 1; i >= 0 && r.Num(i) >= s.Mark(); i-- {
		fresh++
	}
	if fresh > 0 {
		return kit.Count(fresh) + " new below, G"
	}
	return other
}

// Margin is [Margin] for row i of the list.
func (s *Stream) Margin(c *screen.Ctx, i int, t screen.Target) (sel theme.Selection, mark string) {
	return Margin(c.Styles, s.Selected(i), c.Focused, c.IsMarked(t))
}
