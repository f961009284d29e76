package queue

import (
	"slices"

	"signalbox/model/acop"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
)

// evidence tells what was asked of completed work and what was given for it.
func (p *page) evidence(it *acop.Item) {
	if it.Completion == nil {
		return
	}
	st := p.c.Styles
	ev := it.Completion.Evidence
	p.fact("done by", pane.Clean(it.Completion.CompletedBy, 30)+", "+kit.Since(p.c.State.FromOwner(it.Completion.CompletedAtUTC), p.c.Now), st.Text)
	for _, r := range it.ValidationRequirements {
		mark, style := st.G.Cross2+" missing  ", st.Bad
		if slices.Contains(ev.ValidationResults, r.RequirementID) {
			mark, style = st.G.Check+" given    ", st.OK
		}
		p.fact("evidence", mark+pane.CleanID(st.G, r.RequirementID, 24), style)
	}
	also := pane.AlsoGiven(it)
	for _, id := range also[:min(3, len(also))] {
		p.fact("unasked", pane.CleanID(st.G, id, max(8, p.w-labelCells)), st.Text)
	}
	for _, id := range ev.ArtifactIDs[:min(3, len(ev.ArtifactIDs))] {
		p.fact("artifact", pane.CleanID(st.G, id, max(8, p.w-labelCells)), st.Text)
	}
}
