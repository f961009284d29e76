package cli

import (
	"fmt"
	"strings"
	"time"

	"signalbox/model/acop"
	"signalbox/model/text"
)

// table aligns columns by cells, not by bytes. Cells must be sanitised.
type table struct {
	rows [][]string
}

func newTable(head ...string) *table { return &table{rows: [][]string{head}} }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// String gives the rows, or nothing when there is only the head. Columns that
// are empty in all rows are left out.
func (t *table) String() string {
	if len(t.rows) < 2 {
		return ""
	}
	widths := make([]int, len(t.rows[0]))
	for _, r := range t.rows[1:] {
		for i, c := range r {
			widths[i] = max(widths[i], text.Width(c))
		}
	}
	var b strings.Builder
	for _, r := range t.rows {
		var line strings.Builder
		for i, c := range r {
			if widths[i] == 0 {
				continue
			}
			line.WriteString(text.Pad(c, max(widths[i], text.Width(t.rows[0][i]))))
			line.WriteString("  ")
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// leaseLeft words what is left of a lease.
func leaseLeft(end acop.Time, now time.Time) string {
	left := end.Std().Sub(now)
	if left <= 0 {
		return "over"
	}
	return left.Round(time.Second).String() + " left"
}

// detailText is `work show` for people.
func detailText(d *acop.Detail, now time.Time) string {
	var b strings.Builder
	i := d.Item
	w := &i.WorkItem
	b.WriteString(strings.TrimRight(text.ID(w.WorkItemID)+"  "+text.Line(w.Title), " ") + "\n")
	pairs := [][2]string{
		{"status", string(w.Status) + " since " + i.StatusSinceUTC.String()},
		{"kind", string(w.WorkKind)},
		{"priority", string(w.Priority)},
		{"producer", text.ID(w.Producer)},
		{"repo", text.ID(w.TargetRepoID)},
		{"branch", text.ID(w.TargetBranch)},
		{"for", text.ID(w.TargetAgentUID)},
		{"paths", text.ID(strings.Join(w.OwnedPaths, " "))},
		{"symbols", text.ID(strings.Join(w.OwnedSymbols, " "))},
		{"follows", text.ID(w.CorrelationID)},
		{"superseded by", text.ID(i.SupersededBy)},
		{"revision", fmt.Sprint(i.Revision)},
	}
	if l := i.Lease; l != nil {
		pairs = append(pairs, [2]string{"held by", fmt.Sprintf("%s, %s, %s", text.ID(l.Claim.WorkerAgentUID), leaseLeft(l.Claim.ExpiresAtUTC, now), renewed(l.Renewals))},
			[2]string{"claim", text.ID(l.Claim.ClaimID)}, [2]string{"progress", text.Line(l.Progress)})
	}
	for _, p := range pairs {
		if p[1] != "" {
			fmt.Fprintf(&b, "  %-14s %s\n", p[0], p[1])
		}
	}
	section(&b, "", w.Summary)
	detailDecisions(&b, d)
	detailHistory(&b, d)
	return b.String()
}

// section prints prose indented under a heading.
func section(b *strings.Builder, head, prose string) {
	if prose == "" {
		return
	}
	if head != "" {
		b.WriteString(head + "\n")
	}
	for _, row := range text.Block(prose) {
		b.WriteString("  " + row + "\n")
	}
}

// detailDecisions prints what a decision needs: blockers, requirements beside
// evidence, waiting intents, overlaps.
func detailDecisions(b *strings.Builder, d *acop.Detail) {
	i := d.Item
	for _, k := range i.Blockers {
		fmt.Fprintf(b, "blocked by %s (%s): %s\n", text.ID(k.BlockerCode), k.Severity, text.Line(k.Summary))
		if id := k.DependsOn(); id != "" {
			fmt.Fprintf(b, "  waits for: %s\n", text.ID(id))
		}
		if k.SuggestedResolution != "" {
			fmt.Fprintf(b, "  suggested: %s\n", text.Line(k.SuggestedResolution))
		}
	}
	var given []string
	if i.Completion != nil {
		given = i.Completion.Evidence.ValidationResults
		fmt.Fprintf(b, "completed by %s at %s\n", text.ID(i.Completion.CompletedBy), i.Completion.CompletedAtUTC)
		if ids := i.Completion.Evidence.ArtifactIDs; len(ids) > 0 {
			fmt.Fprintf(b, "  artifacts: %s\n", text.ID(strings.Join(ids, " ")))
		}
	}
	missing := i.MissingEvidence(acop.CompletionEvidence{ValidationResults: given})
	for _, r := range i.ValidationRequirements {
		mark := "shown"
		for _, m := range missing {
			if m == r.RequirementID {
				mark = "open"
			}
		}
		fmt.Fprintf(b, "requires %s [%s]: %s\n", text.ID(r.RequirementID), mark, text.Line(r.Summary))
	}
	if a := i.Acceptance; a != nil {
		fmt.Fprintf(b, "accepted by %s at %s%s\n", text.ID(a.AcceptedBy), a.AcceptedAtUTC, because(a.Notes))
	}
	for _, n := range i.Intents {
		fmt.Fprintf(b, "claim asked for by %s, %s%s\n", text.ID(n.ClaimIntent.WorkerAgentUID), n.State, because(n.Reason))
	}
	for _, o := range d.Overlaps {
		fmt.Fprintf(b, "overlaps with %s, held by %s: %s\n", text.ID(o.WorkItemID), text.ID(o.WorkerAgentUID),
			text.ID(strings.Join(append(o.Paths, o.Symbols...), " ")))
	}
}

// detailHistory prints the blackboard and what happened.
func detailHistory(b *strings.Builder, d *acop.Detail) {
	for _, p := range d.Entries {
		fmt.Fprintf(b, "%s  %s by %s%s\n", p.Entry.CreatedAtUTC, strings.ReplaceAll(string(p.Entry.EntryKind), "_", " "),
			text.ID(p.Entry.AuthorAgentUID), because(p.Entry.Summary))
		section(b, "", p.Entry.Details)
	}
	for i := range d.Events {
		b.WriteString(eventLine(&d.Events[i]) + "\n")
	}
}

// because is the words that were given, behind a colon, or nothing.
func because(words string) string {
	if words = text.Line(words); strings.TrimSpace(words) == "" {
		return ""
	}
	return ": " + words
}

// eventLine is one event on one line.
func eventLine(e *acop.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %6d %-19s %s %s", e.AtUTC, e.Revision, text.ID(string(e.Family)), text.ID(e.Actor), text.ID(e.Verb))
	if e.RefusedVerb != "" {
		fmt.Fprintf(&b, " %s (%s)", text.ID(e.RefusedVerb), text.ID(e.Code))
	}
	if e.WorkItemID != "" {
		b.WriteString(" " + text.ID(e.WorkItemID))
	}
	if e.OnBehalfOf != "" && e.OnBehalfOf != e.Actor {
		b.WriteString(" for " + text.ID(e.OnBehalfOf))
	}
	if e.From != e.To && e.To != "" {
		fmt.Fprintf(&b, " %s -> %s", firstOf(string(e.From), "new"), e.To)
	}
	switch {
	case e.Entry != nil && e.Entry.Summary != "":
		fmt.Fprintf(&b, " %s: %s", e.Entry.EntryKind, text.Line(e.Entry.Summary))
	case e.Heartbeat != nil && e.Heartbeat.ProgressSummary != "":
		b.WriteString(": " + text.Line(e.Heartbeat.ProgressSummary))
	case e.Reason != "":
		b.WriteString(": " + text.Line(e.Reason))
	}
	return b.String()
}
