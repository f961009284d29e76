package queue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// View implements screen.Screen.
func (s *Screen) View(c *screen.Ctx) string {
	if c.W <= 0 || c.H <= 0 {
		return ""
	}
	if c.State == nil {
		return kit.Lines(nil, c.W, c.H)
	}
	asks, tasks := s.sync(c)
	r := arrange(c.W, c.H, len(asks), len(tasks))
	left := s.askLines(c, r.asks, asks)
	if !r.wide && r.context.h > 0 {
		left = append(left, s.contextLines(c, r.context, asks, tasks)...)
	}
	left = append(left, s.taskLines(c, r.tasks, tasks)...)
	if !r.wide {
		return kit.Lines(left, c.W, c.H)
	}
	right := s.contextLines(c, r.context, asks, tasks)
	return kit.Split(c.Styles, kit.Lines(left, r.asks.w, c.H), kit.Lines(right, r.context.w, c.H), c.H)
}

// heading is the first line of a part.
func heading(c *screen.Ctx, title, note string, focused bool, w int) string {
	st := c.Styles
	style := st.Muted
	if focused {
		style = st.Title
	}
	nw := text.Width(note)
	if nw+text.Width(title)+3 > w {
		note, nw = "", 0
	}
	return style.Render(kit.Fit(st.G, title, max(0, w-nw-1), false)) + st.Muted.Render(note) + " "
}

// askLines draws the list of asks.
func (s *Screen) askLines(c *screen.Ctx, r rect, asks []fleet.Ask) []string {
	if r.h <= 0 {
		return nil
	}
	title := fmt.Sprintf("NEEDS YOU (%d)", len(asks))
	if s.snoozed {
		title = fmt.Sprintf("SNOOZED (%d)", len(asks))
	}
	out := []string{s.askHeading(c, title, asks, r)}
	if len(asks) == 0 {
		return append(out, kit.SplitLines(s.empty(c, r.w, r.h-1))...)
	}
	cols := columns(r.w, needOf(asks))
	from, to := s.asks.Visible(len(asks))
	for i := from; i < to; i++ {
		out = append(out, s.askRow(c, &asks[i], i == s.asks.Pos(), cols, r.w))
	}
	for len(out) < r.h {
		out = append(out, kit.Blank(r.w))
	}
	return out
}

// askHeading tells how many asks there are and by what rule they stand, and where not
// all of them are in sight, what they are.
func (s *Screen) askHeading(c *screen.Ctx, title string, asks []fleet.Ask, r rect) string {
	rule, focused := "rule: "+fleet.RankRule, s.part == partAsks
	if len(asks) < r.h {
		return heading(c, title, rule, focused, r.w)
	}
	sep := " " + c.Styles.G.Dot + " "
	room := r.w - text.Width(title) - 4
	for _, note := range []string{rule, fleet.RankRule, ""} {
		line := census(asks, room-text.Width(note)-3, sep)
		if whole := !strings.Contains(line, "more kind"); line != "" && (whole || note == "") {
			return heading(c, title+"  "+line, note, focused, r.w)
		}
	}
	return heading(c, title, rule, focused, r.w)
}

func (s *Screen) askRow(c *screen.Ctx, a *fleet.Ask, selected bool, ws []int, w int) string {
	st := c.Styles
	t := targetOf(c.State, a)
	sel := selection(selected, c.Focused && s.part == partAsks)
	lead := " "
	if selected {
		lead = st.G.Cursor
	}
	if c.IsMarked(t) {
		lead = st.G.Mark
	}
	glyph, style := askMark(st, a)
	blocks := ""
	if a.Blocks > 0 {
		blocks = "blocks " + kit.Count(a.Blocks)
	}
	if blocks == "" && ws[cBlocks] > 0 && ws[cDetail] > 0 {
		// A row that blocks nothing has that room for its words.
		ws = slices.Clone(ws)
		ws[cDetail] += ws[cBlocks] + 1
		ws[cBlocks] = 0
	}
	title, detail, dstyle := words(c, a, t, ws)
	cells := make([]kit.Cell, 0, cAge+1)
	add := func(col int, s string, style theme.Style) {
		if ws[col] > 0 {
			cells = append(cells, kit.Cell{Text: s, Style: style, W: ws[col], Right: col == cAge})
		}
	}
	add(cLead, lead, st.Accent)
	add(cGlyph, glyph, style)
	add(cKind, string(a.Kind), style)
	severity := a.Severity.String()
	if w < bothFrom {
		severity = shortSeverity(a.Severity)
	}
	add(cSeverity, severity, style)
	add(cWhat, what(c, a, ws[cWhat]), freshness(c, a))
	add(cTitle, title, st.Muted)
	add(cDetail, detail, dstyle)
	add(cBlocks, blocks, st.Text)
	add(cAge, kit.Ago(a.Since, c.Now), st.Muted)
	return kit.Row(st, sel, w, cells...)
}

func freshness(c *screen.Ctx, a *fleet.Ask) theme.Style {
	for _, id := range []string{a.WorkItemID, a.TaskID} {
		if at, ok := c.State.Changed[id]; ok && c.Now.Sub(at) < screen.FreshFor {
			return c.Styles.Fresh
		}
	}
	return c.Styles.Text
}

func selection(selected, focused bool) theme.Selection {
	switch {
	case selected && focused:
		return theme.SelFocused
	case selected:
		return theme.SelUnfocused
	}
	return theme.SelNone
}

// what names the object of an ask in w cells.
func what(c *screen.Ctx, a *fleet.Ask, w int) string {
	g := c.Styles.G
	switch a.Kind {
	case fleet.AskGrant:
		who := pane.CleanID(g, a.Who, min(12, w/3))
		return who + " " + g.Arrow + " " + pane.CleanID(g, a.WorkItemID, max(4, w-text.Width(who)-3))
	case fleet.AskTask, fleet.AskBudget:
		if t := c.State.Tasks[a.TaskID]; t != nil {
			id := pane.CleanID(g, a.TaskID, 10)
			return id + " " + pane.Clean(t.Params.Capability, w)
		}
	case fleet.AskUnreachable:
		if a.Provider != "" {
			return pane.CleanID(g, a.Provider, w)
		}
		return "owner"
	}
	if a.WorkItemID != "" {
		return pane.CleanID(g, a.WorkItemID, w)
	}
	return pane.Clean(a.Title, w)
}

func detailOf(a *fleet.Ask) string {
	switch {
	case a.Detail != "":
		return a.Detail
	case a.Kind == fleet.AskGrant:
		return "" // that a request waits goes without saying
	}
	return a.Reason
}

// askMark is the glyph of an ask; its style tells the severity.
func askMark(st *theme.Styles, a *fleet.Ask) (string, theme.Style) {
	style := st.Wait
	switch {
	case a.Severity >= fleet.SeverityHigh:
		style = st.Bad
	case a.Severity == fleet.SeverityMedium:
		style = st.Warn
	}
	g := st.G
	switch a.Kind {
	case fleet.AskDecide:
		return g.Bang, style
	case fleet.AskGrant:
		return g.Query, style
	case fleet.AskAccept:
		return g.Check, style
	case fleet.AskLease:
		return g.Cycle, style
	case fleet.AskTask:
		return g.Cross2, style
	case fleet.AskBlocked:
		return g.Block, style
	case fleet.AskReview:
		return g.Query, style
	case fleet.AskOverlap:
		return g.Flag, style
	case fleet.AskBudget:
		return "$", style
	}
	return g.Off, style
}

// empty teaches what would be here.
func (s *Screen) empty(c *screen.Ctx, w, h int) string {
	if h <= 0 {
		return ""
	}
	switch {
	case s.snoozed:
		return pane.Empty(c.Styles, w, h, "Nothing is snoozed", "m on an ask puts it aside; z goes back to the queue.")
	case !s.query.Empty():
		return pane.Empty(c.Styles, w, h, "Nothing fits the filter", "esc clears it, / changes it.")
	case c.State.Link.State != fleet.LinkLive:
		return pane.Empty(c.Styles, w, h, "Nothing is known to need you", pane.OwnerLine(c.State.Link, c.Now))
	}
	return pane.Empty(c.Styles, w, h, "Nothing needs you", pane.OwnerLine(c.State.Link, c.Now),
		"What waits for a person comes here by itself, the worst first: decisions, requests, finished work, trouble.",
		"n  makes a work item; 2 shows all of them", "i  runs a capability of a provider as a task")
}

// taskLines draws the strip of live tasks.
func (s *Screen) taskLines(c *screen.Ctx, r rect, tasks []*fleet.Task) []string {
	if r.h <= 0 {
		return nil
	}
	out := []string{heading(c, fmt.Sprintf("LIVE TASKS (%d)", len(tasks)), "life: what is left of 3 heartbeats", s.part == partTasks, r.w)}
	ws := kit.Widths([]kit.Col{
		{W: 1}, {W: 10}, {W: 15, Min: 8, Grow: 1}, {W: 1}, {W: pane.WordCells, Rank: 3}, {W: kit.BarCells}, {W: 5, Right: true},
		{W: 4, Right: true, Rank: 2}, {W: 10, Rank: 1}, {W: 8, Rank: 4}, {W: 20, Min: 16, Grow: 4, Rank: 5},
	}, r.w)
	from, to := s.tasks.Visible(len(tasks))
	for i := from; i < to; i++ {
		out = append(out, s.taskRow(c, tasks[i], i == s.tasks.Pos(), ws, r.w))
	}
	return out
}

func (s *Screen) taskRow(c *screen.Ctx, t *fleet.Task, selected bool, ws []int, w int) string {
	st := c.Styles
	focused := s.part == partTasks
	sel := selection(selected && focused, c.Focused)
	lead := " "
	if selected && focused {
		lead = st.G.Cursor
	}
	if c.IsMarked(screen.Task(t.ID)) {
		lead = st.G.Mark
	}
	sit := pane.SituationOf(st, t, c.Now)
	bar, life := lifeBar(c, t, ws[5])
	progress := ""
	if t.Progress != nil {
		progress = strconv.Itoa(int(*t.Progress*100)) + "%"
	}
	left := kit.Span(t.Deadline.Sub(c.Now)) + " left"
	if p := c.PendingWord(screen.Task(t.ID)); p != "" {
		left = p
	}
	return kit.Row(st, sel, w,
		kit.Cell{Text: lead, Style: st.Accent, W: ws[0]},
		kit.Cell{Text: pane.CleanID(st.G, t.ID, ws[1]), Style: st.Muted, W: ws[1]},
		kit.Cell{Text: pane.Clean(t.Params.Capability, ws[2]), Style: st.Text, W: ws[2]},
		kit.Cell{Text: sit.Glyph, Style: sit.Style, W: ws[3]},
		kit.Cell{Text: sit.Word, Style: sit.Style, W: ws[4]},
		kit.Cell{Text: bar, Style: life, W: ws[5], Bar: true},
		kit.Cell{Text: lastSign(c, t), Style: life, W: ws[6], Right: true},
		kit.Cell{Text: progress, Style: st.Text, W: ws[7], Right: true},
		kit.Cell{Text: left, Style: deadlineStyle(c, t), W: ws[8], Right: true},
		kit.Cell{Text: ceiling(t), Style: st.Muted, W: ws[9]},
		kit.Cell{Text: says(t, ws[10]), Style: st.Muted, W: ws[10]},
	)
}

// says is the newest word of a task: what it reports about itself, else the end
// of its output.
func says(t *fleet.Task, w int) string {
	if w <= 0 {
		return ""
	}
	if t.Detail != "" {
		return pane.Clean(t.Detail, w)
	}
	for i := len(t.Output.Lines) - 1; i >= max(0, len(t.Output.Lines)-3); i-- {
		if l := strings.TrimSpace(text.OutputLine(text.Head(t.Output.Lines[i], 16*w+256), false)); l != "" {
			return l
		}
	}
	return ""
}

// lifeBar draws what is left of three heartbeat intervals: full is alive.
func lifeBar(c *screen.Ctx, t *fleet.Task, w int) (string, theme.Style) {
	st := c.Styles
	ratio, life := ratioOf(t, c)
	switch life {
	case acmp.LifeUnknown:
		return kit.NoBar(st.G, w), st.Muted
	case acmp.LifeDead:
		return "no sign", st.Bad
	case acmp.LifeSilent:
		return kit.Bar(st.G, 1-ratio, w), st.Warn
	}
	return kit.Bar(st.G, 1-ratio, w), st.OK
}

func lastSign(c *screen.Ctx, t *fleet.Task) string {
	if t.LastSign.IsZero() {
		return "-"
	}
	return kit.Span(c.Now.Sub(t.LastSign))
}

func deadlineStyle(c *screen.Ctx, t *fleet.Task) theme.Style {
	total := t.Deadline.Sub(t.SentAt)
	if left := t.Deadline.Sub(c.Now); total > 0 && left < total/5 {
		return c.Styles.Warn
	}
	return c.Styles.Text
}

func ceiling(t *fleet.Task) string {
	if t.Params.MaxPriceCU == nil {
		return ""
	}
	return strings.TrimSpace(kit.CU(string(*t.Params.MaxPriceCU)) + " CU")
}
