package board

import (
	"fmt"
	"strings"

	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
)

// The board is drawn in columns where each has at least columnMin cells.
const (
	columnMin = 26
	// cardPitch is the height of a card with the blank line under it.
	cardPitch = 4
	// columnHead is the height of a column's heading with its rule.
	columnHead = 2
)

func (s *Screen) columnCount() int {
	if s.closed {
		return len(columns)
	}
	return len(columns) - 1
}

// inColumns reports whether the board is drawn as columns.
func (s *Screen) inColumns(c *screen.Ctx) bool {
	n := s.columnCount()
	return s.by == byStatus && !s.asList && (c.W-(n-1)*3)/n >= columnMin && c.H >= columnHead+cardPitch+s.footer(c)
}

// fits is how many cards stand in a column h high; the last needs no blank line.
func (s *Screen) fits(h int) int { return max(0, (h-columnHead+1)/cardPitch) }

// footer is the height of what stands under the list or the columns: the
// selected item by id and full title where there is room, and the counts.
func (s *Screen) footer(c *screen.Ctx) int {
	if c.H < 16 {
		return 1
	}
	return 2
}

// View implements screen.Screen.
func (s *Screen) View(c *screen.Ctx) string {
	if c.W <= 0 || c.H <= 0 {
		return ""
	}
	s.sync(c)
	if len(s.arr.cards) == 0 {
		return s.empty(c)
	}
	if s.inColumns(c) {
		return s.viewColumns(c)
	}
	return s.viewList(c)
}

func (s *Screen) empty(c *screen.Ctx) string {
	if s.text != "" && len(c.State.Items) > 0 {
		return pane.Empty(c.Styles, c.W, c.H, "Nothing fits the filter",
			kit.Plural(s.arr.total, "item is", "items are")+" hidden by: "+text.Line(s.text), "esc clears it, / changes it.")
	}
	lines := []string{pane.OwnerLine(c.State.Link, c.Now)}
	if c.State.Link.State == fleet.LinkLive {
		lines = append(lines,
			"Every unit of work that agents share is a card here, from ready to accepted.",
			"n  makes a work item here",
			"signalbox work put FILE  puts one from a shell or a script",
			"signalbox mcp config  prints what an agent needs to claim them and report")
	}
	return pane.Empty(c.Styles, c.W, c.H, "No work items yet", lines...)
}

// foot says what is not shown and how the cards are arranged.
func (s *Screen) foot(c *screen.Ctx) string {
	st := c.Styles
	parts := []string{kit.Plural(s.arr.total, "item", "items")}
	if s.text != "" {
		parts[0] = fmt.Sprintf("%d of ", s.arr.passed) + kit.Plural(s.arr.total, "item", "items")
	}
	parts = append(parts, "by "+s.by.String()+", "+s.order.String())
	if n := s.hidden(c.State); n > 0 {
		parts = append(parts, fmt.Sprintf("%s %d closed, c shows them", st.G.Folded, n))
	}
	line := st.Muted.Render(text.Clip(strings.Join(parts, " "+st.G.Dot+" "), c.W))
	if s.query.Problem != "" {
		line += st.Warn.Render("  " + s.query.Problem)
	}
	line = kit.FitStyled(line, c.W)
	if s.footer(c) < 2 {
		return line
	}
	return s.whole(c) + "\n" + line
}

// whole names the selected item in full.
func (s *Screen) whole(c *screen.Ctx) string {
	it := c.State.Items[s.sel]
	if it == nil {
		return kit.Blank(c.W)
	}
	id := text.Middle(text.ID(text.Head(it.ID(), 1024)), max(20, c.W/3))
	return kit.FitStyled(c.Styles.Accent.Render(id)+"  "+c.Styles.Text.Render(titleOf(it, c.W)), c.W)
}

// hidden counts the closed cards that are folded away.
func (s *Screen) hidden(st *fleet.State) int {
	if s.closed {
		return 0
	}
	n := 0
	for _, g := range s.arr.groups {
		if g.col == closed {
			n += len(g.cards)
		}
	}
	if s.text == "" {
		n = max(n, closedKnown(st)) // those that never were seen here, too
	}
	return n
}

// closedKnown is how many closed items the owner counted.
func closedKnown(st *fleet.State) int {
	n := 0
	for _, k := range st.Closed {
		n += k
	}
	return n
}

func (s *Screen) viewColumns(c *screen.Ctx) string {
	n := s.columnCount()
	ws := columnWidths(c.W, n)
	h := c.H - s.footer(c)
	parts := make([][]string, n)
	for i := range n {
		parts[i] = s.column(c, i, ws[i], h)
	}
	sep := " " + c.Styles.Faint.Render(c.Styles.G.V) + " "
	cross := c.Styles.Faint.Render(c.Styles.G.H + c.Styles.G.Cross + c.Styles.G.H)
	var b strings.Builder
	for y := range h {
		for i := range n {
			if i > 0 {
				if y == 1 {
					b.WriteString(cross)
				} else {
					b.WriteString(sep)
				}
			}
			b.WriteString(parts[i][y])
		}
		b.WriteByte('\n')
	}
	b.WriteString(s.foot(c))
	return b.String()
}

// columnWidths shares w among n columns with three cells between two.
func columnWidths(w, n int) []int {
	ws := make([]int, n)
	room := w - 3*(n-1)
	for i := range ws {
		ws[i] = room / n
		if i < room%n {
			ws[i]++
		}
	}
	return ws
}

func (s *Screen) column(c *screen.Ctx, i, w, h int) []string {
	g := s.arr.groups[i]
	out := make([]string, 0, h)
	out = append(out, s.columnHead(c, i, w), c.Styles.Faint.Render(strings.Repeat(c.Styles.G.H, w)))
	from, to := s.cols[i].Visible(len(g.cards))
	for k := from; k < to && len(out)+cardPitch-1 <= h; k++ {
		out = append(out, s.card(c, g.cards[k].item, w, i == s.focus && k == s.cols[i].Pos())...)
		if len(out) < h {
			out = append(out, kit.Blank(w))
		}
	}
	for len(out) < h {
		out = append(out, kit.Blank(w))
	}
	return out
}

func (s *Screen) columnHead(c *screen.Ctx, i, w int) string {
	st, g := c.Styles, s.arr.groups[i]
	style := st.Strong
	if i == s.focus {
		style = st.Title
	}
	from, to := s.cols[i].Visible(len(g.cards))
	more := ""
	if below := len(g.cards) - to; below > 0 {
		more = st.G.Down + kit.Count(below)
	}
	if from > 0 {
		more = st.G.Up + kit.Count(from) + " " + more
	}
	more = strings.TrimRight(more, " ")
	left := w - text.Width(more)
	name := strings.ToUpper(g.name)
	count := " " + kit.Count(len(g.cards))
	name = kit.Fit(st.G, name, min(text.Width(name), max(0, left-text.Width(count))), false)
	return style.Render(name) + st.Muted.Render(kit.Fit(st.G, count, left-text.Width(name), false)+more)
}

// click selects the card under x, y.
func (s *Screen) click(c *screen.Ctx, x, y int) {
	if !s.inColumns(c) {
		if i := s.list.Top() + y; y < c.H-s.footer(c) && i < len(s.flat) && s.flat[i].card >= 0 {
			s.list.To(i, len(s.flat), s.flatKey)
			s.sel = s.list.Key()
		}
		return
	}
	left := 0
	for i, w := range columnWidths(c.W, s.columnCount()) {
		k := s.cols[i].Top() + (y-columnHead)/cardPitch
		if x >= left && x < left+w && y >= columnHead && k < len(s.arr.groups[i].cards) {
			cards := s.arr.groups[i].cards
			s.focus = i
			s.cols[i].To(k, len(cards), cardKey(cards))
			s.sel = s.cols[i].Key()
			return
		}
		left += w + 3
	}
}
