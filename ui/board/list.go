package board

import (
	"strings"

	"signalbox/model/acop"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// The columns of the list.
const (
	lMark = iota
	lStatus
	lTitle
	lID
	lKind
	lPrio
	lScore
	lHolder
	lBar
	lLeft
	lNote
	lAge
)

var listCols = []kit.Col{
	lMark:   {W: 1},
	lStatus: {W: 13, Min: 11},
	lTitle:  {W: 34, Min: 22, Grow: 4},
	// Titles repeat; the end of the id tells such items apart.
	lID:     {W: 20, Min: 10, Rank: 1},
	lKind:   {W: 11, Rank: 7},
	lPrio:   {W: 6, Rank: 2},
	lScore:  {W: 4, Rank: 6, Right: true},
	lHolder: {W: 13, Min: 9, Grow: 1},
	lBar:    {W: kit.BarCells},
	lLeft:   {W: 5, Right: true},
	lNote:   {W: 16, Min: 12, Grow: 2, Rank: 4},
	lAge:    {W: 4, Right: true},
}

func (s *Screen) viewList(c *screen.Ctx) string {
	ws := kit.Widths(listCols, c.W)
	rows := max(0, c.H-s.footer(c))
	from, to := s.list.Visible(len(s.flat))
	var b strings.Builder
	for i := from; i < to && rows > 0; i++ {
		r := s.flat[i]
		g := s.arr.groups[r.group]
		if r.card < 0 {
			b.WriteString(s.heading(c, g))
		} else {
			b.WriteString(s.row(c, ws, g.cards[r.card].item, i == s.list.Pos()))
		}
		b.WriteByte('\n')
		rows--
	}
	for ; rows > 0; rows-- {
		b.WriteString(kit.Blank(c.W))
		b.WriteByte('\n')
	}
	b.WriteString(s.foot(c))
	return b.String()
}

func (s *Screen) heading(c *screen.Ctx, g group) string {
	st := c.Styles
	name := strings.ToUpper(g.name)
	if s.by != byStatus && g.col != closed && s.by != byPrio {
		name = text.ID(text.Head(g.name, 256))
	}
	tail := " " + kit.Count(len(g.cards))
	if g.col == closed && !s.closed {
		tail = " " + kit.Count(s.hidden(c.State)) + " " + st.G.Folded
	}
	return kit.FitStyled(st.Strong.Render(text.Clip(name, max(0, c.W-8)))+st.Muted.Render(tail), c.W)
}

func (s *Screen) row(c *screen.Ctx, ws []int, it *acop.Item, selected bool) string {
	st := c.Styles
	sel, mark := selection(c, it, selected)
	glyph, word, style := kit.StatusMark(st, it.Status())
	kindGlyph, kind := kit.KindMark(it.WorkItem.WorkKind)
	cells := make([]kit.Cell, 0, len(ws))
	add := func(col int, t string, sty theme.Style) {
		if ws[col] > 0 {
			cells = append(cells, kit.Cell{Text: t, Style: sty, W: ws[col], Right: listCols[col].Right, Bar: col == lBar})
		}
	}
	add(lMark, mark.Text, mark.Style)
	add(lStatus, glyph+" "+text.Line(word), style)
	add(lTitle, titleOf(it, ws[lTitle]), titleStyle(c, it))
	add(lID, pane.CleanName(st.G, it.ID(), ws[lID]), st.Muted)
	add(lKind, kindGlyph+" "+text.Line(kind), st.Muted)
	add(lPrio, priorityWord(it.WorkItem.Priority), priorityStyle(st, it.WorkItem.Priority))
	add(lScore, score(it), st.Muted)
	s.claimCells(c, ws, it, add)
	add(lAge, kit.Ago(it.StatusSinceUTC.Std(), c.OwnerNow()), st.Muted)
	return kit.Row(st, sel, c.W, cells...)
}

// claimCells draws who holds the item and what is left of the lease; without a
// lease the note takes the place of all that.
func (s *Screen) claimCells(c *screen.Ctx, ws []int, it *acop.Item, add func(int, string, theme.Style)) {
	st := c.Styles
	pending := text.Line(c.PendingWord(target(it)))
	if it.Lease != nil {
		l := pane.LeaseOf(st, it.Lease, c.OwnerNow())
		add(lHolder, pane.CleanName(st.G, it.Holder(), ws[lHolder]), st.Text)
		add(lBar, l.Bar(st, ws[lBar]), l.Style)
		add(lLeft, kit.Span(l.Left), l.Style)
		switch {
		case pending != "":
			add(lNote, pending, st.Accent)
		case len(c.State.ConflictsOf(it.ID())) > 0:
			add(lNote, "overlap", st.Warn)
		case pane.Odds(it) != "":
			add(lNote, "agent says "+pane.Clean(it.Lease.Contradiction(), ws[lNote]), st.Warn)
		case it.Lease.Progress != "":
			add(lNote, pane.Clean(it.Lease.Progress, ws[lNote]), st.Muted)
		default:
			add(lNote, l.Word, st.Muted)
		}
		return
	}
	note, style := noteOf(c, it)
	if pending != "" {
		note, style = pending, st.Accent
	}
	// One cell across the four columns, so that the note has their room.
	w := 0
	for _, col := range []int{lHolder, lBar, lLeft, lNote} {
		if ws[col] > 0 {
			w += ws[col] + 1
		}
	}
	addWide(add, ws, note, style, max(0, w-1))
}

// addWide puts one text where the claim's columns would be.
func addWide(add func(int, string, theme.Style), ws []int, note string, style theme.Style, w int) {
	saved := ws[lHolder]
	ws[lHolder] = w
	add(lHolder, note, style)
	ws[lHolder] = saved
}
