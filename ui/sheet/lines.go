package sheet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"signalbox/model/acop"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// labelCells is the room of a label.
const labelCells = 14

// eventsShown bounds the item's history, newest last.
const eventsShown = 200

// page gathers the lines of a sheet.
type page struct {
	c    *screen.Ctx
	w    int
	want string // only lines that hold this, in lower case
	kept map[proseKey][]string
	out  []string
}

func (p *page) add(line, plain string) {
	if p.want != "" && !strings.Contains(strings.ToLower(plain), p.want) {
		return
	}
	p.out = append(p.out, line)
}

// section begins a part, with a blank line in front.
func (p *page) section(title string) {
	if p.want != "" {
		return
	}
	if len(p.out) > 0 {
		p.out = append(p.out, "")
	}
	p.out = append(p.out, p.c.Styles.Title.Render(kit.Fit(p.c.Styles.G, title, p.w, false)))
}

func (p *page) fact(label, s string, style theme.Style) {
	for i, row := range text.Wrap(s, p.cells()) {
		p.row(first(i, label), row, style)
	}
}

// cells is the room of a fact beside its label.
func (p *page) cells() int { return max(1, p.w-labelCells) }

func (p *page) row(label, row string, style theme.Style) {
	st := p.c.Styles
	p.add(st.Muted.Render(kit.Fit(st.G, label, labelCells, false))+style.Render(row), label+" "+row)
}

// proseBytes bounds how much of one text the sheet reads.
const proseBytes = 8 << 10

// prose is a fact whose text, behind a clean prefix, is prose of several lines.
func (p *page) prose(label, prefix, raw string, style theme.Style) {
	p.bounded(label, prefix, raw, proseBytes, 0, style)
}

// bounded is prose of at most limit bytes and most lines, 0 for any number of them.
// What is left out is marked.
func (p *page) bounded(label, prefix, raw string, limit, most int, style theme.Style) {
	for i, row := range p.wrapped(proseKey{prefix, text.Head(raw, limit), len(raw) > limit, most, p.cells()}) {
		p.row(first(i, label), row, style)
	}
}

// proseKey is what the rows of a text depend on.
type proseKey struct {
	prefix, raw string
	cut         bool // raw is not all of it
	most, cells int
}

// keptProse is how many broken texts are kept for the next frame. An item may have
// hundreds of long ones; to clean and break them is dear, to find them is not.
const keptProse = 1024

func (p *page) wrapped(k proseKey) []string {
	if rows, ok := p.kept[k]; ok {
		return rows
	}
	lines, cut := text.Block(k.raw), k.cut
	if k.most > 0 && len(lines) > k.most {
		lines, cut = lines[:k.most], true
	}
	var rows []string
	for i, line := range lines {
		if i == 0 {
			line = k.prefix + line
		}
		rows = append(rows, text.Wrap(line, k.cells)...)
	}
	if cut {
		rows = append(rows, p.c.Styles.G.Ellipsis)
	}
	if len(p.kept) >= keptProse {
		clear(p.kept)
	}
	p.kept[k] = rows
	return rows
}

func (s *Sheet) lines(c *screen.Ctx) []string {
	if s.kept == nil {
		s.kept = map[proseKey][]string{}
	}
	p := &page{c: c, w: c.W, want: strings.ToLower(s.filter), kept: s.kept}
	it := s.known(c)
	if it == nil {
		why := "reading it from the owner"
		if s.problem != "" {
			why = "the owner says: " + text.Line(s.problem)
		}
		return kit.SplitLines(pane.Empty(c.Styles, c.W, c.H, "This item is not known here.", why, text.ID(s.item)))
	}
	p.head(it)
	p.blockers(it)
	p.plan(it)
	p.evidence(it)
	s.claims(p, it)
	s.entries(p, it)
	s.events(p)
	return p.out
}

func (p *page) head(it *acop.Item) {
	st, w := p.c.Styles, it.WorkItem
	p.fact("id", text.ID(w.WorkItemID), st.Strong)
	if w.Title != "" {
		p.prose("title", "", w.Title, st.Text)
	}
	if w.Summary != "" {
		p.bounded("summary", "", w.Summary, proseBytes, 12, st.Text)
	}
	glyph, word, style := kit.StatusMark(st, it.Status())
	p.fact("state", glyph+" "+word+" since "+p.when(it.StatusSinceUTC), style)
	p.fact("kind", fmt.Sprintf("%s, priority %s, score %.2f", pane.Clean(string(w.WorkKind), 20), pane.Clean(string(w.Priority), 20), w.ActionabilityScore), st.Text)
	p.fact("revision", fmt.Sprintf("%d, changed %s", it.Revision, p.when(it.UpdatedAtUTC)), st.Text)
	p.fact("producer", pane.Clean(w.Producer, p.w)+", created "+p.when(w.CreatedAtUTC), st.Text)
	p.optional("repository", w.TargetRepoID)
	p.optional("branch", w.TargetBranch)
	p.optional("worktree", w.TargetWorktree)
	p.optional("workspace", w.TargetWorkspaceRoot)
	p.optional("meant for", w.TargetAgentUID)
	p.optional("participants", strings.Join(w.ParticipantAgentUIDs, ", "))
	p.optional("paths", strings.Join(w.OwnedPaths, ", "))
	p.optional("symbols", strings.Join(w.OwnedSymbols, ", "))
	p.optional("correlation", w.CorrelationID)
	p.optional("handoff", w.SourceHandoffID)
	p.optional("superseded by", it.SupersededBy)
	if it.Attempts > 0 {
		p.fact("lapsed claims", fmt.Sprint(it.Attempts), st.Warn)
	}
	if a := it.Acceptance; a != nil {
		p.prose("accepted", pane.Clean(a.AcceptedBy, 40)+" "+p.when(a.AcceptedAtUTC)+" ", a.Notes, st.OK)
	}
}

func first(i int, label string) string {
	if i == 0 {
		return label
	}
	return ""
}

func (p *page) optional(label, s string) {
	if s != "" {
		p.fact(label, text.ID(text.Head(s, 4000)), p.c.Styles.Text)
	}
}

// when is an absolute time and its age.
func (p *page) when(t acop.Time) string {
	if t.IsZero() {
		return "-"
	}
	own := p.c.State.FromOwner(t)
	return kit.Stamp(own) + " (" + kit.Since(own, p.c.Now) + ")"
}

func (p *page) blockers(it *acop.Item) {
	st := p.c.Styles
	deps := p.c.State.Dependents(it.ID())
	if len(it.Blockers)+len(deps) == 0 {
		return
	}
	p.section("BLOCKERS, BOTH WAYS")
	for _, b := range it.Blockers {
		p.prose("blocked by", pane.Clean(b.BlockerCode, 60)+", "+pane.Clean(string(b.Severity), 20)+": ", b.Summary, st.Warn)
		if id := b.DependsOnWorkItemID; id != "" {
			p.fact("", "waits for "+text.ID(text.Head(id, 512))+p.statusOf(id), st.Text)
		}
		if b.SuggestedResolution != "" {
			p.prose("", "suggested: ", b.SuggestedResolution, st.Muted)
		}
	}
	for _, id := range deps {
		p.fact("blocks", text.ID(id)+p.statusOf(id), st.Text)
	}
}

// statusOf says what another item is, or that nobody knows it.
func (p *page) statusOf(id string) string {
	if it := p.c.State.Items[id]; it != nil {
		return ", " + text.Line(string(it.Status()))
	}
	return ", not known here"
}

func (p *page) plan(it *acop.Item) {
	st := p.c.Styles
	if len(it.Operations) > 0 {
		p.section("OPERATIONS")
		for i, o := range it.Operations {
			p.prose(fmt.Sprintf("%d", i+1), pane.Clean(o.Kind, 30)+": ", o.Description, st.Text)
			if len(o.DependsOnOperationIDs) > 0 {
				p.fact("", "after "+text.ID(text.Head(strings.Join(o.DependsOnOperationIDs, ", "), 1024)), st.Muted)
			}
		}
	}
	if len(it.Artifacts) > 0 {
		p.section("ARTIFACTS")
		for _, a := range it.Artifacts {
			where := a.ResourceURI
			if where == "" {
				where = a.RepoRelativePath
			}
			s := text.ID(a.ArtifactID) + ", " + pane.Clean(a.ArtifactKind, 30) + ", " + pane.Clean(a.ArtifactRole, 30)
			if a.Readiness != "" {
				s += ", " + pane.Clean(string(a.Readiness), 20)
			}
			p.fact("", s+" "+text.ID(text.Head(where, 400)), st.Text)
		}
	}
}

func (p *page) evidence(it *acop.Item) {
	if len(it.ValidationRequirements) == 0 && it.Completion == nil {
		return
	}
	st := p.c.Styles
	p.section("REQUIREMENTS AND EVIDENCE")
	var ev acop.CompletionEvidence
	by := ""
	if c := it.Completion; c != nil {
		ev = c.Evidence
		by = pane.Clean(c.CompletedBy, 30)
		p.fact("done by", by+" "+p.when(c.CompletedAtUTC), st.Text)
	}
	for _, r := range it.ValidationRequirements {
		s, style := st.G.Circle+" not yet    ", st.Muted
		switch {
		case slices.Contains(ev.ValidationResults, r.RequirementID):
			s, style = st.G.Check+" given by "+by+"  ", st.OK
		case it.Completion != nil:
			s, style = st.G.Cross2+" missing    ", st.Bad
		}
		p.prose("", s+text.ID(text.Head(r.RequirementID, 512))+"  ", r.Summary, style)
	}
	for _, id := range pane.AlsoGiven(it) {
		p.fact("unasked", text.ID(text.Head(id, 512)), st.Text)
	}
	for _, id := range ev.ArtifactIDs {
		p.fact("artifact", text.ID(id), st.Text)
	}
}

func (s *Sheet) claims(p *page, it *acop.Item) {
	st := p.c.Styles
	var past []acop.Claim
	if s.detail != nil {
		past = s.detail.Claims
	}
	if it.Lease == nil && len(past) == 0 && it.WaitingIntent() == nil {
		return
	}
	p.section("CLAIMS, THEN AND NOW")
	for i := range it.Intents {
		in := &it.Intents[i]
		p.fact("request", fmt.Sprintf("%s, TTL %s, %s, %s %s", pane.Clean(in.ClaimIntent.WorkerAgentUID, 30),
			kit.Span(time.Duration(min(in.ClaimIntent.RequestedTTLSeconds, 1<<31))*time.Second), pane.Clean(string(in.State), 20), p.when(in.ClaimIntent.RequestedAtUTC), pane.Clean(in.Reason, 2*p.w)), st.Text)
	}
	if l := it.Lease; l != nil {
		d := pane.LeaseOf(st, l, p.c.OwnerNow())
		p.fact("holds it now", fmt.Sprintf("%s %s %s left, %s", pane.Clean(it.Holder(), 30), d.Bar(st, kit.BarCells), kit.Span(d.Left), d.Word), d.Style)
		p.fact("", fmt.Sprintf("claim %s, granted %s, renewed %s, last %s", text.ID(l.Claim.ClaimID), p.when(l.Claim.GrantedAtUTC),
			kit.Plural(int(l.Renewals), "time", "times"), p.when(l.RenewedAtUTC)), st.Muted)
		if odds := pane.Odds(it); odds != "" {
			p.fact("warning", odds, st.Warn)
		}
		if l.Progress != "" {
			p.prose("progress", p.when(l.ProgressAtUTC)+": ", l.Progress, st.Text)
		}
	}
	p.overlaps(it)
	for i := len(past) - 1; i >= 0; i-- {
		c := past[i]
		if c.ClaimStatus == acop.ClaimActive {
			continue
		}
		p.fact(pane.Clean(string(c.ClaimStatus), 20), fmt.Sprintf("%s, granted %s, to %s", pane.Clean(c.WorkerAgentUID, 30),
			p.when(c.GrantedAtUTC), kit.Stamp(p.c.State.FromOwner(c.ExpiresAtUTC))), st.Muted)
	}
}

// overlaps names what other live claims share with this one, and whose they are.
func (p *page) overlaps(it *acop.Item) {
	st := p.c.Styles
	for _, o := range p.c.State.ConflictsOf(it.ID()) {
		other, who := o.ItemB, o.WorkerB
		if other == it.ID() {
			other, who = o.ItemA, o.WorkerA
		}
		p.fact("overlap", text.ID(text.Head(strings.Join(append(slices.Clone(o.Paths), o.Symbols...), ", "), 1024)), st.Warn)
		p.fact("", "with "+pane.Clean(who, 40)+" on "+text.ID(text.Head(other, 512)), st.Muted)
	}
}

func (s *Sheet) entries(p *page, it *acop.Item) {
	es := p.c.State.EntriesOf(it.ID())
	if s.detail != nil && len(s.detail.Entries) > len(es) {
		es = s.detail.Entries
	}
	if len(es) == 0 {
		return
	}
	st := p.c.Styles
	p.section("ENTRIES")
	for _, e := range es[max(0, len(es)-eventsShown):] {
		n := e.Entry
		head := strings.ReplaceAll(pane.Clean(string(n.EntryKind), 20), "_", " ")
		if n.Confidence != nil {
			head += fmt.Sprintf(" %.2f", *n.Confidence)
		}
		style := st.Text
		if by := p.c.State.SupersededBy(n.EntryID); by != "" {
			style = st.Dimmed
			head += " (superseded by " + text.ID(by) + ")"
		}
		p.prose(kit.Clock(p.c.State.FromOwner(n.CreatedAtUTC), true), pane.Clean(n.AuthorAgentUID, 30)+" "+head+": ", n.Summary, style)
		if n.Details != "" {
			p.bounded("", "", n.Details, 4000, 8, st.Muted)
		}
	}
}

// events is the item's own history: only the owner knows all of it.
func (s *Sheet) events(p *page) {
	st := p.c.Styles
	p.section("HISTORY")
	switch {
	case s.problem != "":
		p.fact("", "the owner did not tell it: "+text.Line(s.problem), st.Warn)
		return
	case s.detail == nil:
		p.fact("", "being read from the owner", st.Muted)
		return
	}
	evs := s.detail.Events
	if n := len(evs) - eventsShown; n > 0 {
		p.fact("", kit.Plural(n, "older event", "older events"), st.Muted)
		evs = evs[n:]
	}
	for _, e := range evs {
		line := pane.Clean(e.Actor, 24) + " " + pane.Clean(e.Verb, 20)
		if e.From != "" && e.From != e.To {
			line += " " + pane.Clean(string(e.From), 20)
		}
		if e.From != e.To && e.To != "" {
			line += " " + st.G.Arrow + " " + pane.Clean(string(e.To), 20)
		}
		if e.Code != "" {
			line += " refused: " + pane.Clean(e.Code, 40)
		}
		if e.Reason != "" {
			line += ": "
		}
		p.prose(stampOf(p.c.State.FromOwner(e.AtUTC), p.c.Now), line, e.Reason, st.Text)
	}
	p.fact("", fmt.Sprintf("as of rev %d", s.detail.Revision), st.Muted)
}

func stampOf(t, now time.Time) string {
	if now.Sub(t) < 24*time.Hour {
		return kit.Clock(t, true)
	}
	return t.Local().Format("01-02 15:04")
}
