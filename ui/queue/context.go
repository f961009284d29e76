package queue

import (
	"fmt"
	"slices"
	"strings"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// page gathers lines of the context.
type page struct {
	c     *screen.Ctx
	w     int
	dense bool // no blank lines: the room is short
	out   []string
}

// labelCells is the room of a label.
const labelCells = 10

func (p *page) line(s string, style theme.Style) {
	p.out = append(p.out, style.Render(kit.Fit(p.c.Styles.G, s, p.w, false)))
}

// prose breaks text over at most most lines.
func (p *page) prose(s string, style theme.Style, most int) {
	rows := pane.Prose(s, p.w, most, p.c.Styles.G)
	for _, row := range rows {
		p.line(row, style)
	}
}

// fact is a line "label  text".
func (p *page) fact(label, s string, style theme.Style) {
	st := p.c.Styles
	p.out = append(p.out, st.Muted.Render(kit.Fit(st.G, label, min(p.w, labelCells), false))+
		style.Render(kit.Fit(st.G, s, max(0, p.w-labelCells), false)))
}

// factProse is a fact whose text, behind a clean prefix, is prose of several
// lines.
func (p *page) factProse(label, prefix, raw string, style theme.Style, most int) {
	st := p.c.Styles
	rows := text.Block(text.Head(raw, 16*p.w*most+256))
	rows[0] = prefix + rows[0]
	n := 0
	for _, line := range rows {
		for _, row := range text.Wrap(line, max(1, p.w-labelCells)) {
			if n == most {
				p.out = append(p.out, kit.Blank(min(p.w, labelCells))+st.Muted.Render(kit.Fit(st.G, st.G.Ellipsis, max(0, p.w-labelCells), false)))
				return
			}
			p.fact(label, row, style)
			label = ""
			n++
		}
	}
}

func (p *page) gap() {
	if p.dense {
		return
	}
	if n := len(p.out); n > 0 && strings.TrimSpace(p.out[n-1]) != "" {
		p.out = append(p.out, kit.Blank(p.w))
	}
}

// context is what is needed to decide on the selected row, with the row's key.
func (s *Screen) context(c *screen.Ctx, r rect, asks []fleet.Ask, tasks []*fleet.Task) (lines []string, key string) {
	p := &page{c: c, w: r.w - 2, dense: !arrangeWide(c.W)}
	switch {
	case s.part == partTasks && len(tasks) > 0:
		t := tasks[s.tasks.Pos()]
		key = t.ID
		p.taskHead(t)
		p.gap()
		p.taskRest(t)
	case len(asks) > 0:
		a := &asks[s.asks.Pos()]
		key = a.Key
		p.ask(a)
	}
	return p.out, key
}

// scrollContext moves the context by d lines, as far as there is something to read.
func (s *Screen) scrollContext(c *screen.Ctx, d int) {
	asks, tasks := s.sync(c)
	r := arrange(c.W, c.H, len(asks), len(tasks)).context
	if r.h <= 0 || r.w <= 2 {
		return
	}
	lines, key := s.context(c, r, asks, tasks)
	if key != s.about {
		s.about, s.scroll = key, 0
	}
	s.scroll = max(0, min(s.scroll+d, len(lines)-contextRows(c, len(lines), r.h)))
}

// contextRows is how many of n lines stand in h rows: one is taken by the line below
// the asks, or beside them by the word that there is more.
func contextRows(c *screen.Ctx, n, h int) int {
	if arrangeWide(c.W) && n <= h {
		return h
	}
	return h - 1
}

// contextLines draws the context, with a line that sets it apart below the asks, and
// says how much of it is out of sight. It stands at its beginning for another row than
// the one it was scrolled for.
func (s *Screen) contextLines(c *screen.Ctx, r rect, asks []fleet.Ask, tasks []*fleet.Task) []string {
	if r.h <= 0 || r.w <= 2 {
		return nil
	}
	lines, key := s.context(c, r, asks, tasks)
	wide, rows := arrangeWide(c.W), contextRows(c, len(lines), r.h)
	at := 0
	if key == s.about {
		at = max(0, min(s.scroll, len(lines)-rows))
	}
	end := min(len(lines), at+rows)
	rule := moreRule(c, r.w, at, len(lines)-end, wide)
	out := make([]string, 0, r.h)
	if !wide {
		out = append(out, rule)
	}
	for _, l := range lines[at:end] {
		out = append(out, " "+l+" ")
	}
	for len(out) < r.h-1 {
		out = append(out, kit.Blank(r.w))
	}
	if len(out) < r.h {
		if !wide || rows == r.h {
			rule = kit.Blank(r.w)
		}
		out = append(out, rule)
	}
	return out
}

// moreRule tells how many lines of the context are out of sight, on a line that sets it
// apart where it stands below the asks.
func moreRule(c *screen.Ctx, w, above, below int, wide bool) string {
	st := c.Styles
	note := ""
	if above > 0 {
		note += " K " + kit.Count(above) + " above"
	}
	if below > 0 {
		note += " J " + kit.Count(below) + " more"
	}
	if note != "" {
		note += " "
	}
	if wide {
		return st.Muted.Render(kit.Fit(st.G, note, w, false))
	}
	n := max(0, w-text.Width(note)-1)
	return st.Faint.Render(strings.Repeat(st.G.H, n)) + st.Muted.Render(text.Clip(note, w-n)) + st.Faint.Render(strings.Repeat(st.G.H, max(0, w-n-text.Width(note))))
}

func arrangeWide(w int) bool { return w >= wideFrom }

func (p *page) ask(a *fleet.Ask) {
	st := p.c.Styles
	it, t := itemOf(p.c, a), p.c.State.Tasks[a.TaskID]
	switch {
	case it != nil:
		p.itemHead(it)
	case t != nil:
		p.taskHead(t)
	default:
		p.line(pane.Clean(a.Title, p.w), st.Strong)
	}
	if w := p.c.PendingWord(targetOf(p.c.State, a)); w != "" {
		p.line(w+"; waiting for the owner's event", st.Accent)
	}
	p.gap()
	p.why(a)
	p.gap()
	switch {
	case it != nil:
		p.itemRest(it)
	case t != nil:
		p.taskRest(t)
	}
}

// why tells what the ask is and what happens if it is left alone.
func (p *page) why(a *fleet.Ask) {
	st := p.c.Styles
	glyph, style := askMark(st, a)
	p.line(glyph+" "+string(a.Kind)+", severity "+a.Severity.String()+", "+kit.Lasting(a.Since, p.c.Now), style)
	if p.dense { // the row tells the detail already
		p.consequence(a)
	}
	if a.Who != "" && a.TaskID == "" { // a task's heading names its provider
		p.fact("who", pane.Clean(a.Who, max(0, p.w-labelCells)), st.Text)
	}
	if d := detailOf(a); d != "" && !repeats(p.c, a, d) {
		p.prose(d, st.Text, 4)
	}
	if left := a.Due.Sub(p.c.Now); left > 0 {
		p.fact("runs out", "in "+kit.Span(left), st.Text)
	} else if !a.Due.IsZero() {
		p.fact("ran out", kit.Since(a.Due, p.c.Now), st.Text)
	}
	if !p.dense {
		p.consequence(a)
	}
}

func (p *page) consequence(a *fleet.Ask) {
	if a.Consequence != "" {
		p.prose("If nobody acts: "+a.Consequence+".", p.c.Styles.Muted, 3)
	}
}

// repeats reports whether d is what the item's text says anyway.
func repeats(c *screen.Ctx, a *fleet.Ask, d string) bool {
	it := itemOf(c, a)
	return it != nil && (d == it.WorkItem.Summary || d == it.WorkItem.Title)
}

// itemHead names an item and its state.
func (p *page) itemHead(it *acop.Item) {
	st, w := p.c.Styles, it.WorkItem
	rev := fmt.Sprintf("rev %d", it.Revision)
	id := pane.CleanID(st.G, w.WorkItemID, p.w-len(rev)-1)
	p.out = append(p.out, st.Strong.Render(kit.Fit(st.G, id, p.w-len(rev), false))+st.Muted.Render(rev))
	glyph, word, style := kit.StatusMark(st, it.Status())
	rest := fmt.Sprintf(" %s %s %s %s %s score %.2f", st.G.Dot, pane.Clean(string(w.WorkKind), 20), st.G.Dot, pane.Clean(string(w.Priority), 20), st.G.Dot, w.ActionabilityScore)
	head := glyph + " " + word
	p.out = append(p.out, style.Render(head)+st.Muted.Render(kit.Fit(st.G, rest, max(0, p.w-text.Width(head)), false)))
	if w.Title != "" {
		p.prose(w.Title, st.Text, 2)
	}
}

// itemRest draws what the decisions about an item need.
func (p *page) itemRest(it *acop.Item) {
	if s := it.WorkItem.Summary; s != "" {
		p.prose(s, p.c.Styles.Muted, 8)
		p.gap()
	}
	p.lease(it)
	p.requests(it)
	p.evidence(it)
	p.links(it)
	p.entries(it)
}

func (p *page) lease(it *acop.Item) {
	if it.Lease == nil {
		return
	}
	st := p.c.Styles
	l := pane.LeaseOf(st, it.Lease, p.c.OwnerNow())
	p.fact("lease", fmt.Sprintf("%s %s %s left, %s", pane.Clean(it.Holder(), 20), l.Bar(st, kit.BarCells), kit.Span(l.Left), l.Word), l.Style)
	renewed := "never renewed"
	if !it.Lease.RenewedAtUTC.IsZero() {
		renewed = "renewed " + kit.Since(p.c.State.FromOwner(it.Lease.RenewedAtUTC), p.c.Now)
	}
	if it.Lease.Progress != "" {
		renewed += ", progress " + kit.Since(p.c.State.FromOwner(it.Lease.ProgressAtUTC), p.c.Now)
	}
	p.fact("", renewed, st.Muted)
	if it.Lease.Progress != "" {
		p.factProse("", "", it.Lease.Progress, st.Muted, 2)
	}
	p.overlaps(it)
}

// overlaps lists the live claims that share something with this one: whose they are, how
// long they last and what is shared.
func (p *page) overlaps(it *acop.Item) {
	st := p.c.Styles
	room := max(8, p.w-labelCells)
	for _, o := range p.c.State.ConflictsOf(it.ID()) {
		other, who, when := o.ItemA, o.WorkerA, ""
		if other == it.ID() {
			other, who, when = o.ItemB, o.WorkerB, ", granted later"
		}
		p.fact("overlap", pane.CleanID(st.G, other, room-len(when))+when, st.Warn)
		left := ""
		if with := p.c.State.Items[other]; with != nil && with.Lease != nil {
			l := pane.LeaseOf(st, with.Lease, p.c.OwnerNow())
			left = ", " + kit.Span(l.Left) + " left, " + l.Word
		}
		p.fact("", pane.Clean(who, 20)+left, st.Muted)
		p.fact("", pane.CleanID(st.G, strings.Join(append(slices.Clone(o.Paths), o.Symbols...), ", "), room), st.Muted)
	}
}

func (p *page) requests(it *acop.Item) {
	st := p.c.Styles
	for i := range it.Intents {
		in := &it.Intents[i]
		if in.State != acop.IntentWaiting {
			continue
		}
		p.fact("asks", fmt.Sprintf("%s, TTL %s, %s", pane.Clean(in.ClaimIntent.WorkerAgentUID, 24),
			kit.Span(secs(in.ClaimIntent.RequestedTTLSeconds)), kit.Since(p.c.State.FromOwner(in.ClaimIntent.RequestedAtUTC), p.c.Now)), st.Text)
	}
}

func (p *page) links(it *acop.Item) {
	st := p.c.Styles
	for _, b := range it.Blockers {
		p.fact("blockers", pane.Clean(b.BlockerCode, p.w)+"  "+pane.Clean(string(b.Severity), 20), st.Warn)
		if b.Summary != "" {
			p.factProse("", "", b.Summary, st.Muted, 3)
		}
	}
	p.dependents(it)
	if len(it.WorkItem.OwnedPaths) > 0 {
		p.fact("paths", pane.CleanID(st.G, strings.Join(it.WorkItem.OwnedPaths, " "), max(8, p.w-labelCells)), st.Muted)
	}
}

// dependents tells what becomes ready once the item is accepted, and what waits on and
// for what.
func (p *page) dependents(it *acop.Item) {
	st := p.c.Styles
	short := func(ids []string, most int) string {
		out := make([]string, 0, most)
		for _, id := range ids[:min(most, len(ids))] {
			out = append(out, pane.CleanID(st.G, id, 24))
		}
		if n := len(ids) - most; n > 0 {
			return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", n)
		}
		return strings.Join(out, ", ")
	}
	ready, waiting := p.c.State.AfterAccept(it.ID())
	if len(ready) > 0 {
		names := short(ready, 4)
		if all := p.c.State.Blocks(it.ID()); all > len(ready)+len(waiting) {
			names += fmt.Sprintf("; %d wait behind it in all", all)
		}
		p.factProse("unblocks", "", names, st.Text, 3)
	}
	for _, w := range waiting[:min(2, len(waiting))] {
		why := "is " + pane.Clean(string(w.Status), 20)
		switch {
		case len(w.For) > 0:
			why = "still waits for " + short(w.For, 2)
		case w.Status == acop.StatusRequiresAttention:
			why = "needs a decision first"
		}
		p.factProse("not yet", "", pane.CleanID(st.G, w.ID, 24)+", "+why, st.Muted, 2)
	}
	if n := len(waiting) - 2; n > 0 {
		p.fact("", fmt.Sprintf("and %d more that wait for more", n), st.Muted)
	}
}

func (p *page) entries(it *acop.Item) {
	es := p.c.State.EntriesOf(it.ID())
	if len(es) == 0 {
		return
	}
	st := p.c.Styles
	for _, e := range es[max(0, len(es)-3):] {
		head := strings.ReplaceAll(pane.Clean(string(e.Entry.EntryKind), 20), "_", " ")
		if e.Entry.Confidence != nil {
			head += fmt.Sprintf(" %.2f", *e.Entry.Confidence)
		}
		style := st.Text
		if p.c.State.SupersededBy(e.Entry.EntryID) != "" {
			style = st.Dimmed
		}
		p.factProse("entry", head+" "+pane.Clean(e.Entry.AuthorAgentUID, 16)+": ", e.Entry.Summary, style, 3)
	}
}
