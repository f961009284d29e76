package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/model/text"
)

// exportFlags are the flags of `work export`.
type exportFlags struct {
	listFlags
	format string
	live   bool
}

func newWorkExport(g *globals) *cobra.Command {
	f := &exportFlags{}
	cmd := &cobra.Command{
		Use:   "export [WORK_ITEM_ID…]",
		Short: "Write work items as documents that work put reads",
		Long: `Write all work items, those that are named, or those that the flags select, the
oldest first: as JSON, one document a line, as YAML, or as a Markdown task list.
Putting them again at the same owner changes nothing, however far the work has come:
the status is the one its producer gave, and claims, evidence and the blackboard,
which are the owner's own, are left out. --live gives the status of now instead and
leaves closed items out; that is for taking open work to another owner.

Markdown holds titles, summaries, kinds, priorities, repos, branches, agents and
dependencies; closed items are ticked. The rest is only in JSON and YAML.`,
		Example: "  signalbox work export --format yaml > items.yaml\n" +
			"  signalbox work export --status ready --status blocked --format markdown > TODO.md\n" +
			"  signalbox work export --live | signalbox work put - --server https://other.example:7180 --token-file other.token",
		Args: cobra.ArbitraryArgs,

		ValidArgsFunction: g.completeItems(),
		RunE:              func(cmd *cobra.Command, args []string) error { return g.workExport(cmd.Context(), f, args) },
	}
	f.register(cmd.Flags())
	cmd.Flags().StringVar(&f.format, "format", "json", "json, yaml or markdown")
	cmd.Flags().BoolVar(&f.live, "live", false, "the status of now, and open items only")
	return cmd
}

func (g *globals) workExport(ctx context.Context, f *exportFlags, ids []string) error {
	write, known := map[string]func(*acop.Item, *acop.Document) ([]byte, error){
		"json": exportJSON, "yaml": exportYAML, "markdown": exportMarkdown,
	}[f.format]
	switch {
	case !known:
		return failf(exitUsage, "--format must be json, yaml or markdown, not %q", text.Clip(text.Line(f.format), 40))
	case g.json && f.format != "json":
		return failf(exitUsage, "--json and --format %s contradict each other; leave one out", f.format)
	}
	if err := f.settle(); err != nil {
		return err
	}
	if i := slices.IndexFunc(f.q.Status, acop.Status.Terminal); f.live && i >= 0 {
		return failf(exitUsage, "--live leaves items that are %s out; leave out --live or that --status", f.q.Status[i])
	}
	if len(ids) > 0 && !reflect.DeepEqual(f.q, client.Query{}) {
		return failf(exitUsage, "name items, or select them by flags, not both")
	}
	w, done, err := g.openWork(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	items, err := w.exported(ctx, f, ids)
	if err != nil {
		return workError("export work", err)
	}
	for _, it := range items {
		status := it.SubmittedStatus
		if f.live {
			if status = it.Status(); status == acop.StatusAccepted || status.Terminal() {
				continue
			}
			if !acop.CanStart(status) {
				status = acop.StatusReady // somebody is at it here; there nobody will be
			}
		}
		out, err := write(it, exportDocument(it, status))
		if err == nil {
			err = w.printf("%s", out)
		}
		if err != nil {
			return workError("export "+it.ID(), err)
		}
	}
	return nil
}

// exported reads the items that are meant whole, the oldest first. Those that are not
// closed come at one revision; the others are read one by one.
func (w *work) exported(ctx context.Context, f *exportFlags, ids []string) ([]*acop.Item, error) {
	if len(ids) == 0 {
		all, err := w.list(ctx, f.q, 0)
		if err != nil {
			return nil, err
		}
		for _, r := range all.WorkItems {
			ids = append(ids, r.WorkItem.WorkItemID)
		}
	}
	open := make(map[string]*acop.Item)
	if len(ids) > 1 {
		snap, err := w.c.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		for _, it := range snap.Items {
			open[it.ID()] = it
		}
	}
	var items []*acop.Item
	for _, id := range ids {
		it := open[id]
		if it == nil {
			d, err := w.c.Detail(ctx, id)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", text.ID(id), err)
			}
			it = d.Item
		}
		items = append(items, it)
	}
	slices.SortStableFunc(items, func(a, b *acop.Item) int { return acop.Latest(b, a) })
	return slices.CompactFunc(items, func(a, b *acop.Item) bool { return a.ID() == b.ID() }), nil
}

// list reads the pages of q up to limit items; 0 means all.
func (w *work) list(ctx context.Context, q client.Query, limit int) (*client.List, error) {
	var all client.List
	for {
		q.Limit = 1000
		if limit > 0 {
			q.Limit = min(limit-len(all.WorkItems), 1000)
		}
		page, err := w.c.Items(ctx, q)
		if err != nil {
			return nil, err
		}
		page.WorkItems = append(all.WorkItems, page.WorkItems...)
		all = *page
		if all.NextCursor == "" || limit > 0 && len(all.WorkItems) >= limit {
			return &all, nil
		}
		q.Cursor = all.NextCursor
	}
}

// exportDocument is what a producer says of an item.
func exportDocument(it *acop.Item, status acop.Status) *acop.Document {
	d := &acop.Document{
		ProtocolVersion: acop.ProtocolVersion, WorkItem: it.WorkItem, Blockers: it.Blockers, Operations: it.Operations,
		Artifacts: it.Artifacts, ValidationRequirements: it.ValidationRequirements,
	}
	d.WorkItem.Status = status
	return d
}

func exportJSON(_ *acop.Item, d *acop.Document) ([]byte, error) {
	b, err := json.Marshal(d)
	return append(b, '\n'), err
}

func exportYAML(_ *acop.Item, d *acop.Document) ([]byte, error) {
	b, err := yamlDocument(d)
	return append([]byte("---\n"), b...), err
}

// exportMarkdown writes one task with all that a list can hold of an item.
func exportMarkdown(it *acop.Item, d *acop.Document) ([]byte, error) {
	w := &d.WorkItem
	if w.WorkItemID == "" {
		return nil, errors.New("an item without an id cannot stand in a list")
	}
	var b strings.Builder
	mark := " "
	if closed(it) {
		mark = "x"
	}
	b.WriteString("- [" + mark + "] ")
	if w.Title != "" {
		b.WriteString(markdownEscape(w.Title) + " ")
	}
	b.WriteString("{#" + attributeEscape(w.WorkItemID))
	var after []string
	for _, k := range d.Blockers {
		if id := k.DependsOn(); id != "" && !slices.Contains(after, id) {
			after = append(after, id)
		}
	}
	status := ""
	if w.Status == acop.StatusRequiresAttention || w.Status == acop.StatusBlocked && it.Status() == acop.StatusBlocked && len(after) == 0 {
		status = string(w.Status)
	}
	for _, p := range [][2]string{
		{"kind", string(w.WorkKind)}, {"priority", string(w.Priority)}, {"repo", w.TargetRepoID},
		{"branch", w.TargetBranch}, {"agent", w.TargetAgentUID}, {"status", status},
	} {
		if p[1] != "" {
			b.WriteString(" " + p[0] + "=" + attributeEscape(p[1]))
		}
	}
	for _, id := range after {
		b.WriteString(" after=" + attributeEscape(id))
	}
	b.WriteString("}\n")
	for _, l := range markdownLines(w.Summary) {
		if l != "" {
			l = "  " + l
		}
		b.WriteString(l + "\n")
	}
	return []byte(b.String()), nil
}

// markdownLines are the lines below a task that are read as s again. Line ends at its
// edges are written as references: empty lines there would be lost.
func markdownLines(s string) []string {
	if s == "" {
		return nil
	}
	core := strings.TrimLeft(s, "\n")
	before := strings.Repeat("&#xa;", len(s)-len(core))
	trimmed := strings.TrimRight(core, "\n")
	behind := strings.Repeat("&#xa;", len(core)-len(trimmed))
	lines := strings.Split(trimmed, "\n")
	for i, l := range lines {
		lines[i] = markdownEscape(l)
	}
	lines[0] = before + lines[0]
	lines[len(lines)-1] += behind
	return lines
}
