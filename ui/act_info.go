package ui

import (
	"fmt"
	"slices"
	"strings"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/dialog"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
)

// manyShown is how many targets a bulk dialog lists.
const manyShown = 8

// label is a line "label  text" with aligned labels.
func label(name, s string, tone dialog.Tone) dialog.Line {
	return dialog.Line{{Text: fmt.Sprintf("%-10s", name), Tone: dialog.Muted}, {Text: s, Tone: tone}}
}

// itemInfo tells what an item is and what hangs on it.
func (m *Model) itemInfo(ss []subject) []dialog.Line {
	return m.itemAnd(ss, m.dependentLines)
}

// endingInfo is itemInfo for what ends an item without its being accepted.
func (m *Model) endingInfo(ss []subject) []dialog.Line {
	return m.itemAnd(ss, m.strandedLines)
}

func (m *Model) itemAnd(ss []subject, dependents func(*acop.Item) []dialog.Line) []dialog.Line {
	if len(ss) != 1 {
		return m.listInfo(ss)
	}
	it := ss[0].item
	if it == nil {
		return nil
	}
	w := it.WorkItem
	out := []dialog.Line{dialog.Text(headline(it), dialog.Strong)}
	_, state, _ := kit.StatusMark(m.look.styles, w.Status)
	out = append(out, label("state", state+" · "+clean(string(w.WorkKind))+" · "+clean(string(w.Priority))+
		fmt.Sprintf(" · score %.2f", w.ActionabilityScore), dialog.Plain))
	if s := clean(strings.ReplaceAll(text.Head(w.Summary, 1000), "\n", " ")); s != "" && s != headline(it) {
		out = append(out, dialog.Text(s, dialog.Muted))
	}
	out = append(out, m.blockerLines(it)...)
	return append(out, dependents(it)...)
}

// headline is an item's title, or what stands for it.
func headline(it *acop.Item) string {
	for _, s := range []string{it.WorkItem.Title, it.WorkItem.Summary, it.ID()} {
		if s != "" {
			return text.Clip(clean(s), 200)
		}
	}
	return ""
}

func (m *Model) blockerLines(it *acop.Item) []dialog.Line {
	var out []dialog.Line
	for _, b := range it.Blockers {
		s := clean(b.BlockerCode) + " · " + clean(string(b.Severity))
		if b.DependsOnWorkItemID != "" {
			s += " · waits for " + shortID(b.DependsOnWorkItemID, 30)
		}
		out = append(out, label("blocker", s, dialog.Warn))
		if b.Summary != "" {
			out = append(out, label("", text.Clip(clean(b.Summary), 160), dialog.Plain))
		}
	}
	return out
}

// dependentLines tells what becomes ready once the item is accepted, and what waits on
// and for what.
func (m *Model) dependentLines(it *acop.Item) []dialog.Line {
	ready, waiting := m.state.AfterAccept(it.ID())
	var out []dialog.Line
	if len(ready) > 0 {
		names := shortList(shortIDs(ready), 3)
		if all := m.state.Blocks(it.ID()); all > len(ready)+len(waiting) {
			names += fmt.Sprintf("; %d wait behind it in all", all)
		}
		out = append(out, label("unblocks", names, dialog.Plain))
	}
	for i, w := range waiting {
		if i == stillShown {
			out = append(out, label("", fmt.Sprintf("and %d more that wait for more", len(waiting)-i), dialog.Muted))
			break
		}
		out = append(out, label("not yet", shortID(w.ID, 24)+", "+stillWaits(w), dialog.Muted))
	}
	return out
}

// stillShown is how many items are named that wait for more than one thing.
const stillShown = 3

// stillWaits says why an item is not ready once what it waits for is accepted.
func stillWaits(w fleet.StillWaiting) string {
	switch {
	case len(w.For) > 0:
	case w.Status == acop.StatusRequiresAttention:
		return "needs a decision first"
	default:
		return "is " + clean(string(w.Status))
	}
	return "still waits for " + shortList(shortIDs(w.For), 2)
}

func shortIDs(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = shortID(id, 24)
	}
	return out
}

// strandedLines tells what waits for an item that is about to end without being
// accepted: nothing but an accept frees it (C-025).
func (m *Model) strandedLines(it *acop.Item) []dialog.Line {
	ids := m.state.Dependents(it.ID())
	if len(ids) == 0 {
		return nil
	}
	words := " waits for it and stays blocked: b unblocks it"
	if len(ids) > 1 {
		words = " wait for it and stay blocked: b unblocks each"
	}
	return []dialog.Line{dialog.Text(shortList(shortIDs(ids), 3)+words, dialog.Warn)}
}

// listInfo lists the targets of a bulk act.
func (m *Model) listInfo(ss []subject) []dialog.Line {
	var out []dialog.Line
	for i, s := range ss {
		if i == manyShown {
			out = append(out, dialog.Text(fmt.Sprintf("and %d more", len(ss)-i), dialog.Muted))
			break
		}
		line := dialog.Line{{Text: text.Pad(targetName(s.t), 28) + " ", Tone: dialog.Plain}}
		if s.item != nil {
			line = append(line, dialog.Span{Text: headline(s.item), Tone: dialog.Muted})
		} else if s.task != nil {
			line = append(line, dialog.Span{Text: clean(s.task.Params.Capability), Tone: dialog.Muted})
		}
		out = append(out, line)
	}
	return out
}

// grantInfo tells who asks, what collides and what hangs on the item.
func (m *Model) grantInfo(ss []subject) []dialog.Line {
	if len(ss) != 1 {
		out := m.listInfo(ss)
		for _, s := range ss {
			if n := m.overlaps(s); n > 0 {
				out = append(out, dialog.Text(targetName(s.t)+" overlaps "+plural(n, "live claim", "live claims"), dialog.Warn))
			}
		}
		return out
	}
	s := ss[0]
	if s.item == nil {
		return nil
	}
	out := m.itemInfo(ss)
	if in := m.intentOf(s); in != nil {
		c := in.ClaimIntent
		out = append(out, label("asks", fmt.Sprintf("%s %s · TTL %s · scope %s", clean(c.WorkerAgentUID),
			kit.Since(m.state.FromOwner(c.RequestedAtUTC), m.clock.now), orElse(wishedTTL(in), "not told"), text.Clip(clean(c.Scope), 40)), dialog.Plain))
	}
	for _, o := range m.state.OverlapsWith(s.item) {
		shared := text.Clip(text.ID(strings.Join(append(o.Paths, o.Symbols...), ", ")), 60)
		left := kit.Span(m.state.FromOwner(o.ExpiresAtUTC).Sub(m.clock.now))
		out = append(out, label("overlap", fmt.Sprintf("%s · %s · lease %s left", shared, clean(o.WorkerAgentUID), left), dialog.Warn))
		out = append(out, label("", "on "+shortID(o.WorkItemID, 48), dialog.Muted))
	}
	if m.state.Settings.Frozen {
		out = append(out, dialog.Text("Grants are frozen; the owner will refuse.", dialog.Bad))
	}
	return out
}

// evidenceInfo puts what was required beside what was given.
func (m *Model) evidenceInfo(ss []subject) []dialog.Line {
	if len(ss) != 1 {
		out := m.listInfo(ss)
		if n := m.missing(ss); n > 0 {
			out = append(out, dialog.Text(plural(n, "requirement has no evidence", "requirements have no evidence"), dialog.Bad))
		}
		return out
	}
	it := ss[0].item
	if it == nil {
		return nil
	}
	out := []dialog.Line{dialog.Text(headline(it), dialog.Strong)}
	var ev acop.CompletionEvidence
	if c := it.Completion; c != nil {
		ev = c.Evidence
		out = append(out, label("done by", clean(c.CompletedBy)+" "+kit.Since(m.state.FromOwner(c.CompletedAtUTC), m.clock.now), dialog.Plain))
	}
	given := 0
	for _, r := range it.ValidationRequirements {
		ok := slices.Contains(ev.ValidationResults, r.RequirementID)
		if ok {
			given++
		}
		out = append(out, m.requirementLine(r, ok))
	}
	if len(it.ValidationRequirements) == 0 {
		out = append(out, label("evidence", "nothing was required", dialog.Muted))
	} else {
		out = append(out, label("evidence", fmt.Sprintf("%d of %d, as the worker says", given, len(it.ValidationRequirements)), dialog.Muted))
	}
	for _, id := range pane.AlsoGiven(it) {
		out = append(out, label("unasked", text.Clip(text.ID(id), 80), dialog.Plain))
	}
	for _, id := range ev.ArtifactIDs {
		out = append(out, label("artifact", text.Clip(text.ID(id), 80), dialog.Plain))
	}
	return append(out, m.dependentLines(it)...)
}

func (m *Model) requirementLine(r acop.ValidationRequirement, ok bool) dialog.Line {
	g := m.look.styles.G
	mark, word, tone := g.Cross2, "missing", dialog.Bad
	if ok {
		mark, word, tone = g.Check, "given", dialog.OK
	}
	return dialog.Line{
		{Text: mark + " " + fmt.Sprintf("%-8s", word), Tone: tone},
		{Text: text.Pad(shortID(r.RequirementID, 22), 22) + " ", Tone: dialog.Plain},
		{Text: text.Clip(clean(r.Summary), 80), Tone: dialog.Muted},
	}
}

// holderInfo tells who is hit by a revoke.
func (m *Model) holderInfo(ss []subject) []dialog.Line {
	if len(ss) != 1 {
		return m.listInfo(ss)
	}
	it := ss[0].item
	if it == nil {
		return nil
	}
	out := []dialog.Line{dialog.Text(headline(it), dialog.Strong)}
	l := it.Lease
	if l == nil {
		return out
	}
	now := m.clock.now
	lease := "the lease has run out"
	if left := m.state.FromOwner(l.Claim.ExpiresAtUTC).Sub(now); left > 0 {
		lease = "lease " + kit.Span(left) + " left"
	}
	out = append(out, label("holder", clean(l.Claim.WorkerAgentUID)+" · "+lease, dialog.Plain))
	renewed := "never renewed"
	if !l.RenewedAtUTC.IsZero() {
		renewed = "renewed " + kit.Since(m.state.FromOwner(l.RenewedAtUTC), now)
	}
	progress := "no word of progress"
	if !l.ProgressAtUTC.IsZero() {
		progress = "progress " + kit.Since(m.state.FromOwner(l.ProgressAtUTC), now) + ": " + text.Clip(clean(l.Progress), 60)
	}
	return append(out, label("life", renewed+" · "+progress, dialog.Plain))
}
