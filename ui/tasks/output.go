package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
)

// live is what the read model holds of a task's output.
func live(t *fleet.Task) pane.Text {
	return pane.Text{Lines: t.Output.Lines, First: t.Output.Dropped, JSON: acmp.IsJSON(t.Output.Type)}
}

// source gives the pane of t and what it shows, in line with the size.
func (s *Screen) source(c *screen.Ctx, t *fleet.Task, n int) (*pane.Pane, pane.Text) {
	r := s.layout(c, n).out
	if s.whole.taskID == t.ID && !s.whole.loading && s.whole.err == nil {
		s.whole.pane.Sync(s.whole.text, 0, r.w, r.h)
		return &s.whole.pane, s.whole.text
	}
	p := s.panes[t.ID]
	if p == nil {
		p = &pane.Pane{}
		s.panes[t.ID] = p
	}
	tx := live(t)
	p.Sync(tx, t.Restarted, r.w, r.h)
	return p, tx
}

// searching reports whether a search is under way in any pane that could be
// shown; the keys of a search are then bound.
func (s *Screen) searching() bool {
	if s.whole.taskID != "" {
		return s.whole.pane.Query() != ""
	}
	p := s.panes[s.cur.Key()]
	return p != nil && p.Query() != ""
}

// toggleWhole goes from the tail in memory to the transcript on disk, or back.
func (s *Screen) toggleWhole(t *fleet.Task) screen.Intent {
	if s.whole.taskID != "" {
		s.whole = whole{}
		return nil
	}
	s.whole = whole{taskID: t.ID, loading: true}
	return screen.LoadTranscript{TaskID: t.ID}
}

// leaveWhole drops the transcript when another task is selected.
func (s *Screen) leaveWhole(id string) {
	if s.whole.taskID != id {
		s.whole = whole{}
	}
}

func (s *Screen) loaded(c *screen.Ctx, msg screen.Transcript) {
	if msg.TaskID != s.whole.taskID {
		return // the reader has moved on
	}
	s.whole.loading, s.whole.err, s.whole.skipped = false, msg.Err, msg.Skipped
	isJSON := false
	if t := c.State.Tasks[msg.TaskID]; t != nil {
		isJSON = acmp.IsJSON(t.Output.Type) || t.Earlier && looksLikeJSON(msg.Text)
	}
	s.whole.text = pane.SplitText(msg.Text, isJSON)
}

// looksLikeJSON guesses the type of an output that nobody told: one JSON object or
// array a line.
func looksLikeJSON(out []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
	return len(line) > 0 && (line[0] == '{' || line[0] == '[') && json.Valid(line)
}

// outputTitle names what the pane shows and where the reader is.
func (s *Screen) outputTitle(t *fleet.Task, p *pane.Pane, tx pane.Text, g string) string {
	title := "OUTPUT " + text.Middle(text.ID(text.Head(t.ID, 256)), 14)
	if s.whole.taskID == t.ID {
		title = "WHOLE " + title
		switch {
		case s.whole.loading:
			return title + ", reading from disk"
		case s.whole.err != nil:
			return title + ", cannot be read: " + text.Line(text.Head(s.whole.err.Error(), 512))
		case s.whole.skipped > 0:
			title += ", the first " + kit.Bytes(s.whole.skipped) + " are left out"
		}
	}
	if status := p.Status(tx); status != "" {
		title += " " + g + " " + status
	}
	if s.whole.taskID != t.ID && t.Output.Dropped > 0 {
		title += fmt.Sprintf(" %s %s older lines on disk, o", g, kit.Count(t.Output.Dropped))
	}
	if t.Restarted > 0 {
		title += fmt.Sprintf(" %s restarted, output of attempt %d cleared", g, max(1, t.Attempt-1))
	}
	return title
}

// noOutput says why a pane is blank.
func noOutput(t *fleet.Task) string {
	switch {
	case t.Earlier:
		return "It ended before this program began. o reads its output from the disk."
	case t.State == acmp.StatePending:
		return "Not sent yet."
	case t.State == acmp.StateFailed, t.State == acmp.StateCancelled:
		return "It ended without output."
	case t.State.Final():
		return "The result holds no output."
	case t.Params.InputStream:
		return "It takes input: I sends, E ends it."
	case !t.Params.Stream:
		return "Output comes with the result: this task does not stream."
	}
	return "No output yet."
}
