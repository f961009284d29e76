package log

import (
	"fmt"

	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// The columns of the list.
const (
	cMark = iota
	cTime
	cActor
	cVerb
	cTarget
	cOutcome
	cChange
	cReason
)

var cols = []kit.Col{
	cMark:    {W: 1},
	cTime:    {Title: "TIME", W: 8},
	cActor:   {Title: "ACTOR", W: 14, Min: 10},
	cVerb:    {Title: "VERB", W: 10, Min: 9},
	cTarget:  {Title: "TARGET", W: 26, Min: 16, Grow: 1},
	cOutcome: {Title: "OUTCOME", W: 9},
	cChange:  {Title: "CHANGE OR CODE", W: 24, Min: 16, Grow: 1, Rank: 2},
	cReason:  {Title: "REASON", W: 24, Min: 20, Grow: 2, Rank: 1},
}

// View implements screen.Screen.
func (s *Screen) View(c *screen.Ctx) string {
	if c.W <= 0 || c.H <= 0 {
		return ""
	}
	r := s.sync(c)
	if r.N == 0 {
		return s.empty(c)
	}
	return s.list.Draw(c, r, pane.Drawing{
		Cols: cols, Last: cReason, Name: "LINE", Note: s.note(c, r.N),
		Row:   func(tb pane.Table, i int) string { return s.row(c, tb, i) },
		Facts: func(i, w, h int) []string { return s.details(c, i, w, h) },
	})
}

func (s *Screen) empty(c *screen.Ctx) string {
	if s.Filter() != "" && len(c.State.Log) > 0 {
		return pane.Empty(c.Styles, c.W, c.H, "Nothing fits the filter",
			kit.Plural(len(c.State.Log), "line is", "lines are")+" hidden by: "+text.Line(s.Filter()), "esc clears it, / changes it.")
	}
	if s.brief && len(c.State.Log) > 0 {
		return pane.Empty(c.Styles, c.W, c.H, "Nothing but signs of life", kit.Plural(len(c.State.Log), "heartbeat or renewal is", "heartbeats and renewals are")+" hidden; v shows them.")
	}
	return pane.Empty(c.Styles, c.W, c.H, "Nothing happened yet", pane.OwnerLine(c.State.Link, c.Now),
		"Every act is listed here with actor, reason and outcome: the owner's and this program's own, refused ones too.",
		"signalbox work events  prints the owner's part in a shell")
}

// note says what the filter hides, or what is no longer kept.
func (s *Screen) note(c *screen.Ctx, n int) string {
	switch {
	case s.Filter() != "" || s.brief:
		return fmt.Sprintf("%d of %d", n, len(c.State.Log))
	case c.State.LogBase > 0:
		return kit.Count(c.State.LogBase) + " older not kept"
	}
	return ""
}

func (s *Screen) row(c *screen.Ctx, tb pane.Table, i int) string {
	st, l := c.Styles, s.at(c, i)
	sel, mark := s.list.Margin(c, i, screen.Target{Kind: screen.KindEvent, ID: fmt.Sprint(s.num(c, i))})
	glyph, style := outcomeMark(st, l.Outcome)
	body := st.Text
	if c.Now.Sub(l.At) < screen.FreshFor && !l.routine() {
		body = st.Fresh
	}
	cells := []pane.Cell{
		cMark:    {Text: mark, Style: st.Accent},
		cTime:    {Text: kit.Clock(l.At, true), Style: st.Muted},
		cActor:   {Text: pane.CleanName(st.G, l.Actor, tb.W(cActor)), Style: body},
		cVerb:    {Text: pane.Clean(l.Verb, tb.W(cVerb)), Style: body},
		cTarget:  {Text: pane.CleanName(st.G, l.target(), tb.W(cTarget)), Style: body},
		cOutcome: {Text: glyph + " " + l.Outcome, Style: style},
		cChange:  {Text: pane.Clean(l.change(st.G.Arrow), tb.W(cChange)), Style: st.Muted},
		cReason:  {Text: pane.Clean(l.Reason, tb.W(cReason)), Style: st.Muted},
	}
	if l.Outcome == outNote {
		// A note is one sentence: it has the room of the columns it does not need.
		cells[cTarget] = pane.Cell{Text: pane.Clean(l.Reason, 240), Style: body}
		return tb.RowSpan(st, sel, cells, cTarget, cReason)
	}
	return tb.Row(st, sel, cells)
}

// outcomeMark keeps colour for what did not simply happen.
func outcomeMark(st *theme.Styles, outcome string) (string, theme.Style) {
	switch outcome {
	case outRefused:
		return st.G.Cross2, st.Bad
	case outAsked:
		return st.G.Circle, st.Wait
	case outNote:
		return st.G.Dot, st.Muted
	}
	return st.G.Check, st.Muted
}

// details shows one line in full: w×h cells.
func (s *Screen) details(c *screen.Ctx, i, w, h int) []string {
	st, l := c.Styles, s.at(c, i)
	f := pane.NewSheet(st, w, h)
	glyph, style := outcomeMark(st, l.Outcome)
	f.Line(style.Render(glyph+" "+l.Outcome) + " " + st.Strong.Render(text.Clip(pane.Clean(l.Verb, 40), 40)))
	f.AddProse("reason", l.Reason, 4096, st.Text)
	f.Add("code", text.ID(text.Head(l.Code, 128)), style)
	if l.Outcome != outRefused {
		f.Add("change", pane.Clean(l.change(st.G.Arrow), 80), st.Text)
	}
	f.Add("actor", text.ID(text.Head(l.Actor, 512)), st.Text)
	f.Add("item", text.ID(text.Head(l.Item, 512)), st.Text)
	f.Add("claim", text.ID(text.Head(l.Claim, 512)), st.Muted)
	f.Add("task_id", text.ID(text.Head(l.Task, 512)), st.Text)
	f.Add("time", kit.Stamp(l.At), st.Muted)
	where := map[string]string{"owner": "the owner's event", "here": "asked by this program", "note": "noted by this program"}[l.Source]
	if l.Revision > 0 {
		where += fmt.Sprintf(", revision %d", l.Revision)
	}
	f.Add("source", where, st.Muted)
	return f.Lines()
}
