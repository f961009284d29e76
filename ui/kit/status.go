package kit

import (
	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/text"
	"signalbox/ui/theme"
)

// StatusMark gives glyph, word and style of a work item's status.
func StatusMark(st *theme.Styles, s acop.Status) (glyph, word string, style theme.Style) {
	g := st.G
	switch s {
	case acop.StatusReady:
		return g.Circle, "ready", st.Wait
	case acop.StatusRequiresAttention:
		return g.Bang, "attention", st.Warn
	case acop.StatusBlocked:
		return g.Block, "blocked", st.Warn
	case acop.StatusClaimed:
		return g.Half, "claimed", st.OK
	case acop.StatusInProgress:
		return g.Running, "in progress", st.OK
	case acop.StatusCompleted:
		return g.Check, "completed", st.Wait
	case acop.StatusAccepted:
		return g.Check, "accepted", st.OK
	case acop.StatusReleased:
		return g.Pause, "released", st.Wait
	case acop.StatusConsumed:
		return g.Check, "consumed", st.Muted
	case acop.StatusCancelled:
		return g.Cross2, "cancelled", st.Muted
	case acop.StatusSuperseded:
		return g.Link, "superseded", st.Muted
	}
	return g.Query, text.Line(string(s)), st.Muted
}

// TaskMark gives glyph, word and style of a task's state.
func TaskMark(st *theme.Styles, s acmp.State) (glyph, word string, style theme.Style) {
	g := st.G
	switch s {
	case acmp.StatePending:
		return g.Circle, "pending", st.Wait
	case acmp.StateRunning:
		return g.Running, "running", st.OK
	case acmp.StateCompleted:
		return g.Check, "completed", st.OK
	case acmp.StateFailed:
		return g.Cross2, "failed", st.Bad
	case acmp.StateCancelled:
		return g.Block, "cancelled", st.Muted
	}
	return g.Query, text.Line(string(s)), st.Muted
}

// KindMark gives glyph and word of a kind of work, in at most ten cells.
func KindMark(k acop.WorkKind) (glyph, word string) {
	switch k {
	case acop.KindImplement:
		return "+", "implement"
	case acop.KindRefactor:
		return "~", "refactor"
	case acop.KindReview:
		return "?", "review"
	case acop.KindValidate:
		return "=", "validate"
	case acop.KindRepair:
		return "!", "repair"
	case acop.KindHandoffFollowup:
		return ">", "handoff"
	case acop.KindMergePrepare:
		return "&", "merge"
	}
	return ".", text.Line(string(k))
}
