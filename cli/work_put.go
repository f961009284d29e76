package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"signalbox/model/acop"
	"signalbox/model/text"
)

// maxDocuments bounds a file of work items in bytes.
const maxDocuments = 16 << 20

// putFlags are the flags of `work put`.
type putFlags struct {
	ifRevision uint64
	format     string
	dryRun     bool
	writeIDs   bool
	list       listSettings
}

// putFormats are what --format takes.
var putFormats = []string{"auto", "json", "yaml", "markdown"}

func newWorkPut(g *globals) *cobra.Command {
	f := &putFlags{}
	cmd := &cobra.Command{
		Use:   "put FILE|-",
		Short: "Create or change work items from JSON, YAML or a Markdown task list",
		Long: `Create or change work items. FILE holds one or more documents of the ACOP schema,
as JSON (one after the other, or a list) or as YAML (separated by ---). A document
may also be the work_item alone. What is left out keeps its value at the owner, and
"" or [] empties it; for a new item protocol_version, producer, created_at_utc,
status (ready), priority (medium) and actionability_score (0.5) are filled in.

FILE may also be a Markdown task list (.md, or --format markdown):

  ---
  repo: shop                  # also branch, agent, priority, kind, prefix
  ---
  ## Payments
  - [ ] Charge cards once     {#work:pay priority=high kind=repair}
    The lines below a task are its summary.
    - [ ] Find the double call
  - [x] Ask the bank
  - [ ] Tell the users        {after=work:pay}

Each "- [ ]" is an item that is ready. A task waits for the tasks below it, and
for those it names with after=: it is blocked until they are accepted. "- [x]" is
left out, and waited for only where the owner has it; ticking a task accepts nothing
there. Comments and blocks of code hold no tasks. The id is the one in braces or in
<!-- id: ID -->, else it is made of the headings and texts that lead to the task, so
that putting an edited list again changes the same items. A task whose own text is
edited keeps its item only if it has an id: --write-ids writes the ids that were made
into the file.

All is checked before the first item is sent: a file with a mistake, or with a change
of a closed item, changes nothing. --dry-run says what would change. Each item is told
as created, changed or unchanged, with --json as "outcome", in the order of the file; an
item is sent after those of the file that it waits for. Whatever breaks in the middle,
putting the file again goes on where it stopped.`,
		Example: "  signalbox work put item.yaml\n" +
			"  signalbox work put TODO.md --repo shop --dry-run\n" +
			"  generate-items | signalbox work put - --json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.workPut(cmd.Context(), args[0], f)
		},
	}
	cmd.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveDefault) // files
	fl := cmd.Flags()
	fl.Uint64Var(&f.ifRevision, "if-revision", 0, "only change the item if it is still at this revision")
	fl.StringVar(&f.format, "format", "auto", "auto, json, yaml or markdown")
	fl.BoolVar(&f.dryRun, "dry-run", false, "say what would change, and change nothing")
	fl.BoolVar(&f.writeIDs, "write-ids", false, "for a task list: write the ids that were made into the file")
	fl.StringVar(&f.list.Repo, "repo", "", "for a task list: target_repo_id of its items")
	fl.StringVar(&f.list.Branch, "branch", "", "for a task list: target_branch of its items")
	fl.StringVar(&f.list.Agent, "agent", "", "for a task list: target_agent_uid of its items")
	fl.StringVar(&f.list.Kind, "kind", "", "for a task list: work_kind of its new items (default implement)")
	fl.StringVar(&f.list.Priority, "priority", "", "for a task list: priority of its items (default medium)")
	fl.StringVar(&f.list.Prefix, "prefix", "", "for a task list: beginning of the ids that are made (default "+listPrefix+")")
	return cmd
}

func (g *globals) workPut(ctx context.Context, path string, f *putFlags) error {
	if !slices.Contains(putFormats, f.format) {
		return failf(exitUsage, "--format must be %s, not %q", strings.Join(putFormats, ", "), text.Clip(text.Line(f.format), 40))
	}
	in, err := g.readPut(path, f)
	if err != nil {
		return failf(exitUsage, "%w", err)
	}
	switch {
	case f.ifRevision != 0 && len(in.items) != 1:
		return failf(exitUsage, "--if-revision is for one document, %s holds %d", path, len(in.items))
	case in.list == nil && (f.writeIDs || f.list != listSettings{}):
		return failf(exitUsage, "%s is no Markdown task list, for which --repo, --branch, --agent, --kind, --priority, --prefix and --write-ids are", path)
	case f.writeIDs && path == "-":
		return failf(exitUsage, "--write-ids needs a file, not standard input")
	}
	w, done, err := g.openWork(ctx, !f.dryRun)
	if err != nil {
		return err
	}
	defer done()
	if err := w.plan(ctx, in); err != nil {
		return err
	}
	if f.dryRun {
		return w.tellPlan(in)
	}
	if err := w.putAll(ctx, in, f.ifRevision); err != nil || !f.writeIDs {
		return err
	}
	if err := in.list.writeIDs(path); err != nil {
		return failf(exitFailed, "all items are put, but the ids could not be written: %w", err)
	}
	return nil
}

// told prints the receipt as JSON, or the sentence.
func (w *work) told(r *acop.Receipt, format string, args ...any) error {
	if w.g.json {
		return w.printJSON(r)
	}
	s := fmt.Sprintf(format, args...)
	if r.Replayed {
		s += " (it had been done before)"
	}
	return w.printf("%s, revision %d\n", s, r.Revision)
}

// putItem is one item that is to be put.
type putItem struct {
	doc *acop.Document
	at  string // file and line
	// kind stands for work_kind where neither the document nor the owner has one.
	kind acop.WorkKind
	// task is what it was read from; nil for a document.
	task *task
	// ticked are the ids of tasks of the same list that are done.
	ticked map[string]bool
	have   *acop.Item // as it stands at the owner; nil when it is new
	// empty are the members of its work_item that it gives as empty text.
	empty []string
	// posts tells that it has blackboard entries that the owner does not know.
	posts bool
}

// putInput is what a file holds.
type putInput struct {
	items []*putItem
	list  *list // nil for documents
}

// readPut reads and checks a file as a whole, or stdin for "-".
func (g *globals) readPut(path string, f *putFlags) (*putInput, error) {
	var in io.Reader = g.sys.Stdin
	name := "standard input"
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in, name = file, path
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxDocuments+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, pathless(err))
	}
	if len(raw) > maxDocuments {
		return nil, fmt.Errorf("%s is larger than %d MiB; split it", name, maxDocuments>>20)
	}
	format := f.format
	if format == "auto" {
		switch strings.ToLower(filepath.Ext(path)) {
		case ".md", ".markdown":
			format = "markdown"
		case ".json", ".yaml", ".yml":
		default:
			if looksLikeList.Match(raw) {
				format = "markdown"
			}
		}
	}
	if format == "markdown" {
		l, err := readList(name, raw, f.list)
		if err != nil {
			return nil, err
		}
		return &putInput{items: l.items(), list: l}, nil
	}
	items, err := readDocuments(name, raw, format)
	return &putInput{items: items}, err
}

// readDocuments reads all documents of a file.
func readDocuments(name string, raw []byte, format string) ([]*putItem, error) {
	parts, err := readSources(name, raw, format)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("%s holds no document", name)
	}
	seen := make(map[string]bool)
	items := make([]*putItem, 0, len(parts))
	for _, p := range parts {
		d, empty, err := parseDocument(p)
		if err != nil {
			return nil, err
		}
		id := d.WorkItem.WorkItemID
		if seen[id] {
			return nil, p.errorf(nil, "work item %s is there twice", text.ID(id))
		}
		seen[id] = true
		items = append(items, &putItem{doc: d, empty: empty, at: fmt.Sprintf("%s:%d", name, p.line(nil))})
	}
	return items, nil
}

// tellPlan says what would be put.
func (w *work) tellPlan(in *putInput) error {
	for _, p := range in.items {
		change := p.told()
		if w.g.json {
			err := w.printJSON(map[string]any{"event": "would_put", "work_item_id": p.doc.WorkItem.WorkItemID,
				"new": p.have == nil, "changes": change, "document": p.doc})
			if err != nil {
				return err
			}
			continue
		}
		id, s := text.ID(p.doc.WorkItem.WorkItemID), ""
		switch {
		case p.have == nil:
			s = fmt.Sprintf("would make %s, %s", id, p.doc.WorkItem.Status)
		case len(change) == 0:
			s = id + " is so already"
		default:
			s = fmt.Sprintf("would change %s: %s", id, strings.Join(change, ", "))
		}
		if err := w.printf("%s\n", s); err != nil {
			return err
		}
	}
	if in.list == nil || w.g.json {
		return nil
	}
	if n := in.list.doneTasks(); n > 0 {
		return w.printf("%s left out: done in the list\n", plural(n, "task", "tasks"))
	}
	return nil
}

// errNotNew is why a document lacks what only a new item needs.
var errNotNew = errors.New("work_kind is missing, and the owner does not know the item yet")

// same reports whether two values are written alike.
func same(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}
