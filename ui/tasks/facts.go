package tasks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// bottom draws the output with its title, and the facts beside or above it.
func (s *Screen) bottom(c *screen.Ctx, t *fleet.Task, l layout, n int) []string {
	st := c.Styles
	p, tx := s.source(c, t, n)
	title := s.outputTitle(t, p, tx, st.G.Dot)
	rows := p.Rows(st, tx)
	if len(tx.Lines) == 0 {
		rows = []string{st.Muted.Render(text.Clip(noOutput(t), l.out.w))}
	}
	for i := range rows {
		rows[i] = kit.FitStyled(rows[i], l.out.w)
	}
	for len(rows) < l.out.h {
		rows = append(rows, kit.Blank(l.out.w))
	}
	if l.facts.w == 0 {
		out := []string{kit.Rule(st, title, s.output && c.Focused, c.W)}
		out = append(out, s.brief(c, t, l.brief)...)
		return append(out, rows...)
	}
	rule := kit.Rule(st, title, s.output && c.Focused, l.out.w+1) + st.Faint.Render(st.G.TeeDown) +
		kit.Rule(st, "TASK", false, l.facts.w+1)
	facts := s.facts(c, t, l.facts.w, l.facts.h)
	out := []string{rule}
	v := " " + st.Faint.Render(st.G.V) + " "
	for i := range l.out.h {
		out = append(out, rows[i]+v+facts[i])
	}
	return out
}

// brief are at most two lines about the task where the facts have no pane.
func (s *Screen) brief(c *screen.Ctx, t *fleet.Task, n int) []string {
	st := c.Styles
	sit := pane.SituationOf(st, t, c.Now)
	cost, costStyle := costCell(st, t)
	parts := []string{
		st.Text.Render(text.Clip(text.ID(text.Head(t.ID, 256)), 40)),
		st.Muted.Render("from ") + st.Text.Render(text.Clip(text.ID(text.Head(t.Provider, 128)), 16)),
		ranCell(st, t, c.Now),
		costStyle.Render(cost) + st.Muted.Render(" CU"),
	}
	if t.Result != nil {
		parts = append(parts, st.Text.Render(fmt.Sprint(t.Result.TokensUsed))+st.Muted.Render(" tokens"))
	}
	if t.Earlier { // who ran it is more than what it cost
		parts = slices.Insert(parts, 2, st.Muted.Render(text.Clip(text.Line(text.Head(ranBy(t), 256)), 44)))
	}
	lines := []string{strings.Join(parts, st.Faint.Render(" "+st.G.Dot+" "))}
	if note, style := noteOf(c, t, sit); note != "" {
		label := ""
		if note == t.Detail {
			label = "detail "
		}
		lines = append(lines, st.Muted.Render(label)+style.Render(text.Clip(text.Line(text.Head(note, 2048)), c.W-len(label))))
	}
	out := make([]string, 0, n)
	for i := range n {
		if i < len(lines) {
			out = append(out, kit.FitStyled(lines[i], c.W))
		} else {
			out = append(out, kit.Blank(c.W))
		}
	}
	return out
}

// ranCell tells how long t ran, or when it ended where the start is not known.
func ranCell(st *theme.Styles, t *fleet.Task, now time.Time) string {
	if t.Earlier {
		return st.Muted.Render("ended ") + st.Text.Render(kit.Since(t.EndedAt, now))
	}
	return st.Muted.Render("ran ") + st.Text.Render(kit.Span(elapsed(t, now)))
}

func elapsed(t *fleet.Task, now time.Time) time.Duration {
	if !t.EndedAt.IsZero() {
		return t.EndedAt.Sub(t.SentAt)
	}
	return now.Sub(t.SentAt)
}

// facts is everything known about t but its output: w×h cells.
func (s *Screen) facts(c *screen.Ctx, t *fleet.Task, w, h int) []string {
	st := c.Styles
	f := pane.NewSheet(st, w, h)
	sit := pane.SituationOf(st, t, c.Now)
	f.Add("state", sit.Glyph+" "+sit.Word, sit.Style)
	if t.CancelRequestedAt.IsZero() {
		f.Add("", text.Line(sit.More), st.Muted)
	}
	f.Add("task_id", text.ID(text.Head(t.ID, 512)), st.Text)
	f.Add("capability", text.ID(text.Head(t.Params.Capability, 512)), st.Text)
	f.Add("provider", text.ID(text.Head(t.Provider, 256)), st.Text)
	if t.ProviderID != "" {
		f.Add("", "calls itself "+text.ID(text.Head(t.ProviderID, 256)), st.Muted)
	}
	f.Gap()
	s.clocks(c, f, t)
	f.Gap()
	s.price(c, f, t)
	s.outcome(c, f, t)
	return f.Lines()
}

// clocks are the task's clocks; each says what it measures.
func (s *Screen) clocks(c *screen.Ctx, f *pane.Sheet, t *fleet.Task) {
	st := c.Styles
	if t.Earlier {
		by := "another signalbox process, which kept no name"
		if t.By != "" {
			by = text.Line(text.Head(t.By, 256))
		}
		f.Add("run by", by, st.Text)
		f.Add("ended", kit.Stamp(t.EndedAt)+", "+kit.Since(t.EndedAt, c.Now), st.Text)
		return
	}
	f.Add("sent", kit.Clock(t.SentAt, true)+", attempt "+fmt.Sprint(max(1, t.Attempt)), st.Text)
	f.Add("elapsed", kit.Span(elapsed(t, c.Now)), st.Text)
	if !t.State.Final() {
		left, style := leftCell(st, t, c.Now)
		f.Add("deadline", left+" left of "+kit.Span(t.Deadline.Sub(t.SentAt)), style)
		f.Add("life", lifeWords(t, c.Now), lifeStyle(st, lifeOf(t, c.Now)))
		f.Add("task beat", pane.Ago(t.LastBeat, c.Now), st.Text)
	}
	if t.Merged > 0 {
		f.Add("", kit.Count(t.Merged)+" beats taken together: this program was behind", st.Muted)
	}
	f.Add("progress", progressWords(t), st.Text)
	f.Add("last news", pane.Ago(t.LastProgress, c.Now), st.Text)
	f.AddProse("detail", t.Detail, 1024, st.Text)
	if takesInput(t) {
		f.Add("input", "as it runs: I sends, E ends it", st.Text)
	}
	if t.CancelRequestedAt.IsZero() {
		return
	}
	cancel := "requested " + kit.Clock(t.CancelRequestedAt, true)
	if t.State.Final() {
		cancel += ", " + string(t.State) + " " + kit.Span(t.EndedAt.Sub(t.CancelRequestedAt)) + " later"
	} else {
		cancel += ", not acknowledged yet"
	}
	f.Add("cancel", cancel, st.Wait)
	f.AddProse("", t.CancelReason, 1024, st.Muted)
}

func lifeOf(t *fleet.Task, now time.Time) acmp.Life {
	_, l := acmp.Liveness(t.LastSign, now, t.Interval)
	return l
}

func lifeWords(t *fleet.Task, now time.Time) string {
	if t.Interval <= 0 {
		return "no interval advertised, no verdict"
	}
	if t.Broken {
		return fmt.Sprintf("link lost, last sign %s ago", kit.Span(now.Sub(t.LastSign)))
	}
	if pane.Hung(t, now) {
		return fmt.Sprintf("beats every %s, but nothing new for %s", t.Interval, kit.Ago(t.LastProgress, now))
	}
	return fmt.Sprintf("%s, last sign %s ago, beats every %s", lifeOf(t, now), kit.Span(now.Sub(t.LastSign)), t.Interval)
}

func progressWords(t *fleet.Task) string {
	if t.Progress == nil {
		return "not reported"
	}
	return fmt.Sprintf("%.0f%% as reported", *t.Progress*100)
}

func (s *Screen) price(c *screen.Ctx, f *pane.Sheet, t *fleet.Task) {
	st := c.Styles
	ceiling := "no ceiling"
	if t.Params.MaxPriceCU != nil {
		ceiling = "ceiling " + cu(string(*t.Params.MaxPriceCU)) + " CU"
	}
	cost := "not known yet"
	if t.Result != nil {
		cost = cu(string(t.Result.CostCU)) + " CU"
	} else if t.State.Final() {
		cost = "none reported"
	}
	f.Add("cost", cost+", "+ceiling, st.Text)
	if t.Overcharge != "" {
		f.Add("", cu(t.Overcharge)+" CU above the ceiling", st.Bad)
	}
	if t.Result != nil {
		f.Add("tokens", fmt.Sprint(t.Result.TokensUsed), st.Text)
	}
	f.Add("output", outputWords(t), st.Text)
	f.Add("escrow", text.ID(text.Head(t.Params.EscrowID, 128)), st.Text)
}

func (s *Screen) outcome(c *screen.Ctx, f *pane.Sheet, t *fleet.Task) {
	st := c.Styles
	if t.Result != nil && t.Result.Proof != nil {
		p := t.Result.Proof
		f.Add("proof", text.ID(text.Head(p.Method, 64))+" "+text.ID(text.Head(p.Hash, 96)), st.Text)
		style := st.OK
		if !strings.HasPrefix(t.ProofCheck, "matches") {
			style = st.Warn
		}
		f.Add("", text.Line(t.ProofCheck), style)
	}
	if t.Err != nil {
		f.Gap()
		f.AddProse("error", t.Err.Error(), 2048, st.Bad)
		f.AddProse("cause", t.Err.Detail(), 2048, st.Bad)
		if t.Err.Local {
			f.Add("", "said by this program, not by the provider", st.Muted)
		}
	}
}

// outputWords tells how much output there is, "" when there is none.
func outputWords(t *fleet.Task) string {
	switch t.Chunks {
	case 0:
		return ""
	case 1:
		return kit.Bytes(t.Bytes) + " in 1 chunk"
	}
	return kit.Bytes(t.Bytes) + " in " + kit.Count(int(t.Chunks)) + " chunks"
}
