package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/dialog"
	"signalbox/ui/screen"
)

// back is the button that leaves things as they are; where an act cannot be
// taken back it is the default.
var back = dialog.Button{Label: "back"}

// yes is the button that does it.
func yes(label string) dialog.Button { return dialog.Button{Value: "yes", Label: label, Key: "y"} }

// danger is the button of an act that cannot be taken back.
func danger(label string) dialog.Button {
	return dialog.Button{Value: "yes", Label: label, Key: "y", Danger: true}
}

// heading names what a dialog is about.
func heading(verb string, ss []subject) string {
	if len(ss) == 1 {
		return verb + " " + targetName(ss[0].t)
	}
	return fmt.Sprintf("%s %d items", verb, len(ss))
}

// reasonField asks for the reason of an act.
func reasonField(label, value string, required bool) *dialog.Field {
	f := dialog.NewText("reason", label, value)
	f.Required = required
	if !required {
		f.Hint = "none"
	}
	return f
}

// grant gives the item to the worker that asks, or to one that is chosen.
func (m *Model) grant(ss []subject) tea.Cmd {
	d := &dialog.Dialog{Title: heading("Grant", ss), Buttons: []dialog.Button{yes("grant"), back}}
	worker, ttl := "", ""
	choose := false
	for _, s := range ss {
		in := m.intentOf(s)
		if in == nil {
			choose = true
			continue
		}
		if len(ss) == 1 {
			worker, ttl = in.ClaimIntent.WorkerAgentUID, wishedTTL(in)
		}
	}
	if choose {
		f := dialog.NewChoice("worker", "worker", worker, m.workerOptions()...)
		f.Other, f.Required = true, true
		d.Fields = append(d.Fields, f)
	}
	t := dialog.NewText("ttl", "TTL", ttl)
	t.Hint, t.Valid, t.Skip = "the worker's wish, or the owner's choice", validLength("a TTL", time.Second), true
	t.Note = lengthUnits + "; the owner may give less"
	d.Fields = append(d.Fields, t)
	r := reasonField("reason", "", m.anyOverlap(ss))
	r.Skip = !r.Required
	d.Fields = append(d.Fields, r)
	return m.ask(d, ss, m.grantInfo, func(string) (tea.Cmd, string) {
		return m.actOn("grant", ss, func(s subject) acop.Act {
			act := acop.Act{Verb: acop.VerbClaim, Worker: d.Value("worker"), TTLSeconds: ttlSeconds(d.Value("ttl")),
				Reason: d.Value("reason"), Scope: "whole item"}
			if in := m.intentOf(s); in != nil {
				act = acop.Act{Verb: acop.VerbGrant, IntentID: in.ClaimIntent.ClaimIntentID,
					TTLSeconds: ttlSeconds(d.Value("ttl")), Reason: d.Value("reason")}
			}
			return act
		}), ""
	})
}

// wishedTTL is the term a request asks for, as the form takes it; "" when it names none.
func wishedTTL(in *acop.Intent) string {
	if n := in.ClaimIntent.RequestedTTLSeconds; n > 0 && n <= int64(longestLength/time.Second) {
		return lengthWords(time.Duration(n) * time.Second)
	}
	return ""
}

// intentOf is the request a subject is about: the one on its row, or the oldest
// that waits.
func (m *Model) intentOf(s subject) *acop.Intent {
	if s.item == nil {
		return nil
	}
	if s.t.Kind == screen.KindIntent {
		if in := s.item.Intent(s.t.ID); in != nil && in.State == acop.IntentWaiting {
			return in
		}
	}
	return s.item.WaitingIntent()
}

func (m *Model) workerOptions() []dialog.Option {
	var out []dialog.Option
	for _, a := range m.state.Agents(m.clock.now) {
		note := "holds nothing"
		if n := len(a.Held); n > 0 {
			note = fmt.Sprintf("holds %d", n)
		}
		out = append(out, dialog.Option{Value: a.UID, Label: clean(a.UID), Note: note})
	}
	return out
}

func (m *Model) anyOverlap(ss []subject) bool {
	return slices.ContainsFunc(ss, func(s subject) bool { return m.overlaps(s) > 0 })
}

// overlaps counts the live claims that a grant of s would meet.
func (m *Model) overlaps(s subject) int {
	if s.item == nil {
		return 0
	}
	return len(m.state.OverlapsWith(s.item))
}

func (m *Model) deny(ss []subject) tea.Cmd {
	d := &dialog.Dialog{
		Title: heading("Deny", ss), Buttons: []dialog.Button{yes("deny"), back},
		Fields: []*dialog.Field{reasonField("reason", "", true)},
	}
	return m.ask(d, ss, m.grantInfo, func(string) (tea.Cmd, string) {
		return m.actOn("deny", ss, func(s subject) acop.Act {
			act := acop.Act{Verb: acop.VerbDeny, Reason: d.Value("reason")}
			if in := m.intentOf(s); in != nil {
				act.IntentID = in.ClaimIntent.ClaimIntentID
			}
			return act
		}), ""
	})
}

// readyAsIs is the reason of a decision without an answer.
const readyAsIs = "ready as it stands"

// decide settles an item that requires attention: its question is answered in
// words, which stand in the item's history as the reason.
func (m *Model) decide(ss []subject) tea.Cmd {
	decision := dialog.NewChoice("decision", "decision", string(acop.StatusReady),
		dialog.Option{Value: string(acop.StatusReady), Label: "ready"},
		dialog.Option{Value: string(acop.StatusBlocked), Label: "blocked"})
	answer := reasonField("answer", "", false)
	answer.Skip = true
	answer.HintNow = func(d *dialog.Dialog) string {
		if d.Focused() == answer {
			return "your decision in words; none: " + readyAsIs
		}
		return "tab: decide in words; none: " + readyAsIs
	}
	isBlocked := func(d *dialog.Dialog) bool { return d.Value("decision") == string(acop.StatusBlocked) }
	code, summary := blockerFields()
	code.When, summary.When = isBlocked, isBlocked
	answer.When = func(d *dialog.Dialog) bool { return !isBlocked(d) } // what blocks it is the answer
	d := &dialog.Dialog{
		Title: heading("Decide", ss), Fields: []*dialog.Field{decision, code, summary, answer},
		Buttons: []dialog.Button{yes("decide"), back},
	}
	return m.ask(d, ss, m.itemInfo, func(string) (tea.Cmd, string) {
		act := acop.Act{Verb: acop.VerbResolve, Decision: acop.Status(d.Value("decision")), Reason: orElse(strings.TrimSpace(d.Value("reason")), readyAsIs)}
		if act.Decision == acop.StatusBlocked {
			act.Blocker = blockerOf(d)
			act.Reason = act.Blocker.Summary
		}
		return m.actOn("decide", ss, func(subject) acop.Act { return act }), ""
	})
}

// accept shows the evidence beside what was required before it asks (H-092).
func (m *Model) accept(ss []subject) tea.Cmd {
	note := reasonField("notes", "", false)
	note.Skip = true
	d := &dialog.Dialog{
		Title: heading("Accept", ss), Fields: []*dialog.Field{note},
		Buttons: []dialog.Button{yes("accept"), back},
	}
	if m.missing(ss) > 0 {
		// Evidence is missing: the harmless answer comes first.
		d.Default = 1
	}
	return m.ask(d, ss, m.evidenceInfo, func(string) (tea.Cmd, string) {
		return m.actOn("accept", ss, func(subject) acop.Act {
			return acop.Act{Verb: acop.VerbAccept, Reason: d.Value("reason")}
		}), ""
	})
}

// missing counts the requirements without evidence.
func (m *Model) missing(ss []subject) int {
	n := 0
	for _, s := range ss {
		if s.item == nil {
			continue
		}
		var ev acop.CompletionEvidence
		if s.item.Completion != nil {
			ev = s.item.Completion.Evidence
		}
		n += len(s.item.MissingEvidence(ev))
	}
	return n
}

func (m *Model) sendBack(ss []subject) tea.Cmd {
	kind := dialog.NewChoice("kind", "successor", string(acop.KindRepair),
		dialog.Option{Value: string(acop.KindRepair), Label: "repair"},
		dialog.Option{Value: string(acop.KindHandoffFollowup), Label: "handoff followup"})
	kind.Skip = true
	d := &dialog.Dialog{
		Title: heading("Send back", ss), Fields: []*dialog.Field{reasonField("reason", "", true), kind},
		Buttons: []dialog.Button{back, danger("send back")},
	}
	info := func(ss []subject) []dialog.Line {
		return append(m.evidenceInfo(ss), dialog.Text("This item is superseded by a new one that carries the reason.", dialog.Muted))
	}
	return m.ask(d, ss, info, func(string) (tea.Cmd, string) {
		return m.actOn("send back", ss, func(subject) acop.Act {
			return acop.Act{Verb: acop.VerbSendBack, Reason: d.Value("reason"), WorkKind: acop.WorkKind(d.Value("kind"))}
		}), ""
	})
}

func (m *Model) revoke(ss []subject) tea.Cmd {
	disp := dialog.NewChoice("disposition", "then", string(acop.StatusReady),
		dialog.Option{Value: string(acop.StatusReady), Label: "ready again"},
		dialog.Option{Value: string(acop.StatusReleased), Label: "held back"})
	disp.Skip = true
	d := &dialog.Dialog{
		Title: heading("Revoke", ss), Fields: []*dialog.Field{reasonField("reason", m.revokeReason(ss), true), disp},
		Buttons: []dialog.Button{yes("revoke"), back},
	}
	info := func(ss []subject) []dialog.Line {
		return append(m.holderInfo(ss), dialog.Text("The holder's next write is refused.", dialog.Muted))
	}
	return m.ask(d, ss, info, func(string) (tea.Cmd, string) {
		return m.actOn("revoke", ss, func(s subject) acop.Act {
			return acop.Act{Verb: acop.VerbRevoke, ClaimID: claimOf(s.item), Reason: d.Value("reason"),
				Disposition: acop.Status(d.Value("disposition"))}
		}), ""
	})
}

// revokeReason offers the reason the queue shows, so that a lapsing lease takes
// two keys.
func (m *Model) revokeReason(ss []subject) string {
	for _, s := range ss {
		if s.t.AskKey == "" {
			return ""
		}
		for _, a := range m.state.Asks(m.clock.now) {
			if a.Key == s.t.AskKey && a.Detail != "" {
				if a.Kind == fleet.AskOverlap {
					return clean("overlaps " + strings.ReplaceAll(a.With, fleet.WithSep, ", ") + ": " + a.Detail)
				}
				return clean(a.Detail)
			}
		}
	}
	return ""
}

// ttlSeconds is what the form says of the term of a lease; 0 leaves it to the owner.
func ttlSeconds(s string) int64 {
	d, _ := parseLength(s)
	return int64(d / time.Second)
}
