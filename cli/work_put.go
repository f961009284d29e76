package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"signalbox/model/acop"
	"signalbox/model/text"
)

// maxDocuments bounds a file of work items in bytes.
const maxDocuments = 16 << 20

func newWorkPut(g *globals) *cobra.Command {
	var ifRevision uint64
	cmd := &cobra.Command{
		Use:   "put FILE|-",
		Short: "Create or change work items from JSON or YAML documents",
		Long: `Create or change work items. FILE holds one or more documents of the ACOP schema,
as JSON (one after the other, or a list) or as YAML (separated by ---). A document
may also be the work_item alone. What is left out keeps its value at the owner;
for a new item protocol_version, producer, created_at_utc, status (ready),
priority (medium) and actionability_score (0.5) are filled in. All documents are
checked before the first is sent.`,
		Example: "  signalbox work put item.yaml\n  generate-items | signalbox work put - --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.workPut(cmd.Context(), args[0], ifRevision)
		},
	}
	cmd.Flags().Uint64Var(&ifRevision, "if-revision", 0, "only change the item if it is still at this revision")
	return cmd
}

func (g *globals) workPut(ctx context.Context, path string, ifRevision uint64) error {
	docs, err := g.readDocuments(path)
	if err != nil {
		return failf(exitUsage, "%w", err)
	}
	if ifRevision != 0 && len(docs) != 1 {
		return failf(exitUsage, "--if-revision is for one document, %s holds %d", path, len(docs))
	}
	w, done, err := g.openWork(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	for _, d := range docs { // all of them first: nothing is sent when one is wrong
		if err := w.complete(ctx, d); err != nil {
			return workError("put "+d.WorkItem.WorkItemID, err)
		}
	}
	for n, d := range docs {
		id := d.WorkItem.WorkItemID
		where := "put " + id
		if n > 0 {
			where += fmt.Sprintf(" (%s before it %s put)", plural(n, "item", "items"), wasWere(n))
		}
		r, err := w.c.Do(ctx, acop.Act{Verb: acop.VerbPut, WorkItemID: id, Document: d, IfRevision: ifRevision})
		if err != nil {
			return workError(where, err)
		}
		if err := w.told(r, "put %s: %s", text.ID(id), r.Status); err != nil {
			return err
		}
	}
	return nil
}

func wasWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
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

// complete fills in what a document may leave out. Of an item that exists the
// immutable members are taken over, so that a second put is no contradiction.
func (w *work) complete(ctx context.Context, d *acop.Document) error {
	wi := &d.WorkItem
	if d.ProtocolVersion == "" {
		d.ProtocolVersion = acop.ProtocolVersion
	}
	if wi.ProtocolVersion == "" {
		wi.ProtocolVersion = acop.ProtocolVersion
	}
	old := acop.WorkItem{Priority: acop.PriorityMedium, ActionabilityScore: -1, Status: acop.StatusReady}
	if wi.Producer == "" || wi.CreatedAtUTC.IsZero() || wi.Status == "" || wi.Priority == "" || wi.WorkKind == "" || wi.ActionabilityScore < 0 {
		have, err := w.c.Detail(ctx, wi.WorkItemID)
		var e *acop.Error
		switch {
		case err == nil:
			old = have.Item.WorkItem
			old.Status = have.Item.SubmittedStatus // the status a re-put is compared with (D-40)
		case !errors.As(err, &e) || e.Code != acop.CodeItemNotFound:
			return err
		}
	}
	if wi.WorkKind == "" && old.WorkKind == "" {
		return fmt.Errorf("work_kind is missing, and the owner does not know the item yet")
	}
	wi.WorkKind = acop.WorkKind(firstOf(string(wi.WorkKind), string(old.WorkKind)))
	wi.Status = acop.Status(firstOf(string(wi.Status), string(old.Status)))
	wi.Priority = acop.Priority(firstOf(string(wi.Priority), string(old.Priority)))
	wi.Producer = firstOf(wi.Producer, old.Producer)
	if wi.CreatedAtUTC.IsZero() {
		wi.CreatedAtUTC = old.CreatedAtUTC
	}
	if wi.CreatedAtUTC.IsZero() {
		wi.CreatedAtUTC = acop.NewTime(time.Now())
	}
	if wi.ActionabilityScore < 0 {
		wi.ActionabilityScore = old.ActionabilityScore
	}
	if wi.ActionabilityScore < 0 {
		wi.ActionabilityScore = 0.5
	}
	if wi.Producer == "" {
		id, err := w.c.Identity(ctx)
		if err != nil {
			return err
		}
		wi.Producer = id
	}
	return nil
}

// readDocuments reads and checks all documents of a file, or of stdin for "-".
func (g *globals) readDocuments(path string) ([]*acop.Document, error) {
	var in io.Reader = g.sys.Stdin
	name := "standard input"
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, name = f, path
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxDocuments+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(raw) > maxDocuments {
		return nil, fmt.Errorf("%s is larger than %d MiB; split it", name, maxDocuments>>20)
	}
	parts, err := readSources(name, raw)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("%s holds no document", name)
	}
	seen := make(map[string]bool)
	docs := make([]*acop.Document, 0, len(parts))
	for _, p := range parts {
		d, err := parseDocument(p)
		if err != nil {
			return nil, err
		}
		id := d.WorkItem.WorkItemID
		if seen[id] {
			return nil, p.errorf(nil, "work item %s is there twice", text.ID(id))
		}
		seen[id] = true
		docs = append(docs, d)
	}
	return docs, nil
}

// placeholders stand in the check for what a document may leave out and is filled
// in later.
var placeholders = map[string]any{
	"protocol_version": acop.ProtocolVersion, "work_kind": string(acop.KindImplement),
	"created_at_utc": "2026-01-01T00:00:00.000Z", "producer": "-", "status": string(acop.StatusReady),
	"priority": string(acop.PriorityMedium), "actionability_score": json.Number("0"),
}

// parseDocument checks one document against the schema and reads it. A missing
// score is marked by -1: zero is a score.
func parseDocument(s *source) (*acop.Document, error) {
	head, ok := s.value.(map[string]any)
	if !ok {
		return nil, s.errorf(nil, "a document must be a mapping with a work_item, not %s", shown(s.value))
	}
	doc, flat, err := wholeDocument(s, head)
	if err != nil {
		return nil, err
	}
	item, isMapping := doc["work_item"].(map[string]any)
	at := []string{"work_item"}
	if flat {
		at = nil
	}
	if isMapping {
		if id, there := item["work_item_id"]; !there || id == "" {
			needs := "work_item_id"
			if item["work_kind"] == nil {
				needs += " and work_kind"
			}
			return nil, s.errorf(at, "a work item needs %s", needs)
		}
	}
	if err := checkDocument(s, filledIn(doc, item), flat); err != nil {
		return nil, err
	}
	for _, name := range []string{"claim_intent", "claim", "lease_heartbeat"} {
		if _, there := doc[name]; there {
			return nil, s.errorf([]string{name}, "%s cannot be put: the owner makes it when a worker claims", name)
		}
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, s.errorf(nil, "%w", err)
	}
	d := &acop.Document{WorkItem: acop.WorkItem{ActionabilityScore: -1}}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, s.errorf(nil, "the document cannot be read: %s", text.Line(err.Error()))
	}
	return d, nil
}

// wholeDocument gives a work item that stands alone its document. That is what a
// mapping is that has no work_item and a member of one.
func wholeDocument(s *source, head map[string]any) (doc map[string]any, flat bool, err error) {
	if _, whole := head["work_item"]; whole {
		return head, false, nil
	}
	for name := range head {
		if name != "protocol_version" && slices.Contains(workItemMembers(), name) {
			flat = true
		}
	}
	if !flat {
		return nil, false, s.errorf(nil, "work_item is missing; a work item needs work_item_id and work_kind")
	}
	return map[string]any{"work_item": head}, true, nil
}

// filledIn is a copy of doc with placeholders for what is left out.
func filledIn(doc, item map[string]any) map[string]any {
	whole := maps.Clone(doc)
	if _, there := whole["protocol_version"]; !there {
		whole["protocol_version"] = acop.ProtocolVersion
	}
	if item != nil {
		item = maps.Clone(item)
		for name, v := range placeholders {
			if _, there := item[name]; !there {
				item[name] = v
			}
		}
		whole["work_item"] = item
	}
	return whole
}
