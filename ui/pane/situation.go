package pane

import (
	"time"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/theme"
)

// hungAfter is how long a task may beat without new progress, detail or output
// before it is called hung.
const hungAfter = time.Minute

// Situation is the state of a task in one glyph and word.
type Situation struct {
	Glyph, Word string
	Style       theme.Style
	// More says it in a sentence; "" where the word is enough.
	More string
}

// WordCells is the room that the word of any situation takes.
const WordCells = 10

// SituationOf judges t at now. The states of the protocol come first; what the
// buyer observes about a running task follows. Every screen says the same of one
// task, because it asks here.
func SituationOf(st *theme.Styles, t *fleet.Task, now time.Time) Situation {
	g := st.G
	_, life := acmp.Liveness(t.LastSign, now, t.Interval)
	switch {
	case t.State.Final() || t.State == acmp.StatePending:
		glyph, word, style := kit.TaskMark(st, t.State)
		return Situation{glyph, text.Line(word), style, ""}
	case !t.CancelRequestedAt.IsZero():
		return Situation{g.Block, "cancelling", st.Wait,
			"cancel requested " + kit.Since(t.CancelRequestedAt, now) + ", not acknowledged yet"}
	case t.Broken:
		return Situation{g.Off, "link lost", st.Warn,
			"the stream broke; the task may still run and is sent again under the same task_id"}
	case life == acmp.LifeDead:
		return Situation{g.Flag, "dead", st.Bad,
			"no sign of life for more than three intervals of " + t.Interval.String()}
	case t.Stalled || life == acmp.LifeSilent:
		return Situation{g.Pause, "stalled", st.Warn,
			"no sign of life for more than two intervals of " + t.Interval.String()}
	case Hung(t, now):
		return Situation{g.Half, "hung", st.Warn,
			"it beats, but nothing new for " + kit.Ago(t.LastProgress, now)}
	}
	return Situation{g.Running, "running", st.OK, ""}
}

// Hung reports a task that shows signs of life and nothing else.
func Hung(t *fleet.Task, now time.Time) bool {
	return !t.LastBeat.IsZero() && t.LastBeat.After(t.LastProgress) && now.Sub(t.LastProgress) > hungAfter
}
