package queue

import (
	"cmp"
	"strings"

	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// The columns of an ask's row.
const (
	cLead = iota
	cGlyph
	cKind
	cSeverity
	cWhat
	cTitle
	cDetail
	cBlocks
	cAge
)

// need is what the asks at hand want of the columns. It is taken over all asks,
// not over the visible ones, so that scrolling moves no column.
type need struct {
	kind     int // cells of the longest kind
	severity int // cells of the longest severity
	short    int // cells of the longest severity, shortened
	blocks   int // cells of the longest "blocks N"; 0 when no ask blocks anything
}

func needOf(asks []fleet.Ask) need {
	n := need{kind: len(fleet.AskDecide)}
	most := 0
	for i := range asks {
		n.kind = max(n.kind, len(asks[i].Kind))
		n.severity = max(n.severity, len(asks[i].Severity.String()))
		n.short = max(n.short, len(shortSeverity(asks[i].Severity)))
		most = max(most, asks[i].Blocks)
	}
	if most > 0 {
		n.blocks = len("blocks ") + len(kit.Count(most))
	}
	return n
}

// shortSeverity is the word for s where there is little room.
func shortSeverity(s fleet.Severity) string {
	switch s {
	case fleet.SeverityMedium:
		return "med"
	case fleet.SeverityCritical:
		return "crit"
	}
	return s.String()
}

// bothFrom is the width from which title and detail have a column each and the
// severity its whole word; below it title and detail share one, the more telling
// first, and the severity's word is shortened.
const bothFrom = 104

// columns are the widths of an ask's row in w cells; 0 leaves a column out.
func columns(w int, n need) []int {
	cols := []kit.Col{
		cLead: {W: 1}, cGlyph: {W: 1}, cKind: {W: n.kind},
		cSeverity: {W: n.short},
		cWhat:     {W: 24, Min: 16, Grow: 1},
		cTitle:    {W: 0},
		cDetail:   {W: 24, Min: 12, Grow: 4, Rank: 2},
		cBlocks:   {W: n.blocks, Rank: 1},
		cAge:      {W: 4, Right: true},
	}
	if w >= bothFrom {
		cols[cSeverity].W = n.severity
		cols[cTitle] = kit.Col{W: 26, Min: 20, Grow: 3}
		cols[cDetail].Grow = 3
	}
	return kit.Widths(cols, w)
}

// words are the title and the detail of an ask. In one column a decision is
// told by its title, whatever else by its detail, and the other follows.
func words(c *screen.Ctx, a *fleet.Ask, t screen.Target, ws []int) (title, detail string, style theme.Style) {
	st := c.Styles
	room := ws[cTitle] + ws[cDetail]
	title, detail = pane.Clean(a.Title, room), pane.Clean(detailOf(a), room)
	if it := itemOf(c, a); it != nil && a.Kind != fleet.AskReview {
		title = pane.Clean(it.WorkItem.Title, room)
	}
	if a.TaskID != "" && a.Provider != "" {
		title = "on " + pane.Clean(a.Provider, 40) // the capability stands beside the id
	}
	if a.Kind == fleet.AskUnreachable && a.Provider != "" {
		title = "" // the kind and the name say it
	}
	if a.Kind == fleet.AskOverlap {
		title = overlapWords(st, a, cmp.Or(ws[cTitle], ws[cDetail]))
	}
	if p := c.PendingWord(t); p != "" {
		return title, p, st.Accent
	}
	if ws[cTitle] > 0 {
		return title, detail, st.Muted
	}
	switch {
	case detail == "" || detail == title:
		return "", title, st.Muted
	case title == "":
		return "", detail, st.Muted
	case a.Kind == fleet.AskOverlap && text.Width(title)+6 > ws[cDetail]:
		return "", title, st.Muted // what it met is not cut for what is shared
	case a.Kind == fleet.AskDecide, a.Kind == fleet.AskBlocked, a.Kind == fleet.AskReview, a.Kind == fleet.AskOverlap:
		title, detail = detail, title
	}
	return "", detail + " " + st.G.Dot + " " + title, st.Muted
}

// overlapWords name what an overlapping claim met in w cells: the first by its id, the
// others by their number, which is never cut.
func overlapWords(st *theme.Styles, a *fleet.Ask, w int) string {
	first, rest, more := strings.Cut(a.With, fleet.WithSep)
	tail := ""
	if more {
		tail = " +" + kit.Count(1+strings.Count(rest, fleet.WithSep)) + " more"
	}
	return "overlaps " + pane.CleanID(st.G, first, max(4, w-len("overlaps ")-text.Width(tail))) + tail
}
