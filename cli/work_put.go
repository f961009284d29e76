package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
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
	for n, d := range docs {
		id := d.WorkItem.WorkItemID
		where := "put " + id
		if n > 0 {
			where += fmt.Sprintf(" (the %d before it were put)", n)
		}
		if err := w.complete(ctx, d); err != nil {
			return workError(where, err)
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
		return fmt.Errorf("work_kind is missing")
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
	parts, err := splitDocuments(name, raw)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("%s holds no document", name)
	}
	seen := make(map[string]bool)
	docs := make([]*acop.Document, 0, len(parts))
	for n, p := range parts {
		d, err := parseDocument(p)
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", name, n+1, err)
		}
		if seen[d.WorkItem.WorkItemID] {
			return nil, fmt.Errorf("%s: document %d: work item %q is there twice", name, n+1, d.WorkItem.WorkItemID)
		}
		seen[d.WorkItem.WorkItemID] = true
		docs = append(docs, d)
	}
	return docs, nil
}

// splitDocuments gives each document as JSON.
func splitDocuments(name string, raw []byte) ([]json.RawMessage, error) {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		return splitJSON(name, raw)
	}
	return splitYAML(name, raw)
}

func splitJSON(name string, raw []byte) ([]json.RawMessage, error) {
	var parts []json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(raw))
	for {
		var p json.RawMessage
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return parts, nil
		case err != nil:
			at := dec.InputOffset()
			var se *json.SyntaxError
			if errors.As(err, &se) {
				at = se.Offset
			}
			return nil, fmt.Errorf("%s:%d: %w", name, 1+bytes.Count(raw[:min(at, int64(len(raw)))], []byte("\n")), err)
		}
		if len(p) > 0 && p[0] == '[' {
			var list []json.RawMessage
			if err := json.Unmarshal(p, &list); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			parts = append(parts, list...)
			continue
		}
		parts = append(parts, p)
	}
}

func splitYAML(name string, raw []byte) ([]json.RawMessage, error) {
	var parts []json.RawMessage
	dec := yaml.NewDecoder(bytes.NewReader(raw), yaml.Strict())
	for {
		var v any
		switch err := dec.Decode(&v); {
		case errors.Is(err, io.EOF):
			return parts, nil
		case err != nil:
			return nil, configError(name, err)
		}
		if v == nil {
			continue
		}
		list, many := v.([]any)
		if !many {
			list = []any{v}
		}
		for _, one := range list {
			p, err := json.Marshal(one)
			if err != nil {
				return nil, fmt.Errorf("%s: document %d cannot be written as JSON: %w", name, len(parts)+1, err)
			}
			parts = append(parts, p)
		}
	}
}

// parseDocument reads one document strictly. A missing score is marked by -1:
// zero is a score.
func parseDocument(raw json.RawMessage) (*acop.Document, error) {
	var head map[string]json.RawMessage
	if err := json.Unmarshal(raw, &head); err != nil || head == nil {
		return nil, fmt.Errorf("a document must be a mapping with a work_item")
	}
	d := &acop.Document{WorkItem: acop.WorkItem{ActionabilityScore: -1}}
	var into any = d
	if _, full := head["work_item"]; !full {
		if _, short := head["work_item_id"]; !short {
			return nil, fmt.Errorf("work_item is missing")
		}
		into = &d.WorkItem
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		msg := strings.TrimPrefix(err.Error(), "json: ")
		return nil, errors.New(strings.Replace(msg, "unknown field", "unknown member", 1))
	}
	if d.WorkItem.WorkItemID == "" {
		return nil, fmt.Errorf("work_item_id is missing")
	}
	return d, nil
}
