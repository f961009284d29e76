package agents

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// The columns of the list. Providers use them for what comes nearest: the
// endpoint stands under the item, the tasks under the note.
const (
	cMark = iota
	cState
	cName
	cItem
	cLease
	cLeft
	cRenewed
	cBeat
	cProgress
	cNote
)

var cols = []kit.Col{
	cMark:     {W: 1},
	cState:    {Title: "STATE", W: 13},
	cName:     {Title: "NAME", W: 14, Min: 9},
	cItem:     {Title: "HOLDS", W: 24, Min: 12, Grow: 2},
	cLease:    {Title: "LEASE", W: kit.BarCells},
	cLeft:     {Title: "LEFT", W: 5, Right: true},
	cRenewed:  {Title: "RENEW", W: 5, Right: true},
	cBeat:     {Title: "BEAT", W: 4, Right: true},
	cProgress: {Title: "NEWS", W: 4, Right: true},
	cNote:     {Title: "SAYS", W: 26, Min: 14, Grow: 3, Rank: 1},
}

// View implements screen.Screen.
func (s *Screen) View(c *screen.Ctx) string {
	if c.W <= 0 || c.H <= 0 {
		return ""
	}
	rows, r := s.sync(c)
	if r == nil || r.head != "" {
		return s.empty(c)
	}
	d := pane.Divide(c.W, c.H)
	var details []string
	title := "WORKER"
	if d.H > 0 {
		f := pane.NewSheet(c.Styles, d.W, d.H)
		if r.provider != nil {
			title = "PROVIDER"
			providerFacts(c, f, r.provider)
		} else {
			workerFacts(c, f, r)
		}
		details = f.Lines()
	}
	return d.Join(c.Styles, s.list(c, d, rows), details, title)
}

func (s *Screen) empty(c *screen.Ctx) string {
	if s.text != "" && s.cache.all > 0 {
		return pane.Empty(c.Styles, c.W, c.H, "Nothing fits the filter",
			kit.Plural(s.cache.all, "worker or provider is", "workers and providers are")+" hidden by: "+text.Line(s.text), "esc clears it, / changes it.")
	}
	return pane.Empty(c.Styles, c.W, c.H, "No agents yet", pane.OwnerLine(c.State.Link, c.Now),
		"A worker appears here with its first claim, a provider as soon as it is configured.",
		"signalbox mcp config  prints what an agent needs to claim work",
		"signalbox provide  makes any command a capability that can be run")
}

func (s *Screen) list(c *screen.Ctx, d pane.Detail, rows []row) []string {
	tb := pane.NewTable(cols, d.ListW)
	out := make([]string, 0, d.ListH)
	head := tb
	head.Cols = slices.Clone(cols)
	head.Cols[s.order.column()].Title += c.Styles.G.Down
	out = append(out, head.Head(c.Styles))
	from, to := s.cur.Visible(len(rows))
	for i := from; i < to && len(out) < d.ListH; i++ {
		r := rows[i]
		r.again = r.again && i > from // its first row may have scrolled out of sight
		out = append(out, s.row(c, tb, &r, i == s.cur.Pos(), d.ListW))
	}
	for len(out) < d.ListH {
		out = append(out, kit.Blank(d.ListW))
	}
	return out[:d.ListH]
}

func (s *Screen) row(c *screen.Ctx, tb pane.Table, r *row, selected bool, w int) string {
	st := c.Styles
	if r.head != "" {
		return kit.FitStyled(st.Strong.Render(text.Clip(r.head, w)), w)
	}
	sel, mark := pane.Margin(st, selected, c.Focused, c.IsMarked(r.target()))
	var cells []pane.Cell
	switch {
	case r.provider != nil:
		cells = providerCells(c, tb, r.provider)
	case r.item != nil:
		cells = claimCells(c, tb, r)
	case r.ask != nil:
		cells = askCells(c, tb, r)
	default:
		cells = idleCells(c, tb, r.agent)
	}
	cells[cMark] = pane.Cell{Text: mark, Style: st.Accent}
	if r.again {
		cells[cName] = pane.Cell{Text: st.G.Link, Style: st.Muted}
	}
	switch {
	case r.ask != nil:
		return tb.RowSpan(st, sel, cells, cLease, cProgress)
	case r.item == nil:
		return tb.RowSpan(st, sel, cells, cItem, cProgress)
	}
	return tb.Row(st, sel, cells)
}

// lifeWord says how the holder of a claim fares, in words.
func lifeWord(c *screen.Ctx, r *row) string {
	l := pane.LeaseOf(c.Styles, r.item.Lease, c.OwnerNow())
	switch {
	case l.Left == 0:
		return "lapsed"
	case r.agent.NoProgress:
		return "no progress"
	}
	if l.Word != "renew late" && len(c.State.ConflictsOf(r.item.ID())) > 0 {
		return "overlap"
	}
	return l.Word
}

func lifeMark(c *screen.Ctx, r *row) (glyph, word string, style theme.Style) {
	st := c.Styles
	switch word = lifeWord(c, r); word {
	case "lapsed":
		return st.G.Cross2, word, st.Bad
	case "no progress":
		return st.G.Half, word, st.Warn
	case "overlap":
		return st.G.Cross, word, st.Warn
	case "renew late":
		return st.G.Cycle, word, st.Warn
	case "renew due":
		return st.G.Cycle, word, st.Wait
	}
	return st.G.Running, word, st.OK
}

func claimCells(c *screen.Ctx, tb pane.Table, r *row) []pane.Cell {
	st, l := c.Styles, r.item.Lease
	lease := pane.LeaseOf(st, l, c.OwnerNow())
	glyph, word, style := lifeMark(c, r)
	note, noteStyle := claimNote(c, r)
	return []pane.Cell{
		cState:    {Text: glyph + " " + word, Style: style},
		cName:     {Text: pane.CleanName(st.G, r.agent.UID, tb.W(cName)), Style: st.Text},
		cItem:     {Text: pane.CleanName(st.G, r.item.ID(), tb.W(cItem)), Style: st.Text},
		cLease:    {Text: lease.Bar(st, tb.W(cLease)), Style: lease.Style, Bar: true},
		cLeft:     {Text: kit.Span(lease.Left), Style: lease.Style},
		cRenewed:  {Text: since(c, l.RenewedAtUTC), Style: st.Muted},
		cBeat:     {Text: since(c, l.HeartbeatAtUTC), Style: st.Muted},
		cProgress: {Text: since(c, l.ProgressAtUTC), Style: st.Muted},
		cNote:     {Text: pane.Clean(note, tb.W(cNote)), Style: noteStyle},
	}
}

// waiting is for how long somebody has waited: 3m, since just now.
func waiting(c *screen.Ctx, t time.Time) string {
	return strings.TrimPrefix(kit.Lasting(t, c.Now), "for ")
}

// since is the age of an instant of the owner's clock.
func since(c *screen.Ctx, t acop.Time) string { return kit.Ago(t.Std(), c.OwnerNow()) }

// claimNote is what a claim says beside its clocks, raw.
func claimNote(c *screen.Ctx, r *row) (string, theme.Style) {
	st := c.Styles
	pending := c.PendingWord(r.target())
	if pending == "" {
		pending = c.PendingWord(screen.Item(r.item.ID(), 0))
	}
	switch {
	case pending != "":
		return pending, st.Accent
	case len(c.State.ConflictsOf(r.item.ID())) > 0:
		return "overlap with " + otherSide(c.State.ConflictsOf(r.item.ID())[0], r.item.ID()), st.Warn
	case pane.Odds(r.item) != "":
		return pane.Odds(r.item), st.Warn
	case r.agent.NoProgress:
		return "renews, no progress for " + kit.Ago(r.agent.LastProgress, c.OwnerNow()), st.Warn
	case r.item.Lease.Progress != "":
		return r.item.Lease.Progress, st.Muted
	}
	return "", st.Muted
}

func otherSide(k fleet.Conflict, id string) string {
	if k.ItemA == id {
		return k.WorkerB
	}
	return k.WorkerA
}

// askCells draws a request for a claim: which item, and for how long it waits.
func askCells(c *screen.Ctx, tb pane.Table, r *row) []pane.Cell {
	st := c.Styles
	note, style := "g grants, waits "+waiting(c, r.ask.Since), st.Muted
	if w := c.PendingWord(r.target()); w != "" {
		note, style = text.Line(w), st.Accent
	}
	return []pane.Cell{
		cState: {Text: st.G.Query + " asks", Style: st.Wait},
		cName:  {Text: pane.CleanName(st.G, r.agent.UID, tb.W(cName)), Style: st.Text},
		cItem:  {Text: pane.CleanName(st.G, r.ask.WorkItemID, tb.W(cItem)), Style: st.Text},
		cLease: {Text: note, Style: style},
		cNote:  {Text: pane.Clean(r.ask.Detail, tb.W(cNote)), Style: st.Muted},
	}
}

func idleCells(c *screen.Ctx, tb pane.Table, a *fleet.Agent) []pane.Cell {
	st := c.Styles
	note := ""
	if len(a.Ended) > 0 {
		note = endedWords(c, a.Ended[0])
	}
	return []pane.Cell{
		cState: {Text: st.G.Circle + " idle", Style: st.Muted},
		cName:  {Text: pane.CleanName(st.G, a.UID, tb.W(cName)), Style: st.Text},
		cItem:  {Text: pane.Clean(note, 60), Style: st.Muted},
		cNote:  {},
	}
}

// endedWords tells how a worker's claim ended: what it did, or what it lost it by.
func endedWords(c *screen.Ctx, e fleet.EndedClaim) string {
	did, lost := "", ""
	switch e.Verb {
	case acop.VerbComplete:
		did = "completed"
	case acop.VerbRelease:
		did = "released"
	case acop.VerbBlock:
		did = "blocked"
	case acop.VerbRevoke:
		lost = "revoked"
	case acop.VerbExpire:
		lost = "the lease ran out"
	case acop.VerbCancel:
		lost = "cancelled"
	case acop.VerbSupersede:
		lost = "superseded"
	default:
		did = "ended"
	}
	ago := pane.Ago(e.At, c.OwnerNow())
	if lost != "" {
		return fmt.Sprintf("lost %s %s, %s", e.Claim.WorkItemID, ago, lost)
	}
	return fmt.Sprintf("%s %s %s", did, e.Claim.WorkItemID, ago)
}

// reachWord says whether a provider answers.
func reachWord(p *acmp.Provider) string {
	switch {
	case p.Reachable == nil:
		return "not tried"
	case !*p.Reachable:
		return "unreachable"
	case p.Settings == nil:
		return "no ACMP"
	}
	return "reachable"
}

func reachMark(st *theme.Styles, p *acmp.Provider) (glyph, word string, style theme.Style) {
	switch word = reachWord(p); word {
	case "unreachable":
		return st.G.Off, word, st.Bad
	case "not tried":
		return st.G.Circle, word, st.Muted
	case "no ACMP":
		return st.G.Block, word, st.Warn
	}
	return st.G.On, word, st.OK
}

func providerCells(c *screen.Ctx, tb pane.Table, v *fleet.ProviderView) []pane.Cell {
	st, p := c.Styles, &v.Provider
	glyph, word, style := reachMark(st, p)
	note, noteStyle := v.LastFailure, st.Muted
	if p.Problem != "" {
		note, noteStyle = p.Problem, st.Bad
	}
	return []pane.Cell{
		cState: {Text: glyph + " " + word, Style: style},
		cName:  {Text: pane.CleanName(st.G, p.Name, tb.W(cName)), Style: st.Text},
		cItem:  {Text: tasksOf(v), Style: st.Text},
		cNote:  {Text: pane.Clean(note, tb.W(cNote)), Style: noteStyle},
	}
}

// tasksOf sums up the tasks run by a provider.
func tasksOf(v *fleet.ProviderView) string {
	s := fmt.Sprintf("%d running, %d done", len(v.Running), v.Done)
	if v.Failed > 0 {
		s += fmt.Sprintf(", %d failed", v.Failed)
	}
	return s
}
