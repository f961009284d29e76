package agents

import (
	"fmt"
	"strings"

	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
)

// workerFacts is one worker in full.
func workerFacts(c *screen.Ctx, f *pane.Sheet, r *row) {
	st, a := c.Styles, r.agent
	f.Line(st.Strong.Render(text.Clip(text.ID(text.Head(a.UID, 512)), 60)))
	if r.item != nil {
		leaseFacts(c, f, r)
	}
	if r.ask != nil {
		f.Add("asks for", text.ID(text.Head(r.ask.WorkItemID, 512)), st.Text)
		f.Add("", pane.Clean(r.ask.Title, 200), st.Muted)
		f.Add("waits", waiting(c, r.ask.Since), st.Text)
		f.Add("if not", pane.Clean(r.ask.Consequence, 400), st.Muted)
		f.AddProse("", r.ask.Detail, 400, st.Muted)
	} else if a.Waiting > 0 {
		f.Add("asks", kit.Plural(a.Waiting, "claim request waits for a lead", "claim requests wait for a lead"), st.Wait)
	}
	for _, k := range a.Conflicts[:min(3, len(a.Conflicts))] {
		f.Add("overlap", text.ID(text.Head(k.ItemA+" / "+k.ItemB+": "+strings.Join(append(k.Paths, k.Symbols...), ", "), 1024)), st.Warn)
	}
	if len(a.Held) > 1 {
		f.Gap()
		for _, it := range a.Held {
			if it != r.item {
				f.Add("also holds", text.ID(text.Head(it.ID(), 256)), st.Text)
			}
		}
	}
	if len(a.Ended) > 0 {
		f.Gap()
		for _, e := range a.Ended {
			f.Add("before", pane.Clean(endedWords(c, e), 200), st.Muted)
		}
	}
}

// leaseFacts draws the lease large, with the window in which to renew, and the
// holder's signs apart from it.
func leaseFacts(c *screen.Ctx, f *pane.Sheet, r *row) {
	st, l := c.Styles, r.item.Lease
	lease := pane.LeaseOf(st, l, c.OwnerNow())
	const barW = 20
	f.Add("holds", text.ID(text.Head(r.item.ID(), 512)), st.Text)
	f.Add("", pane.Clean(r.item.WorkItem.Title, 200), st.Muted)
	f.Add("lease", lease.Bar(st, barW)+" "+kit.Span(lease.Left)+" left, "+lease.Word, lease.Style)
	f.Add("", pane.Window(st, barW)+" renew in this window", st.Muted)
	renewed := "never"
	if !l.RenewedAtUTC.IsZero() {
		renewed = pane.Ago(l.RenewedAtUTC.Std(), c.OwnerNow()) + ", " + kit.Plural(l.Renewals, "time", "times")
	}
	f.Add("renewed", renewed, st.Text)
	f.Add("claim beat", pane.Ago(l.HeartbeatAtUTC.Std(), c.OwnerNow()), st.Text)
	if h := l.LastHeartbeat; h != nil {
		f.AddProse("", strings.TrimSpace(h.ProgressStatus+" "+h.ProgressSummary), 400, st.Muted)
	}
	if odds := pane.Odds(r.item); odds != "" {
		f.AddProse("warning", odds, 400, st.Warn)
	}
	progress, style := pane.Ago(r.agent.LastProgress, c.OwnerNow()), st.Text
	switch {
	case r.agent.NoProgress:
		progress, style = "renews, but none for "+kit.Ago(r.agent.LastProgress, c.OwnerNow()), st.Warn
	case !r.agent.LastProgress.After(l.Claim.GrantedAtUTC.Std()): // its clock starts at the grant
		progress = "none yet"
	}
	f.Add("progress", progress, style)
	f.AddProse("", r.agent.ProgressText, 400, st.Muted)
	f.Add("granted", kit.Stamp(l.Claim.GrantedAtUTC.Std())+grantedBy(l), st.Muted)
	f.Add("claim", text.ID(text.Head(l.Claim.ClaimID, 256)), st.Muted)
}

func grantedBy(l *acop.Lease) string {
	if l.GrantedBy == "" {
		return ""
	}
	return " by " + text.ID(text.Head(l.GrantedBy, 128))
}

// providerFacts is one provider in full.
func providerFacts(c *screen.Ctx, f *pane.Sheet, v *fleet.ProviderView) {
	st, p := c.Styles, &v.Provider
	glyph, word, style := reachMark(st, p)
	f.Line(st.Strong.Render(text.Clip(text.ID(text.Head(p.Name, 256)), 40)) + " " + style.Render(glyph+" "+word))
	if !p.Since.IsZero() {
		f.Add("since", kit.Ago(p.Since, c.Now), st.Text)
	}
	f.AddProse("problem", p.Problem, 1024, st.Bad)
	f.Add("endpoint", text.ID(text.Head(p.Endpoint, 1024)), st.Text)
	f.Add("calls itself", text.ID(text.Head(p.ProviderID, 256)), st.Muted)
	f.Add("tasks", tasksOf(v)+fmt.Sprintf(", %d cancelled", v.Cancelled), st.Text)
	if v.CostCU != "" {
		cost := text.ID(kit.CU(text.Head(v.CostCU, 64))) + " CU in all"
		if v.Overcharged > 0 {
			cost += fmt.Sprintf(", %d above the ceiling", v.Overcharged)
		}
		f.Add("cost", cost, st.Text)
	}
	f.AddProse("failure", v.LastFailure, 1024, st.Warn)
	if p.Settings == nil {
		return
	}
	f.Gap()
	offers(c, f, p.Settings)
}

// offers lists what a provider advertises.
func offers(c *screen.Ctx, f *pane.Sheet, set *acmp.Settings) {
	st, ft := c.Styles, &set.Features
	yes := func(b bool) string {
		if b {
			return "yes"
		}
		return "no"
	}
	interval := "none advertised, no verdict on life"
	if ft.HeartbeatIntervalMS > 0 {
		interval = fmt.Sprintf("every %d ms", ft.HeartbeatIntervalMS)
	}
	f.Add("version", text.ID(text.Head(set.Version, 64)), st.Text)
	f.Add("streams", "output "+yes(ft.OutputStreaming)+", input "+yes(ft.InputStreaming), st.Text)
	f.Add("heartbeat", interval, st.Text)
	for i, k := range ft.Capabilities {
		label := ""
		if i == 0 {
			label = "offers"
		}
		words := text.ID(text.Head(k.Name, 256))
		if k.PriceCU != "" {
			words += ", " + text.ID(kit.CU(text.Head(string(k.PriceCU), 32))) + " CU"
		}
		f.Add(label, words, st.Text)
	}
}
