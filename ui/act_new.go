package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acop"
	"signalbox/ui/dialog"
)

// newItem makes a work item. Id and title are enough; tab reaches the rest.
func (m *Model) newItem([]subject) tea.Cmd {
	d := &dialog.Dialog{
		Title: "New work item", Fields: append(m.newItemWhat(), m.newItemWhere()...), Wide: true,
		Buttons: []dialog.Button{yes("make it"), back},
	}
	return m.ask(d, nil, nil, func(string) (tea.Cmd, string) { return m.sendItem(d) })
}

func (m *Model) newItemWhat() []*dialog.Field {
	id := dialog.NewText("id", "id", "")
	id.Hint, id.Valid, id.Required = "work:area:name", m.freeID, true
	title := dialog.NewText("title", "title", "")
	title.Required = true
	var kinds []dialog.Option
	for _, k := range []acop.WorkKind{
		acop.KindImplement, acop.KindRefactor, acop.KindReview, acop.KindValidate, acop.KindRepair, acop.KindMergePrepare,
	} {
		kinds = append(kinds, dialog.Option{Value: string(k), Label: strings.ReplaceAll(string(k), "_", " ")})
	}
	kind := dialog.NewChoice("kind", "kind", "implement", kinds...)
	prio := dialog.NewChoice("priority", "priority", "medium", dialog.Option{Value: "low"}, dialog.Option{Value: "medium"},
		dialog.Option{Value: "high"}, dialog.Option{Value: "urgent"})
	summary := &dialog.Field{Name: "summary", Label: "summary", Rows: 3}
	waits := dialog.NewText("waits", "waits for", "")
	waits.Hint, waits.Valid = "ids with commas; none: it is ready at once", m.knownIDs
	out := []*dialog.Field{id, title, kind, prio, summary, waits}
	for _, f := range out[2:] {
		f.Skip = true
	}
	return out
}

func (m *Model) newItemWhere() []*dialog.Field {
	text := func(name, label, hint string) *dialog.Field {
		f := dialog.NewText(name, label, "")
		f.Hint, f.Skip = hint, true
		return f
	}
	req := text("requires", "requires", "evidence, one a line: tests-pass: unit tests pass")
	req.Grow = true
	req.Valid = validRequirements
	score := text("score", "score", "0.5")
	score.Valid, score.Note = validFraction("a score"), "0 to 1"
	return []*dialog.Field{
		req, text("paths", "paths", "owned paths, with commas"), text("symbols", "symbols", "owned symbols, with commas"),
		text("repo", "repo", "id of the repository"), text("branch", "branch", ""), text("agent", "for agent", "any"), score,
	}
}

// freeID refuses an id that is taken.
func (m *Model) freeID(s string) string {
	if m.state.Items[strings.TrimSpace(s)] != nil {
		return "an item with this id exists"
	}
	return ""
}

// knownIDs refuses ids of items that do not exist.
func (m *Model) knownIDs(s string) string {
	for _, id := range splitList(s) {
		if m.state.Items[id] == nil {
			return "there is no item " + clean(id)
		}
	}
	return ""
}

// requirementsOf reads one requirement a line: id: summary.
func requirementsOf(s string) (out []acop.ValidationRequirement, why string) {
	for _, l := range strings.Split(s, "\n") {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		id, summary, ok := strings.Cut(l, ": ")
		if id, summary = strings.TrimSpace(id), strings.TrimSpace(summary); !ok || id == "" || summary == "" {
			return nil, "a requirement is an id, a colon, a blank and what it asks"
		}
		if slices.ContainsFunc(out, func(r acop.ValidationRequirement) bool { return r.RequirementID == id }) {
			return nil, "the requirement " + clean(id) + " stands twice"
		}
		out = append(out, acop.ValidationRequirement{RequirementID: id, Kind: "check", Summary: summary})
	}
	return out, ""
}

func validRequirements(s string) string {
	_, why := requirementsOf(s)
	return why
}

func (m *Model) sendItem(d *dialog.Dialog) (tea.Cmd, string) {
	w := acop.WorkItem{
		WorkItemID: strings.TrimSpace(d.Value("id")), ProtocolVersion: acop.ProtocolVersion, WorkKind: acop.WorkKind(d.Value("kind")),
		CreatedAtUTC: acop.NewTime(m.clock.now), Producer: m.self(), Status: acop.StatusReady,
		Priority: acop.Priority(d.Value("priority")), ActionabilityScore: 0.5,
		Title: d.Value("title"), Summary: d.Value("summary"), OwnedPaths: splitList(d.Value("paths")), OwnedSymbols: splitList(d.Value("symbols")),
		TargetRepoID: strings.TrimSpace(d.Value("repo")), TargetBranch: strings.TrimSpace(d.Value("branch")),
		TargetAgentUID: strings.TrimSpace(d.Value("agent")),
	}
	if s, err := strconv.ParseFloat(strings.TrimSpace(d.Value("score")), 64); err == nil {
		w.ActionabilityScore = s
	}
	doc := &acop.Document{ProtocolVersion: acop.ProtocolVersion}
	doc.ValidationRequirements, _ = requirementsOf(d.Value("requires")) // the field has checked it
	for _, id := range splitList(d.Value("waits")) {
		w.Status = acop.StatusBlocked
		doc.Blockers = append(doc.Blockers, acop.Blocker{
			BlockerCode: acop.BlockerDependency, Severity: acop.SeverityMedium,
			Summary: fmt.Sprintf("waits for %s", id), DependsOnWorkItemID: id,
		})
	}
	doc.WorkItem = w
	return m.do("new item", itemTarget(w.WorkItemID), acop.Act{Verb: acop.VerbPut, WorkItemID: w.WorkItemID, Document: doc}, nil), ""
}
