package tasks

import (
	"time"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/theme"
)

// lifeStyle colours the bar of life by the steps of one, two and three
// intervals.
func lifeStyle(st *theme.Styles, l acmp.Life) theme.Style {
	switch l {
	case acmp.LifeAlive:
		return st.OK
	case acmp.LifeLate:
		return st.Wait
	case acmp.LifeSilent:
		return st.Warn
	case acmp.LifeDead:
		return st.Bad
	}
	return st.Muted
}

// lifeCells draws the sign of life: a bar that empties over three intervals and
// the age of the last sign. Without an advertised interval there is no verdict.
func lifeCells(st *theme.Styles, t *fleet.Task, now time.Time) (bar, age string, style theme.Style) {
	if t.Earlier {
		return "ended", kit.Span(now.Sub(t.EndedAt)), st.Muted
	}
	if t.State.Final() {
		return "took", kit.Span(t.EndedAt.Sub(t.SentAt)), st.Muted
	}
	if t.State == acmp.StatePending {
		return "", "", st.Muted
	}
	age = kit.Span(max(time.Millisecond, now.Sub(t.LastSign)))
	ratio, life := acmp.Liveness(t.LastSign, now, t.Interval)
	if life == acmp.LifeUnknown {
		return "n/a", age, st.Muted
	}
	if life == acmp.LifeDead {
		return "no sign", age, st.Bad // an empty bar would look like nothing
	}
	return kit.Bar(st.G, 1-ratio, kit.BarCells), age, lifeStyle(st, life)
}

// leftCell is the time to the deadline.
func leftCell(st *theme.Styles, t *fleet.Task, now time.Time) (string, theme.Style) {
	if t.State.Final() {
		return "", st.Muted
	}
	if t.Deadline.IsZero() {
		return "-", st.Muted
	}
	left := acmp.DeadlineLeft(t.Deadline, now)
	total := t.Deadline.Sub(t.SentAt)
	switch {
	case left == 0:
		return "over", st.Bad
	case left*5 < total:
		return kit.Span(left), st.Warn
	}
	return kit.Span(left), st.Text
}

// costCell is the cost against the ceiling in CU: .003/.01, -/.01, .003/any.
func costCell(st *theme.Styles, t *fleet.Task) (string, theme.Style) {
	cost, ceiling, style := "-", "any", st.Muted
	if t.Params.MaxPriceCU != nil {
		ceiling = cu(string(*t.Params.MaxPriceCU))
	}
	if t.Result != nil {
		cost, style = cu(string(t.Result.CostCU)), st.Text
	}
	if t.Overcharge != "" {
		style = st.Bad
	}
	return cost + "/" + ceiling, style
}

func cu(s string) string { return text.ID(kit.CU(text.Head(s, 32))) }
