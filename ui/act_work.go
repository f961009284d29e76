package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acop"
	"signalbox/model/text"
	"signalbox/ui/dialog"
)

// cancelItem ends an item for good.
func (m *Model) cancelItem(ss []subject) tea.Cmd {
	d := &dialog.Dialog{
		Title: heading("Cancel", ss), Fields: []*dialog.Field{reasonField("reason", "", true)},
		Buttons: []dialog.Button{back, danger("cancel for good")},
	}
	info := func(ss []subject) []dialog.Line {
		out := m.endingInfo(ss)
		for _, s := range ss {
			if s.item != nil && s.item.Holder() != "" {
				out = append(out, dialog.Text("The live claim of "+clean(s.item.Holder())+" is revoked.", dialog.Warn))
			}
		}
		return append(out, dialog.Text("A cancelled item never comes back.", dialog.Muted))
	}
	return m.ask(d, ss, info, func(string) (tea.Cmd, string) {
		return m.actOn("cancel", ss, func(subject) acop.Act {
			return acop.Act{Verb: acop.VerbCancel, Reason: d.Value("reason")}
		}), ""
	})
}

// blockerFields ask for what a blocker must say.
func blockerFields() (code, summary *dialog.Field) {
	var opts []dialog.Option
	for _, c := range []string{
		acop.BlockerExternalDecision, acop.BlockerReviewRequired, acop.BlockerDependency, acop.BlockerArtifactMissing,
		acop.BlockerNoValidationEnv, acop.BlockerBranchConflict, acop.BlockerSeamExtraction, acop.BlockerHostContract,
	} {
		opts = append(opts, dialog.Option{Value: c})
	}
	code = dialog.NewChoice("code", "blocker", acop.BlockerExternalDecision, opts...)
	code.Other = true
	summary = dialog.NewText("blocker-summary", "what blocks", "")
	summary.Required = true
	return code, summary
}

func blockerOf(d *dialog.Dialog) *acop.Blocker {
	b := &acop.Blocker{
		BlockerCode: d.Value("code"), Severity: acop.SeverityMedium, Summary: d.Value("blocker-summary"),
		DependsOnWorkItemID: strings.TrimSpace(d.Value("depends")),
	}
	if s := acop.Severity(d.Value("severity")); s != "" {
		b.Severity = s
	}
	return b
}

// block raises a blocker on a ready item, or clears one of a blocked one.
func (m *Model) block(ss []subject) tea.Cmd {
	if it := ss[0].item; it != nil && it.Status() == acop.StatusBlocked {
		return m.unblock(ss)
	}
	code, summary := blockerFields()
	depends := dialog.NewText("depends", "waits for", "")
	depends.Hint = "the work item id"
	depends.Required = true
	depends.When = func(d *dialog.Dialog) bool { return d.Value("code") == acop.BlockerDependency }
	sev := dialog.NewChoice("severity", "severity", string(acop.SeverityMedium),
		dialog.Option{Value: "low"}, dialog.Option{Value: "medium"}, dialog.Option{Value: "high"}, dialog.Option{Value: "critical"})
	sev.Skip = true
	d := &dialog.Dialog{
		Title: heading("Block", ss), Fields: []*dialog.Field{code, depends, summary, sev},
		Buttons: []dialog.Button{yes("block"), back},
	}
	return m.ask(d, ss, m.itemInfo, func(string) (tea.Cmd, string) {
		return m.actOn("block", ss, func(subject) acop.Act {
			return acop.Act{Verb: acop.VerbBlock, Blocker: blockerOf(d), Reason: d.Value("blocker-summary")}
		}), ""
	})
}

func (m *Model) unblock(ss []subject) tea.Cmd {
	it := ss[0].item
	var opts []dialog.Option
	for _, b := range it.Blockers {
		opts = append(opts, dialog.Option{Value: b.BlockerCode, Label: clean(b.BlockerCode), Note: text.Clip(clean(b.Summary), 60)})
	}
	if len(opts) == 0 {
		opts = []dialog.Option{{Value: "", Label: "no blocker is named"}}
	}
	note := reasonField("note", "", false)
	note.Skip = true
	d := &dialog.Dialog{
		Title:   heading("Unblock", ss),
		Fields:  []*dialog.Field{dialog.NewChoice("code", "clear", opts[0].Value, opts...), note},
		Buttons: []dialog.Button{yes("unblock"), back},
	}
	return m.ask(d, ss, m.itemInfo, func(string) (tea.Cmd, string) {
		return m.actOn("unblock", ss, func(subject) acop.Act {
			return acop.Act{Verb: acop.VerbUnblock, BlockerCode: d.Value("code"), Reason: d.Value("reason")}
		}), ""
	})
}

// requeue puts released items back; it can be taken back and asks nothing.
func (m *Model) requeue(ss []subject) tea.Cmd {
	return m.actOn("requeue", ss, func(subject) acop.Act { return acop.Act{Verb: acop.VerbRequeue} })
}

// consume closes accepted work: terminal, so it confirms.
func (m *Model) consume(ss []subject) tea.Cmd {
	d := &dialog.Dialog{Title: heading("Consume", ss), Buttons: []dialog.Button{back, danger("consume")}}
	info := func(ss []subject) []dialog.Line {
		return append(m.itemInfo(ss), dialog.Text("Consumed work is closed for good.", dialog.Muted))
	}
	return m.ask(d, ss, info, func(string) (tea.Cmd, string) {
		return m.actOn("consume", ss, func(subject) acop.Act { return acop.Act{Verb: acop.VerbConsume} }), ""
	})
}

func (m *Model) supersede(ss []subject) tea.Cmd {
	self := ss[0].t.WorkItemID
	by := dialog.NewChoice("by", "replaced by", "", m.itemOptions(self)...)
	by.Other, by.Required = true, true
	d := &dialog.Dialog{
		Title: heading("Supersede", ss), Fields: []*dialog.Field{by, reasonField("reason", "", true)},
		Buttons: []dialog.Button{back, danger("supersede for good")},
	}
	info := func(ss []subject) []dialog.Line {
		return append(m.endingInfo(ss), dialog.Text("A superseded item never comes back; a live claim on it is revoked.", dialog.Muted))
	}
	return m.ask(d, ss, info, func(string) (tea.Cmd, string) {
		return m.actOn("supersede", ss, func(subject) acop.Act {
			return acop.Act{Verb: acop.VerbSupersede, SupersededBy: d.Value("by"), Reason: d.Value("reason")}
		}), ""
	})
}

// itemOptions are the known items but one, by id.
func (m *Model) itemOptions(not string) []dialog.Option {
	ids := make([]string, 0, len(m.state.Items))
	for id := range m.state.Items {
		if id != not {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	out := make([]dialog.Option, len(ids))
	for i, id := range ids {
		out[i] = dialog.Option{Value: id, Label: text.ID(id), Note: headline(m.state.Items[id])}
	}
	return out
}

func (m *Model) post(ss []subject) tea.Cmd {
	var opts []dialog.Option
	for _, k := range []acop.EntryKind{
		acop.EntryDecision, acop.EntryFinding, acop.EntryRisk, acop.EntryConstraint, acop.EntryIntegrationNote,
		acop.EntryReviewRequest, acop.EntryHypothesis, acop.EntryPartialResult,
	} {
		opts = append(opts, dialog.Option{Value: string(k), Label: strings.ReplaceAll(string(k), "_", " ")})
	}
	summary := dialog.NewText("summary", "summary", "")
	summary.Required = true
	details := dialog.NewText("details", "details", "")
	details.Rows, details.Skip = 3, true
	conf := dialog.NewText("confidence", "confidence", "")
	conf.Hint, conf.Skip, conf.Valid, conf.Note = "none", true, validFraction("confidence"), "0 to 1"
	sup := dialog.NewText("supersedes", "supersedes", "")
	sup.Hint, sup.Skip = "entry ids, with commas", true
	if ss[0].t.Kind == "entry" {
		sup.Hint += "; this one: " + shortID(ss[0].t.ID, 24)
	}
	d := &dialog.Dialog{
		Title: heading("Post on", ss), Fields: []*dialog.Field{dialog.NewChoice("kind", "kind", "decision", opts...), summary, details, conf, sup},
		Buttons: []dialog.Button{yes("post"), back},
	}
	return m.ask(d, ss, m.itemInfo, func(string) (tea.Cmd, string) { return m.sendPost(d, ss[0]), "" })
}

func (m *Model) sendPost(d *dialog.Dialog, s subject) tea.Cmd {
	e := &acop.BlackboardEntry{
		EntryID:    fmt.Sprintf("entry:%s:%d", strings.ToLower(m.acts.session), m.acts.last+1),
		WorkItemID: s.t.WorkItemID, EntryKind: acop.EntryKind(d.Value("kind")),
		AuthorAgentUID: m.self(), CreatedAtUTC: acop.NewTime(m.clock.now), Status: acop.EntryActive,
		Summary: d.Value("summary"), Details: d.Value("details"), SupersedesEntryIDs: splitList(d.Value("supersedes")),
	}
	if c, err := strconv.ParseFloat(strings.TrimSpace(d.Value("confidence")), 64); err == nil {
		e.Confidence = &c
	}
	return m.do("post", s.t, acop.Act{Verb: acop.VerbPost, WorkItemID: e.WorkItemID, Entry: e}, nil)
}

// validFraction refuses what is no number from 0 to 1; nothing at all is taken.
func validFraction(name string) func(string) string {
	return func(s string) string {
		if s = strings.TrimSpace(s); s == "" {
			return ""
		}
		if c, err := strconv.ParseFloat(s, 64); err != nil || !(c >= 0 && c <= 1) {
			return name + " is a number from 0 to 1"
		}
		return ""
	}
}

// splitList reads words between commas.
func splitList(s string) []string {
	var out []string
	for _, w := range strings.Split(s, ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// freeze stops all new grants, or lets them go on.
func (m *Model) freeze([]subject) tea.Cmd {
	frozen := m.state.Settings.Frozen
	title, verb, word := "Freeze all grants", "freeze", "freeze"
	info := dialog.Text("Every new claim is refused until you let them go on; running work goes on.", dialog.Plain)
	if frozen {
		title, verb, word = "Let grants go on", "unfreeze", "let go on"
		info = dialog.Text(fmt.Sprintf("Frozen by %s: %s", clean(m.state.Settings.FrozenBy), clean(m.state.Settings.FrozenReason)), dialog.Plain)
	}
	d := &dialog.Dialog{
		Title: title, Info: []dialog.Line{info}, Fields: []*dialog.Field{reasonField("reason", "", !frozen)},
		Buttons: []dialog.Button{yes(word), back},
	}
	return m.ask(d, nil, nil, func(string) (tea.Cmd, string) {
		want := !frozen
		if m.state.Settings.Frozen == want {
			return nil, "somebody else did it already"
		}
		ch := &acop.SettingsChange{Frozen: &want, Reason: d.Value("reason")}
		return m.do(verb, settingsTarget, acop.Act{Verb: acop.VerbSettings, Settings: ch, Reason: d.Value("reason"),
			IfRevision: m.state.Settings.Revision}, nil), ""
	})
}
