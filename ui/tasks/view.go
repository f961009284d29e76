package tasks

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// rect is a part of the view.
type rect struct{ x, y, w, h int }

// layout is where the parts stand: the list with its heading on top, below it
// the output with its title, beside it the facts where there is room.
type layout struct {
	listRows int
	rule     int // line of the output's title; -1 where there is no output
	brief    int // lines about the task between title and output
	out      rect
	facts    rect
}

const (
	factsW   = 46
	factsMin = 118 // width of the view from which the facts have a pane
)

func (s *Screen) layout(c *screen.Ctx, n int) layout {
	if c.H < 8 || c.W < 20 {
		return layout{listRows: max(0, c.H-1), rule: -1}
	}
	rows := min(max(n, 1), max(3, c.H/3))
	l := layout{listRows: rows, rule: rows + 1}
	if s.output && c.H < 30 {
		// The reader has the room; three rows keep the neighbours in sight.
		l.listRows = min(rows, 3)
		l.rule = l.listRows + 1
	}
	top := l.rule + 1
	l.out = rect{0, top, c.W, c.H - top}
	if c.W >= factsMin {
		l.facts = rect{c.W - factsW, top, factsW, c.H - top}
		l.out.w = c.W - factsW - 3
		return l
	}
	l.brief = min(2, max(0, l.out.h-3))
	l.out.y += l.brief
	l.out.h -= l.brief
	return l
}

// View implements screen.Screen.
func (s *Screen) View(c *screen.Ctx) string {
	if c.W <= 0 || c.H <= 0 {
		return ""
	}
	ts := s.tasks(c)
	t := s.selected(c, ts)
	if t == nil {
		return s.empty(c)
	}
	l := s.layout(c, len(ts))
	lines := make([]string, 0, c.H)
	lines = append(lines, s.list(c, ts, l)...)
	if l.rule >= 0 {
		lines = append(lines, s.bottom(c, t, l, len(ts))...)
	}
	return strings.Join(lines[:min(len(lines), c.H)], "\n")
}

func (s *Screen) empty(c *screen.Ctx) string {
	if s.text != "" && len(c.State.Tasks) > 0 {
		return pane.Empty(c.Styles, c.W, c.H, "Nothing fits the filter",
			kit.Plural(len(c.State.Tasks), "task is", "tasks are")+" hidden by: "+text.Line(s.text), "esc clears it, / changes it.")
	}
	return pane.Empty(c.Styles, c.W, c.H, "No tasks yet",
		"A task is one capability of a provider at work: its output, signs of life, deadline and cost are shown here.",
		invokeLine(c.State),
		"signalbox provide  makes any command a capability that can be run")
}

// invokeLine tells what i can run with the providers that are known.
func invokeLine(st *fleet.State) string {
	all := len(st.Providers)
	if all == 0 {
		return "i  runs a capability of a provider; none is known yet (--provider NAME=URL)"
	}
	able := 0
	for _, p := range st.Providers {
		if p.Settings != nil {
			able++
		}
	}
	return fmt.Sprintf("i  runs a capability of a provider; %d of %d can be asked now", able, all)
}

// The columns of the list.
const (
	cMark = iota
	cState
	cTask
	cCapability
	cProvider
	cLife
	cAge
	cProgress
	cPercent
	cLeft
	cCost
	cTry
	cDetail
)

var cols = []kit.Col{
	cMark:       {W: 1},
	cState:      {Title: "STATE", W: 12},
	cTask:       {Title: "TASK", W: 13, Min: 10},
	cCapability: {Title: "CAPABILITY", W: 17, Min: 10, Grow: 1},
	cProvider:   {Title: "PROVIDER", W: 12, Min: 8, Rank: 5},
	cLife:       {Title: "LIFE", W: kit.BarCells},
	cAge:        {Title: "SIGN", W: 5, Right: true},
	cProgress:   {Title: "PROGRESS", W: kit.BarCells, Rank: 2},
	cPercent:    {Title: "", W: 4, Right: true},
	cLeft:       {Title: "DEADLINE", W: 8, Right: true},
	cCost:       {Title: "COST/CEIL", W: 11, Min: 9, Rank: 3, Right: true},
	cTry:        {Title: "TRY", W: 3, Rank: 7, Right: true},
	cDetail:     {Title: "DETAIL", W: 24, Min: 16, Grow: 3, Rank: 6},
}

func (s *Screen) list(c *screen.Ctx, ts []*fleet.Task, l layout) []string {
	tb := pane.NewTable(cols, c.W)
	out := []string{tb.Head(c.Styles)}
	from, to := s.cur.Visible(len(ts))
	for i := from; i < to; i++ {
		out = append(out, s.row(c, tb, ts[i], i == s.cur.Pos()))
	}
	for len(out) < l.listRows+1 {
		out = append(out, kit.Blank(c.W))
	}
	return out
}

func (s *Screen) row(c *screen.Ctx, tb pane.Table, t *fleet.Task, selected bool) string {
	st := c.Styles
	sit := pane.SituationOf(st, t, c.Now)
	sel, mark := pane.Margin(st, selected, c.Focused && !s.output, c.IsMarked(screen.Task(t.ID)))
	bar, age, life := lifeCells(st, t, c.Now)
	progress, percent := progressCells(st, t)
	left, leftStyle := leftCell(st, t, c.Now)
	cost, costStyle := costCell(st, t)
	note, noteStyle := noteOf(c, t, sit)
	return tb.Row(st, sel, []pane.Cell{
		cMark:       {Text: mark, Style: st.Accent},
		cState:      {Text: sit.Glyph + " " + sit.Word, Style: sit.Style},
		cTask:       {Text: pane.CleanID(st.G, t.ID, tb.W(cTask)), Style: st.Text},
		cCapability: {Text: pane.CleanID(st.G, t.Params.Capability, tb.W(cCapability)), Style: nameStyle(c, t)},
		cProvider:   {Text: pane.CleanID(st.G, t.Provider, tb.W(cProvider)), Style: st.Muted},
		cLife:       {Text: bar, Style: life, Bar: life != st.Bad},
		cAge:        {Text: age, Style: life},
		cProgress:   {Text: progress, Style: progressStyle(st, t), Bar: t.Progress != nil},
		cPercent:    {Text: percent, Style: st.Text},
		cLeft:       {Text: left, Style: leftStyle},
		cCost:       {Text: cost, Style: costStyle},
		cTry:        {Text: try(t), Style: st.Muted},
		cDetail:     {Text: pane.Clean(note, tb.W(cDetail)), Style: noteStyle},
	})
}

// nameStyle dims what has ended.
func nameStyle(c *screen.Ctx, t *fleet.Task) theme.Style {
	if t.State.Final() {
		return c.Styles.Muted
	}
	return c.Styles.Text
}

func progressCells(st *theme.Styles, t *fleet.Task) (bar, percent string) {
	switch {
	case t.State.Final():
		return "", ""
	case t.Progress == nil:
		return kit.NoBar(st.G, kit.BarCells), "-"
	}
	return kit.Bar(st.G, *t.Progress, kit.BarCells), strconv.Itoa(int(*t.Progress*100)) + "%"
}

// progressStyle mutes what was never reported.
func progressStyle(st *theme.Styles, t *fleet.Task) theme.Style {
	if t.Progress == nil {
		return st.Muted
	}
	return st.Accent
}

// try numbers the attempt; the first goes without saying.
func try(t *fleet.Task) string {
	if t.Attempt <= 1 {
		return ""
	}
	return "#" + strconv.Itoa(t.Attempt)
}

// noteOf is what there is to say about t beyond its columns, raw.
func noteOf(c *screen.Ctx, t *fleet.Task, sit pane.Situation) (string, theme.Style) {
	st := c.Styles
	switch {
	case c.PendingWord(screen.Task(t.ID)) != "":
		return c.PendingWord(screen.Task(t.ID)), st.Accent
	case t.State == acmp.StateCancelled && t.Err != nil:
		return t.Err.Error(), st.Muted
	case t.Err != nil:
		return t.Err.Brief(), st.Bad
	case t.Overcharge != "":
		return "charged " + kit.CU(t.Overcharge) + " CU above the ceiling", st.Bad
	case t.Earlier:
		return ranBy(t), st.Muted
	case sit.More != "":
		return sit.More, sit.Style
	case t.State.Final():
		if t.ProofCheck == "" {
			return "", st.Muted
		}
		return "proof " + t.ProofCheck, st.Muted
	}
	return t.Detail, st.Muted
}

// ranBy tells who ran a task that ended before this program began.
func ranBy(t *fleet.Task) string {
	if t.By != "" {
		return "run by " + t.By
	}
	return "another run"
}

// wheel scrolls what is under the pointer.
func (s *Screen) wheel(c *screen.Ctx, ts []*fleet.Task, t *fleet.Task, msg tea.MouseWheelMsg) {
	d := 0
	switch msg.Button {
	case tea.MouseWheelUp:
		d = -1
	case tea.MouseWheelDown:
		d = 1
	}
	l := s.layout(c, len(ts))
	if d == 0 || t == nil {
		return
	}
	if l.rule >= 0 && msg.Y >= l.rule {
		p, tx := s.source(c, t, len(ts))
		p.Scroll(tx, 3*d)
		return
	}
	s.cur.Move(d, len(ts), taskKey(ts))
	s.leaveWhole(s.cur.Key())
}

func (s *Screen) click(c *screen.Ctx, ts []*fleet.Task, msg tea.MouseClickMsg) {
	l := s.layout(c, len(ts))
	if l.rule >= 0 && msg.Y >= l.rule {
		s.output = len(ts) > 0
		return
	}
	s.output = false
	if i := s.cur.Top() + msg.Y - 1; msg.Y >= 1 && i < len(ts) {
		s.cur.To(i, len(ts), taskKey(ts))
		s.leaveWhole(s.cur.Key())
	}
}
