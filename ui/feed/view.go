package feed

import (
	"fmt"
	"strings"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// The columns of the list.
const (
	cMark = iota
	cAge
	cKind
	cAuthor
	cItem
	cConf
	cSummary
)

var cols = []kit.Col{
	cMark:    {W: 1},
	cAge:     {Title: "AGE", W: 4, Right: true},
	cKind:    {Title: "KIND", W: 15},
	cAuthor:  {Title: "AUTHOR", W: 12, Min: 10},
	cItem:    {Title: "ITEM", W: 26, Min: 14, Grow: 1, Rank: 1},
	cConf:    {Title: "CONF", W: 4, Right: true, Rank: 3},
	cSummary: {Title: "SUMMARY", W: 30, Min: 27, Grow: 3},
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
		Cols: cols, Last: cConf, Name: "ENTRY", Note: s.note(c, r.N),
		Row:   func(tb pane.Table, i int) string { return s.row(c, tb, i) },
		Facts: func(i, w, h int) []string { return s.details(c, s.at(c, i), w, h) },
	})
}

// note says what the filter hides.
func (s *Screen) note(c *screen.Ctx, n int) string {
	if s.Filter() == "" {
		return ""
	}
	return fmt.Sprintf("%d of %d", n, len(c.State.Entries))
}

func (s *Screen) empty(c *screen.Ctx) string {
	if s.Filter() != "" && len(c.State.Entries) > 0 {
		return pane.Empty(c.Styles, c.W, c.H, "Nothing fits the filter",
			kit.Plural(len(c.State.Entries), "entry is", "entries are")+" hidden by: "+text.Line(s.Filter()), "esc clears it, / changes it.")
	}
	lines := []string{pane.OwnerLine(c.State.Link, c.Now)}
	if c.State.Link.State == fleet.LinkLive {
		lines = append(lines, "What agents and people note about work items appears here as it comes: findings, risks, decisions, requests for review.",
			"p  on a row of the queue or the board posts one about its item")
	}
	return pane.Empty(c.Styles, c.W, c.H, "No entries yet", lines...)
}

func (s *Screen) row(c *screen.Ctx, tb pane.Table, i int) string {
	st, e := c.Styles, &s.at(c, i).Entry
	sel, mark := s.list.Margin(c, i, target(c, e))
	glyph, word := kindMark(e.EntryKind)
	kind, body, muted := kindStyle(st, e.EntryKind), st.Text, st.Muted
	summary := pane.Clean(e.Summary, tb.W(cSummary))
	switch {
	case c.State.SupersededBy(e.EntryID) != "":
		glyph, word = st.G.Link, "superseded"
		kind, body, muted = st.Dimmed, st.Dimmed, st.Dimmed
	case c.OwnerNow().Sub(e.CreatedAtUTC.Std()) < screen.FreshFor:
		body = st.Fresh
	}
	return tb.Row(st, sel, []pane.Cell{
		cMark:    {Text: mark, Style: st.Accent},
		cAge:     {Text: kit.Ago(e.CreatedAtUTC.Std(), c.OwnerNow()), Style: muted},
		cKind:    {Text: glyph + " " + word, Style: kind},
		cAuthor:  {Text: pane.CleanName(st.G, e.AuthorAgentUID, tb.W(cAuthor)), Style: body},
		cItem:    {Text: pane.CleanName(st.G, e.WorkItemID, tb.W(cItem)), Style: muted},
		cConf:    {Text: confidence(e), Style: muted},
		cSummary: {Text: summary, Style: body},
	})
}

func kindStyle(st *theme.Styles, k acop.EntryKind) theme.Style {
	switch k {
	case acop.EntryRisk:
		return st.Warn
	case acop.EntryReviewRequest:
		return st.Wait
	case acop.EntryDecision:
		return st.OK
	}
	return st.Muted
}

// confidence is .86, or "-" where the author gave none.
func confidence(e *acop.BlackboardEntry) string {
	if e.Confidence == nil {
		return "-"
	}
	return strings.TrimPrefix(fmt.Sprintf("%.2f", *e.Confidence), "0")
}

// details shows one entry in full: w×h cells.
func (s *Screen) details(c *screen.Ctx, p *acop.Posted, w, h int) []string {
	st, e := c.Styles, &p.Entry
	f := pane.NewSheet(st, w, h)
	glyph, word := kindMark(e.EntryKind)
	head := kindStyle(st, e.EntryKind).Render(glyph+" "+word) + st.Muted.Render(" by ") +
		st.Text.Render(text.Clip(text.ID(text.Head(e.AuthorAgentUID, 256)), 40))
	f.Line(head)
	f.Prose(text.Block(text.Head(e.Summary, 4096)), st.Strong)
	s.links(c, f, e)
	if e.Details != "" {
		f.Gap()
		f.Prose(text.Block(text.Head(e.Details, 16<<10)), st.Text)
	}
	f.Gap()
	f.Add("item", text.ID(text.Head(e.WorkItemID, 512)), st.Text)
	f.Add("posted", kit.Stamp(e.CreatedAtUTC.Std()), st.Text)
	f.Add("confidence", confidence(e), st.Text)
	f.Add("status", text.Line(text.Head(string(e.Status), 64)), st.Text)
	f.Add("entry_id", text.ID(text.Head(e.EntryID, 512)), st.Muted)
	f.Add("artifacts", text.ID(text.Head(strings.Join(e.ArtifactIDs, ", "), 1024)), st.Muted)
	f.Add("operations", text.ID(text.Head(strings.Join(e.OperationIDs, ", "), 1024)), st.Muted)
	return f.Lines()
}

// links names both ends of a supersession.
func (s *Screen) links(c *screen.Ctx, f *pane.Sheet, e *acop.BlackboardEntry) {
	st := c.Styles
	if by := c.State.SupersededBy(e.EntryID); by != "" {
		f.Add("superseded", "by "+s.entryWords(c, by)+" (o)", st.Warn)
	}
	for _, id := range e.SupersedesEntryIDs[:min(3, len(e.SupersedesEntryIDs))] {
		f.Add("supersedes", s.entryWords(c, id)+" (o)", st.Muted)
	}
	if e.EntryKind == acop.EntryReviewRequest && c.State.SupersededBy(e.EntryID) == "" {
		f.Add("", "p answers with a decision", st.Muted)
	}
}

func (s *Screen) entryWords(c *screen.Ctx, id string) string {
	words := text.Middle(text.ID(text.Head(id, 256)), 16)
	if p, ok := c.State.Entry(id); ok && p.Entry.Summary != "" {
		words += " " + text.Clip(text.Line(text.Head(p.Entry.Summary, 512)), 60)
	}
	return words
}
