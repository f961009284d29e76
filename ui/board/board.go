package board

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acop"
	"signalbox/ui/filter"
	"signalbox/ui/kit"
	"signalbox/ui/screen"
)

// The screen's own words.
const (
	doOrder  = "order"
	doGroup  = "group"
	doClosed = "closed"
	doLayout = "layout"
)

// Screen is the board. It implements screen.Screen.
type Screen struct {
	text  string
	query filter.Query

	order  order
	by     grouping
	closed bool // closed cards are shown
	asList bool // list even where columns fit

	arr  arrangement
	flat []flatRow

	sel   string // id of the selected card
	focus int    // column
	cols  [len(columns)]kit.Cursor
	list  kit.Cursor
}

// New makes the board.
func New() *Screen { return &Screen{} }

// ID implements screen.Screen.
func (s *Screen) ID() screen.ID { return screen.Board }

// Name implements screen.Screen.
func (s *Screen) Name() string { return "Board" }

// Badge is the number of items that are not closed.
func (s *Screen) Badge(c *screen.Ctx) string {
	n := 0
	for _, st := range acop.Statuses() {
		if columnOf(st) != closed {
			n += c.State.Count(st)
		}
	}
	if n == 0 {
		return ""
	}
	return kit.Count(n)
}

// Filter implements screen.Screen.
func (s *Screen) Filter() string { return s.text }

// SetFilter implements screen.Screen.
func (s *Screen) SetFilter(line string) { s.text, s.query = line, filter.Parse(line) }

// Bindings implements screen.Screen.
func (s *Screen) Bindings() []screen.Binding {
	return append(screen.Nav(),
		screen.Binding{Keys: []string{"left", "h"}, Do: screen.Left, Help: "column left", Shown: "h/left"},
		screen.Binding{Keys: []string{"right", "l"}, Do: screen.Right, Help: "column right", Shown: "l/right"},
		screen.Binding{Keys: []string{"o"}, Do: doOrder, Help: "order by " + (s.order + 1).String(), Row: true},
		screen.Binding{Keys: []string{"v"}, Do: doGroup, Help: "group by " + ((s.by + 1) % groupings).String(), Row: true},
		screen.Binding{Keys: []string{"c"}, Do: doClosed, Help: s.closedHelp(), Row: true},
		screen.Binding{Keys: []string{"w"}, Do: doLayout, Help: "columns or list"},
	)
}

func (s *Screen) closedHelp() string {
	if s.closed {
		return "fold closed"
	}
	return "show closed"
}

// Update implements screen.Screen.
func (s *Screen) Update(c *screen.Ctx, msg tea.Msg) screen.Intent {
	if _, ok := msg.(screen.Applied); ok {
		return nil // nothing is kept that facts could make wrong
	}
	s.sync(c)
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		s.do(c, screen.Match(s.Bindings(), msg.String()))
	case tea.MouseWheelMsg:
		s.wheel(c, msg)
	case tea.MouseClickMsg:
		s.click(c, msg.X, msg.Y)
	}
	return nil
}

func (s *Screen) do(c *screen.Ctx, do string) {
	switch do {
	case "":
	case doOrder:
		s.order = (s.order + 1) % orders
	case doGroup:
		s.by = (s.by + 1) % groupings
	case doClosed:
		s.closed = !s.closed
	case doLayout:
		s.asList = !s.asList
	case screen.Left:
		s.sideways(c, -1)
	case screen.Right:
		s.sideways(c, 1)
	default:
		s.nav(c, do)
	}
}

func (s *Screen) nav(c *screen.Ctx, do string) {
	if s.inColumns(c) {
		cards := s.arr.groups[s.focus].cards
		s.cols[s.focus].Nav(do, len(cards), cardKey(cards))
		s.sel = s.cols[s.focus].Key()
		return
	}
	s.list.Nav(do, len(s.flat), s.flatKey)
	s.skipHeading(do != screen.Up && do != screen.PageUp && do != screen.Bottom)
}

func (s *Screen) wheel(c *screen.Ctx, msg tea.MouseWheelMsg) {
	do := screen.Down
	if msg.Button == tea.MouseWheelUp {
		do = screen.Up
	} else if msg.Button != tea.MouseWheelDown {
		return
	}
	s.nav(c, do)
}

// Target implements screen.Screen.
func (s *Screen) Target(c *screen.Ctx) screen.Target {
	s.sync(c)
	it := c.State.Items[s.sel]
	if it == nil {
		return screen.Target{}
	}
	return target(it)
}

func target(it *acop.Item) screen.Target {
	t := screen.Item(it.ID(), it.Revision)
	t.Worker = it.Holder()
	if it.Lease != nil {
		t.ClaimID = it.Lease.Claim.ClaimID
	}
	return t
}

// Shown implements screen.Screen.
func (s *Screen) Shown(c *screen.Ctx) []screen.Target {
	s.sync(c)
	var out []screen.Target
	for _, g := range s.arr.groups {
		if g.col == closed && !s.closed {
			continue
		}
		for _, cd := range g.cards {
			out = append(out, target(cd.item))
		}
	}
	return out
}

// Select implements screen.Screen: it clears the filter and opens the closed
// group where that is what hides t.
func (s *Screen) Select(c *screen.Ctx, t screen.Target) bool {
	it := c.State.Items[t.WorkItemID]
	if it == nil {
		return false
	}
	if !passes(it, s.query, c.OwnerNow()) {
		s.SetFilter("")
	}
	if columnOf(it.Status()) == closed {
		s.closed = true
	}
	s.sel = it.ID()
	s.list.SelectKey(s.sel)
	s.sync(c)
	return s.sel == it.ID()
}

// Hidden implements screen.Scroller; columns tell it in their headings.
func (s *Screen) Hidden(c *screen.Ctx) (above, below int) {
	if s.sync(c); s.inColumns(c) {
		return 0, 0
	}
	return s.list.Hidden(len(s.flat))
}

// sync brings order and cursors in line with the facts and the size.
func (s *Screen) sync(c *screen.Ctx) {
	key := arrangeKey{version: c.State.ItemsVersion, filter: s.text, order: s.order, by: s.by, closed: s.closed, loaded: true}
	if s.query.Timed() {
		key.second = c.OwnerNow().Unix()
	}
	if key != s.arr.key {
		s.arr.arrange(c.State, s.query, key, c.OwnerNow())
		s.flatten()
	}
	if s.inColumns(c) {
		s.syncColumns(c)
	} else {
		s.syncList(c)
	}
}

func cardKey(cards []card) func(int) string {
	return func(i int) string { return cards[i].item.ID() }
}

func findCard(cards []card) func(string) int {
	return func(id string) int {
		for i := range cards {
			if cards[i].item.WorkItem.WorkItemID == id {
				return i
			}
		}
		return -1
	}
}

// syncColumns follows the selected card to the column it is in now.
func (s *Screen) syncColumns(c *screen.Ctx) {
	if it := c.State.Items[s.sel]; it != nil && s.shown(columnOf(it.Status())) {
		col := columnOf(it.Status())
		if col == s.focus || findCard(s.arr.groups[col].cards)(s.sel) >= 0 {
			s.focus = col
			s.cols[col].SelectKey(s.sel)
		}
	}
	if !s.shown(s.focus) || len(s.arr.groups[s.focus].cards) == 0 {
		s.focus = s.firstFull()
	}
	h := s.fits(c.H - s.footer(c))
	for i := range s.arr.groups {
		cards := s.arr.groups[i].cards
		s.cols[i].Sync(len(cards), h, cardKey(cards), findCard(cards))
	}
	s.sel = ""
	if len(s.arr.groups[s.focus].cards) > 0 {
		s.sel = s.cols[s.focus].Key()
	}
}

func (s *Screen) shown(col int) bool { return col != closed || s.closed }

func (s *Screen) firstFull() int {
	for i, g := range s.arr.groups {
		if s.shown(i) && len(g.cards) > 0 {
			return i
		}
	}
	return 0
}

// sideways goes to the next column that has cards, to the card at the same
// height.
func (s *Screen) sideways(c *screen.Ctx, d int) {
	if !s.inColumns(c) {
		return
	}
	row := s.cols[s.focus].Pos() - s.cols[s.focus].Top()
	for i := s.focus + d; i >= 0 && i < len(s.arr.groups); i += d {
		cards := s.arr.groups[i].cards
		if !s.shown(i) || len(cards) == 0 {
			continue
		}
		s.focus = i
		s.cols[i].To(s.cols[i].Top()+row, len(cards), cardKey(cards))
		s.sel = s.cols[i].Key()
		return
	}
}

// flatRow is one row of the list: a heading or a card.
type flatRow struct {
	group int
	card  int // -1: the heading
}

// flatten lays the groups out as one list. Empty groups have no heading.
func (s *Screen) flatten() {
	s.flat = s.flat[:0]
	for i, g := range s.arr.groups {
		if len(g.cards) == 0 {
			continue
		}
		s.flat = append(s.flat, flatRow{i, -1})
		if g.col == closed && !s.closed {
			continue
		}
		for j := range g.cards {
			s.flat = append(s.flat, flatRow{i, j})
		}
	}
}

func (s *Screen) flatKey(i int) string {
	r := s.flat[i]
	if r.card < 0 {
		return "\x00" + strconv.Itoa(r.group) + s.arr.groups[r.group].name
	}
	return s.arr.groups[r.group].cards[r.card].item.ID()
}

func (s *Screen) findFlat(key string) int {
	for i := range s.flat {
		if r := s.flat[i]; r.card >= 0 && s.arr.groups[r.group].cards[r.card].item.WorkItem.WorkItemID == key {
			return i
		}
	}
	return -1
}

func (s *Screen) syncList(c *screen.Ctx) {
	if s.sel != "" {
		s.list.SelectKey(s.sel)
	}
	s.list.Sync(len(s.flat), max(0, c.H-s.footer(c)), s.flatKey, s.findFlat)
	s.skipHeading(true)
}

// skipHeading moves off a heading, which nothing can be done with.
func (s *Screen) skipHeading(down bool) {
	s.sel = ""
	if len(s.flat) == 0 {
		return
	}
	at := s.list.Pos()
	for _, d := range []int{1, -1} {
		if !down {
			d = -d
		}
		for i := at; i >= 0 && i < len(s.flat); i += d {
			if s.flat[i].card >= 0 {
				s.list.To(i, len(s.flat), s.flatKey)
				s.sel = s.list.Key()
				return
			}
		}
	}
}
