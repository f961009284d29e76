package log

import (
	"errors"
	"strings"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/fleet"
)

// line is a log line in the words of the screen, raw.
type line struct {
	At       time.Time `json:"at"`
	Source   string    `json:"source"` // owner, here or note
	Revision uint64    `json:"revision,omitempty"`
	Actor    string    `json:"actor,omitempty"`
	Verb     string    `json:"verb"`
	Item     string    `json:"work_item_id,omitempty"`
	Claim    string    `json:"claim_id,omitempty"`
	Task     string    `json:"task_id,omitempty"`
	From     string    `json:"from,omitempty"`
	To       string    `json:"to,omitempty"`
	Outcome  string    `json:"outcome"` // done, asked, refused, note
	Code     string    `json:"code,omitempty"`
	Reason   string    `json:"reason,omitempty"`
}

// The outcomes.
const (
	outDone    = "done"
	outAsked   = "asked"
	outRefused = "refused"
	outNote    = "note"
)

// lineOf reads one line of the log; self is our identity at the owner.
func lineOf(l *fleet.LogLine, self string) line {
	switch {
	case l.Event != nil:
		return ofEvent(l.At, l.Event)
	case l.Own != nil:
		return ofOwn(l.At, l.Own, self)
	}
	return line{At: l.At, Source: "note", Verb: outNote, Outcome: outNote, Reason: l.Note}
}

func ofEvent(at time.Time, e *acop.Event) line {
	out := line{At: at, Source: "owner", Revision: e.Revision, Actor: e.Actor, Verb: e.Verb, Item: e.WorkItemID, Claim: e.ClaimID,
		From: string(e.From), To: string(e.To), Outcome: outDone, Reason: e.Reason}
	if e.OnBehalfOf != "" {
		out.Actor += " for " + e.OnBehalfOf
	}
	if e.Verb == string(acop.VerbRefused) {
		out.Verb, out.Outcome, out.Code = e.RefusedVerb, outRefused, e.Code
	}
	if out.Reason == "" {
		out.Reason = eventText(e)
	}
	return out
}

// eventText is what an event says where it has no reason.
func eventText(e *acop.Event) string {
	switch {
	case e.Entry != nil:
		return strings.TrimSpace(string(e.Entry.EntryKind) + ": " + e.Entry.Summary)
	case e.Heartbeat != nil:
		return strings.TrimSpace(e.Heartbeat.ProgressStatus + " " + e.Heartbeat.ProgressSummary)
	case e.Intent != nil:
		return "by " + e.Intent.ClaimIntent.WorkerAgentUID
	case e.Item != nil && e.Verb == string(acop.VerbPut):
		return e.Item.WorkItem.Title
	}
	return ""
}

func ofOwn(at time.Time, o *fleet.OwnAct, self string) line {
	out := line{At: at, Source: "here", Actor: self, Verb: string(o.Act.Verb), Item: o.Act.WorkItemID, Claim: o.Act.ClaimID, Task: o.TaskID, Reason: o.Act.Reason, Outcome: outAsked}
	if out.Actor == "" {
		out.Actor = "this program"
	}
	if o.Verb != "" {
		out.Verb = o.Verb
	}
	switch {
	case o.Err != nil:
		out.Outcome, out.Reason = outRefused, o.Err.Error()
		out.Code, out.Reason = explain(o.Err)
	case o.Done:
		out.Outcome = outDone
	}
	return out
}

// explain separates the code of a refusal from its words.
func explain(err error) (code, words string) {
	var refusal *acop.Error
	if errors.As(err, &refusal) {
		return string(refusal.Code), refusal.Message
	}
	var failure *acmp.Error
	if errors.As(err, &failure) {
		if failure.Detail() != "" {
			return acmp.CodeName(failure.Code), failure.Brief()
		}
		return acmp.CodeName(failure.Code), failure.Message
	}
	return "", err.Error()
}

// routine reports signs of life that were not refused.
func (l *line) routine() bool {
	return l.Outcome == outDone && (l.Verb == string(acop.VerbHeartbeat) || l.Verb == string(acop.VerbRenew))
}

// target is what the line is about, for its column.
func (l *line) target() string {
	if l.Item == "" {
		return l.Task
	}
	return l.Item
}

// change is "from → to", or the code of a refusal.
func (l *line) change(arrow string) string {
	switch {
	case l.Outcome == outRefused:
		return l.Code
	case l.From != "" && l.To != "" && l.From != l.To:
		return l.From + " " + arrow + " " + l.To
	}
	return l.To
}
