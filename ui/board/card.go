package board

import (
	"fmt"
	"strings"

	"signalbox/model/acop"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// selection tells how a card is drawn and what stands in its margin.
func selection(c *screen.Ctx, it *acop.Item, selected bool) (theme.Selection, kit.Cell) {
	st := c.Styles
	mark := kit.Cell{Text: " ", Style: st.Text, W: 1}
	if c.IsMarked(target(it)) {
		mark = kit.Cell{Text: st.G.Mark, Style: st.Accent, W: 1}
	}
	if !selected {
		return theme.SelNone, mark
	}
	if mark.Text == " " {
		mark = kit.Cell{Text: st.G.Cursor, Style: st.Accent, W: 1}
	}
	if c.Focused {
		return theme.SelFocused, mark
	}
	return theme.SelUnfocused, mark
}

// card draws the three rows of a card.
func (s *Screen) card(c *screen.Ctx, it *acop.Item, w int, selected bool) []string {
	st := c.Styles
	sel, mark := selection(c, it, selected)
	inner := w - 2
	title := kit.Cell{Text: titleOf(it, inner), Style: titleStyle(c, it), W: inner}
	glyph, kind := kit.KindMark(it.WorkItem.WorkKind)
	const scoreW = 4
	prio := priorityWord(it.WorkItem.Priority)
	kindW := min(11, max(0, inner-scoreW-2-len(prio)))
	second := []kit.Cell{
		{Text: " ", Style: st.Text, W: 1},
		{Text: glyph + " " + text.Line(kind), Style: st.Muted, W: kindW},
		{Text: prio, Style: priorityStyle(st, it.WorkItem.Priority), W: max(0, inner-kindW-scoreW-2)},
		{Text: score(it), Style: st.Muted, W: scoreW, Right: true},
	}
	third := append([]kit.Cell{{Text: " ", Style: st.Text, W: 1}}, s.situation(c, it, inner)...)
	return []string{
		kit.Row(st, sel, w, mark, title),
		kit.Row(st, sel, w, second...),
		kit.Row(st, sel, w, third...),
	}
}

func titleOf(it *acop.Item, w int) string {
	if t := pane.Clean(it.WorkItem.Title, w); strings.TrimSpace(t) != "" {
		return t
	}
	return text.ID(text.Head(it.ID(), 512))
}

// titleStyle is brighter for a moment after a change.
func titleStyle(c *screen.Ctx, it *acop.Item) theme.Style {
	if t, ok := c.State.Changed[it.ID()]; ok && c.Now.Sub(t) < screen.FreshFor {
		return c.Styles.Fresh
	}
	if columnOf(it.Status()) == closed {
		return c.Styles.Dimmed
	}
	return c.Styles.Text
}

func priorityWord(p acop.Priority) string { return text.Line(text.Head(string(p), 64)) }

// priorityStyle weighs priorities by brightness: colour is kept for states.
func priorityStyle(st *theme.Styles, p acop.Priority) theme.Style {
	switch p {
	case acop.PriorityUrgent:
		return st.Strong
	case acop.PriorityHigh:
		return st.Text
	}
	return st.Muted
}

// score is the actionability score without its zero: .91.
func score(it *acop.Item) string {
	s := fmt.Sprintf("%.2f", it.WorkItem.ActionabilityScore)
	return strings.TrimPrefix(s, "0")
}

// situation is what matters about an item in its present state, in w cells.
func (s *Screen) situation(c *screen.Ctx, it *acop.Item, w int) []kit.Cell {
	st := c.Styles
	if word := c.PendingWord(target(it)); word != "" {
		return []kit.Cell{{Text: text.Line(word), Style: st.Accent, W: w}}
	}
	if it.Lease != nil {
		return leaseCells(c, it, w)
	}
	note, style := noteOf(c, it)
	return []kit.Cell{{Text: note, Style: style, W: w}}
}

func leaseCells(c *screen.Ctx, it *acop.Item, w int) []kit.Cell {
	st := c.Styles
	l := pane.LeaseOf(st, it.Lease, c.OwnerNow())
	cells := []kit.Cell{
		{Text: l.Bar(st, kit.BarCells), Style: l.Style, W: kit.BarCells, Bar: true},
		{Text: kit.Span(l.Left), Style: l.Style, W: 5, Right: true},
	}
	rest := w - kit.BarCells - 5 - 2
	if len(c.State.ConflictsOf(it.ID())) > 0 && rest > 14 {
		cells = append(cells, kit.Cell{Text: "overlap", Style: st.Warn, W: 7})
		rest -= 8
	}
	if rest > 0 {
		cells = append(cells, kit.Cell{Text: pane.CleanName(st.G, it.Holder(), rest), Style: st.Text, W: rest})
	}
	return cells
}

// noteOf is one line about an item nobody holds.
func noteOf(c *screen.Ctx, it *acop.Item) (string, theme.Style) {
	st := c.Styles
	if n := waiting(it); n > 0 {
		return fmt.Sprintf("%s %d asked to claim", st.G.Query, n), st.Wait
	}
	switch it.Status() {
	case acop.StatusRequiresAttention:
		if len(it.Blockers) == 0 {
			return "waits for a decision", st.Text
		}
		return blockers(c, it)
	case acop.StatusBlocked:
		if len(it.Blockers) == 0 {
			return "no blocker given", st.Warn
		}
		return blockers(c, it)
	case acop.StatusCompleted:
		return evidence(st, it)
	case acop.StatusAccepted:
		if it.Acceptance != nil {
			return "by " + text.ID(text.Head(it.Acceptance.AcceptedBy, 128)), st.Muted
		}
	case acop.StatusSuperseded:
		if it.SupersededBy != "" {
			return "by " + text.ID(text.Head(it.SupersededBy, 256)), st.Muted
		}
	}
	if len(it.Blockers) > 0 {
		return blockers(c, it)
	}
	return scope(it), st.Muted
}

func waiting(it *acop.Item) int {
	n := 0
	for _, i := range it.Intents {
		if i.State == acop.IntentWaiting {
			n++
		}
	}
	return n
}

// namedBlockers is how many blockers a card names at most; it has no room for more.
const namedBlockers = 4

// blockers counts and names what an item waits for; a dependency on an item nobody
// knows comes first.
func blockers(c *screen.Ctx, it *acop.Item) (string, theme.Style) {
	n := len(it.Blockers)
	var names []string
	deps, dangling := 0, ""
	for i := range it.Blockers {
		name := it.Blockers[i].BlockerCode
		if id := it.Blockers[i].DependsOnWorkItemID; id != "" {
			deps++
			name = id
			if dangling == "" && c.State.Items[id] == nil {
				dangling = text.ID(text.Head(id, 256))
			}
		}
		if len(names) < namedBlockers {
			names = append(names, text.ID(text.Head(name, 256)))
		}
	}
	all := strings.Join(names, ", ")
	switch {
	case dangling != "" && n == 1:
		return "dangling: " + dangling, c.Styles.Warn
	case dangling != "":
		return fmt.Sprintf("%d blockers, dangling: %s", n, dangling), c.Styles.Warn
	case deps == n && n == 1:
		return "waits for " + all, c.Styles.Text
	case deps == n:
		return fmt.Sprintf("waits for %d: %s", n, all), c.Styles.Text
	case n == 1:
		return all, c.Styles.Text
	}
	return fmt.Sprintf("%d blockers: %s", n, all), c.Styles.Text
}

// evidence counts what is given of what is required.
func evidence(st *theme.Styles, it *acop.Item) (string, theme.Style) {
	if it.Completion == nil {
		return "no evidence given", st.Warn
	}
	need := len(it.ValidationRequirements)
	have := need - len(it.MissingEvidence(it.Completion.Evidence))
	by := text.ID(text.Head(it.Completion.CompletedBy, 128))
	if need == 0 {
		return "nothing required, by " + by, st.Muted
	}
	style := st.Text
	if have < need {
		style = st.Warn
	}
	return fmt.Sprintf("%d/%d evidence, by %s", have, need, by), style
}

// scope is the code surface the item owns.
func scope(it *acop.Item) string {
	p := it.WorkItem.OwnedPaths
	if len(p) == 0 {
		p = it.WorkItem.OwnedSymbols
	}
	if len(p) == 0 {
		return ""
	}
	s := text.ID(text.Head(p[0], 256))
	if len(p) > 1 {
		s += fmt.Sprintf(" +%d", len(p)-1)
	}
	return s
}
