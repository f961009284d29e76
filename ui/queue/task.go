package queue

import (
	"fmt"
	"strings"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
)

func secs(n int64) time.Duration { return time.Duration(n) * time.Second }

// taskHead names a task of ours and its state.
func (p *page) taskHead(t *fleet.Task) {
	st := p.c.Styles
	p.line(pane.Clean(t.Params.Capability, p.w)+" on "+pane.Clean(t.Provider, 30), st.Strong)
	glyph, word, style := kit.TaskMark(st, t.State)
	head := glyph + " " + word
	p.out = append(p.out, style.Render(head)+st.Muted.Render(kit.Fit(st.G, "  task "+pane.CleanID(st.G, t.ID, 40), max(0, p.w-text.Width(head)), false)))
}

// taskRest draws its signs of life, its bounds and the end of its output.
func (p *page) taskRest(t *fleet.Task) {
	st, now := p.c.Styles, p.c.Now
	bar, lstyle := lifeBar(p.c, t, kit.BarCells)
	p.fact("life", bar+" "+lifeWords(p.c.Now, t), lstyle)
	if t.Progress != nil {
		p.fact("progress", fmt.Sprintf("%s %d%%", kit.Bar(st.G, *t.Progress, kit.BarCells), int(*t.Progress*100)), st.Text)
	} else {
		p.fact("progress", "not reported", st.Muted)
	}
	if t.Detail != "" {
		p.factProse("says", "", t.Detail, st.Text, 2)
	}
	if !t.State.Final() {
		p.fact("deadline", "in "+kit.Span(t.Deadline.Sub(now)), deadlineStyle(p.c, t))
	}
	p.cost(t)
	if t.Err != nil {
		p.factProse("error", "", t.Err.Brief(), st.Bad, 4)
	}
	if !t.CancelRequestedAt.IsZero() {
		p.fact("cancel", "requested "+kit.Since(t.CancelRequestedAt, now), st.Warn)
	}
	p.gap()
	lines := t.Output.Lines
	for _, l := range lines[max(0, len(lines)-6):] {
		p.line(text.OutputLine(text.Head(l, 4*p.w+256), false), st.Muted)
	}
}

func (p *page) cost(t *fleet.Task) {
	st := p.c.Styles
	cost := ""
	if t.Result != nil {
		cost = kit.CU(pane.Clean(string(t.Result.CostCU), 20)) + " CU"
	}
	if c := ceiling(t); c != "" {
		cost = strings.TrimLeft(cost+" of at most "+c, " ")
	}
	if t.Overcharge != "" {
		p.fact("cost", cost+", over the ceiling by "+kit.CU(t.Overcharge), st.Bad)
	} else if cost != "" {
		p.fact("cost", cost, st.Text)
	}
}

// lifeWords tells the sign of life in words, so that no two troubles look alike.
func lifeWords(now time.Time, t *fleet.Task) string {
	if t.State.Final() {
		return "ended " + kit.Since(t.EndedAt, now)
	}
	age := kit.Span(now.Sub(t.LastSign))
	if t.Broken {
		return "link lost, last sign " + age + " ago"
	}
	_, life := acmp.Liveness(t.LastSign, now, t.Interval)
	switch {
	case life == acmp.LifeUnknown:
		return "last sign " + age + " ago; no heartbeat is promised"
	case life == acmp.LifeDead:
		return "dead: no sign for " + age
	case t.Stalled || life == acmp.LifeSilent:
		return "silent for " + age
	case life == acmp.LifeLate:
		return "late, last sign " + age + " ago"
	}
	if pane.Hung(t, now) {
		return "beats, but nothing new for " + kit.Span(now.Sub(t.LastProgress))
	}
	return "alive, last sign " + age + " ago"
}
