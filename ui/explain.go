package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/screen"
)

// clean makes remote text fit for one row.
func clean(s string) string { return text.Line(s) }

// shortID is an id of the owner's in at most n cells.
func shortID(id string, n int) string { return text.Middle(text.ID(id), n) }

// shortTask is a task id as it stands in sentences.
func shortTask(id string) string { return shortID(id, 14) }

// targetName names a target in a sentence.
func targetName(t screen.Target) string {
	switch {
	case t.Kind == screen.KindTask:
		return shortTask(t.TaskID)
	case t.WorkItemID != "":
		return shortID(t.WorkItemID, 36)
	}
	return shortID(t.ID, 36)
}

func shortList(ids []string, n int) string {
	if len(ids) <= n {
		return strings.Join(ids, ", ")
	}
	return strings.Join(ids[:n], ", ") + fmt.Sprintf(" and %d more", len(ids)-n)
}

func clockText(t time.Time) string { return kit.Clock(t, true) }

// shortError is the code of a refusal, or the error's own words.
func shortError(err error) string {
	var oe *acop.Error
	if errors.As(err, &oe) {
		return clean(string(oe.Code))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer"
	}
	return text.Clip(clean(err.Error()), 60)
}

// explain says in plain words what a refusal means, what the target is now and
// what to do about it.
func (m *Model) explain(t screen.Target, err error) string {
	var oe *acop.Error
	var te *acmp.Error
	switch {
	case errors.As(err, &oe):
		return m.explainOwner(t, oe)
	case errors.As(err, &te):
		return explainTask(te)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %d s. It may have been done or not; the log will tell", int(actTimeout.Seconds()))
	}
	return clean(err.Error())
}

func (m *Model) explainOwner(t screen.Target, e *acop.Error) string {
	info := acop.Info(e.Code)
	parts := []string{clean(string(e.Code))}
	if info.Plain != "" {
		parts[0] += ", " + info.Plain
	}
	if msg := clean(e.Message); msg != "" && !strings.EqualFold(msg, info.Plain) {
		parts = append(parts, msg)
	}
	if now := m.presentState(t); now != "" {
		parts = append(parts, "it is "+now)
	}
	if e.RetryAfterSeconds > 0 {
		parts = append(parts, fmt.Sprintf("try again in %d s", e.RetryAfterSeconds))
	} else if info.Next != "" {
		parts = append(parts, info.Next)
	}
	return strings.Join(parts, "; ")
}

// presentState says what the item of t is now.
func (m *Model) presentState(t screen.Target) string {
	it := m.state.Items[t.WorkItemID]
	if it == nil {
		return ""
	}
	s := "now " + clean(string(it.Status()))
	if h := it.Holder(); h != "" {
		s += " by " + clean(h)
	}
	return fmt.Sprintf("%s at rev %d", s, it.Revision)
}

func explainTask(e *acmp.Error) string {
	name := acmp.CodeName(e.Code)
	if name == "" {
		name = fmt.Sprintf("error %d", e.Code)
	}
	said := e.Message
	if e.Detail() != "" {
		said = e.Brief()
	}
	s := name + ", " + clean(said)
	if e.Local {
		s += " (found before it was sent)"
	}
	return s
}
