package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"signalbox/model/acop"
	"signalbox/model/text"
)

// plan completes every item by what the owner has, and refuses what the owner would
// refuse: nothing is sent when one of them is wrong.
func (w *work) plan(ctx context.Context, in *putInput) error {
	items := in.items
	if err := w.readPresent(ctx, items); err != nil {
		return err
	}
	known := make(map[string]*acop.Item, len(items))
	for _, p := range items {
		known[p.doc.WorkItem.WorkItemID] = p.have
	}
	var refused []refusedItem
	for _, p := range items {
		id := p.doc.WorkItem.WorkItemID
		if p.task != nil {
			if err := w.planTask(ctx, p, known); err != nil {
				return workError("put "+id, err)
			}
		}
		if err := w.complete(ctx, p); err != nil {
			return workError("put "+id, err)
		}
		if err := errors.Join(p.tooLarge(len(items) == 1), p.refused()); err != nil {
			refused = append(refused, refusedItem{Outcome: outcomeRefused, WorkItemID: id, At: p.at, Reason: err.Error()})
		}
	}
	return w.tellRefused(refused)
}

// readPresent reads every item as it stands at the owner; of many, all that is open
// there with one request.
func (w *work) readPresent(ctx context.Context, items []*putItem) error {
	open, posted, allOpen := map[string]*acop.Item{}, map[string]bool{}, false
	if len(items) >= manyItems {
		snap, err := w.c.Snapshot(ctx)
		if err != nil {
			return workError("read what there is", err)
		}
		for _, it := range snap.Items {
			open[it.ID()] = it
		}
		for _, e := range snap.Entries {
			posted[e.Entry.EntryID] = true
		}
		allOpen = true
		for _, n := range snap.Closed {
			allOpen = allOpen && n == 0
		}
	}
	return eachAtOnce(ctx, putAtOnce, len(items), func(i int) error {
		p := items[i]
		id := p.doc.WorkItem.WorkItemID
		known := posted
		if p.have = open[id]; p.have == nil && !allOpen {
			d, err := w.detail(ctx, id)
			if err != nil || d == nil {
				return workError("put "+id, err)
			}
			p.have, known = d.Item, map[string]bool{}
			for _, e := range d.Entries {
				known[e.Entry.EntryID] = true
			}
		}
		p.posts = slices.ContainsFunc(p.doc.BlackboardEntries, func(e acop.BlackboardEntry) bool { return !known[e.EntryID] })
		return nil
	})
}

// detail reads an item as it stands; nil when the owner does not know it.
func (w *work) detail(ctx context.Context, id string) (*acop.Detail, error) {
	d, err := w.c.Detail(ctx, id)
	var e *acop.Error
	if errors.As(err, &e) && e.Code == acop.CodeItemNotFound {
		return nil, nil
	}
	return d, err
}

// complete fills in what a document may leave out. Of an item that exists the
// immutable members are taken over, so that a second put is no contradiction.
func (w *work) complete(ctx context.Context, p *putItem) error {
	d, wi := p.doc, &p.doc.WorkItem
	d.ProtocolVersion = firstOf(d.ProtocolVersion, acop.ProtocolVersion)
	wi.ProtocolVersion = firstOf(wi.ProtocolVersion, acop.ProtocolVersion)
	old := acop.WorkItem{Priority: acop.PriorityMedium, ActionabilityScore: 0.5, Status: acop.StatusReady, WorkKind: p.kind}
	if p.have != nil {
		old = p.have.WorkItem
		old.Status = p.have.SubmittedStatus // the status a re-put is compared with (D-40)
	}
	if wi.WorkKind = acop.WorkKind(firstOf(string(wi.WorkKind), string(old.WorkKind))); wi.WorkKind == "" {
		return errNotNew
	}
	wi.Status = acop.Status(firstOf(string(wi.Status), string(old.Status)))
	wi.Priority = acop.Priority(firstOf(string(wi.Priority), string(old.Priority)))
	if wi.CreatedAtUTC.IsZero() {
		wi.CreatedAtUTC = old.CreatedAtUTC
	}
	if wi.CreatedAtUTC.IsZero() {
		wi.CreatedAtUTC = acop.NewTime(time.Now())
	}
	if wi.ActionabilityScore < 0 {
		wi.ActionabilityScore = old.ActionabilityScore
	}
	if wi.Producer = firstOf(wi.Producer, old.Producer); wi.Producer != "" {
		return nil
	}
	id, err := w.c.Identity(ctx)
	wi.Producer = id
	return err
}

// refused says why the owner would not take the document, as far as the item alone
// tells it.
func (p *putItem) refused() error {
	wi := &p.doc.WorkItem
	id := text.ID(wi.WorkItemID)
	if p.have == nil {
		if !acop.CanStart(wi.Status) {
			return fmt.Errorf("%s is new and cannot start as %s; it starts as ready, blocked or requires_attention", id, wi.Status)
		}
		return nil
	}
	old := &p.have.WorkItem
	for _, m := range []struct {
		name      string
		was, asks string
	}{
		{"work_kind", string(old.WorkKind), string(wi.WorkKind)},
		{"producer", old.Producer, wi.Producer},
		{"created_at_utc", old.CreatedAtUTC.String(), wi.CreatedAtUTC.String()},
	} {
		if m.was != m.asks {
			return fmt.Errorf("%s of %s never changes: it is %s, not %s; leave it out, or use another id", m.name, id, text.ID(m.was), text.ID(m.asks))
		}
	}
	if changed := p.changes(); p.have.Status().Terminal() && len(changed) > 0 {
		return fmt.Errorf("%s is %s and takes no change of its %s; take it out of the file", id, p.have.Status(), strings.Join(changed, ", "))
	}
	return nil
}

// maxItemBody is the most that an owner takes of a document, in bytes, where its
// configuration does not say otherwise.
const maxItemBody = 1 << 20

// tooLarge says why the owner would not take the document for its size. One that is
// put alone is left to the owner to judge, for nothing was put before it.
func (p *putItem) tooLarge(alone bool) error {
	if n := len(p.doc.WorkItem.WorkItemID); n > acop.MaxIDBytes {
		return fmt.Errorf("the id of the work item has %d bytes, and at most %d can be put; give it a shorter one", n, acop.MaxIDBytes)
	}
	raw, err := json.Marshal(p.doc)
	if err == nil && !alone && len(raw) > maxItemBody {
		err = fmt.Errorf("the work item has %d bytes, and at most %d can be put; shorten it, or put it alone at an owner that takes more", len(raw), maxItemBody)
	}
	return err
}

// changes names the members that the document would change at the owner. Members
// that it leaves out stay.
func (p *putItem) changes() []string {
	out := []string{}
	if p.have == nil {
		return out
	}
	was, asks := p.have.WorkItem, p.doc.WorkItem
	member := func(name string, given bool, a, b any) {
		if given && !same(a, b) {
			out = append(out, name)
		}
	}
	member("status", true, p.have.SubmittedStatus, asks.Status)
	member("priority", true, was.Priority, asks.Priority)
	member("actionability_score", true, was.ActionabilityScore, asks.ActionabilityScore)
	for _, m := range []struct{ name, was, asks string }{
		{"title", was.Title, asks.Title}, {"summary", was.Summary, asks.Summary},
		{"target_repo_id", was.TargetRepoID, asks.TargetRepoID}, {"target_workspace_root", was.TargetWorkspaceRoot, asks.TargetWorkspaceRoot},
		{"target_branch", was.TargetBranch, asks.TargetBranch}, {"target_worktree", was.TargetWorktree, asks.TargetWorktree},
		{"source_handoff_id", was.SourceHandoffID, asks.SourceHandoffID}, {"correlation_id", was.CorrelationID, asks.CorrelationID},
		{"target_agent_uid", was.TargetAgentUID, asks.TargetAgentUID},
	} {
		member(m.name, m.asks != "" || slices.Contains(p.empty, m.name), m.was, m.asks)
	}
	lists := func(name string, given bool, was, asks int, a, b any) {
		member(name, given && was+asks > 0, a, b) // none and an empty list are the same
	}
	h, d := p.have, p.doc
	lists("participant_agent_uids", asks.ParticipantAgentUIDs != nil, len(was.ParticipantAgentUIDs), len(asks.ParticipantAgentUIDs), was.ParticipantAgentUIDs, asks.ParticipantAgentUIDs)
	lists("owned_paths", asks.OwnedPaths != nil, len(was.OwnedPaths), len(asks.OwnedPaths), was.OwnedPaths, asks.OwnedPaths)
	lists("owned_symbols", asks.OwnedSymbols != nil, len(was.OwnedSymbols), len(asks.OwnedSymbols), was.OwnedSymbols, asks.OwnedSymbols)
	lists("blockers", d.Blockers != nil, len(h.Blockers), len(d.Blockers), h.Blockers, d.Blockers)
	lists("operations", d.Operations != nil, len(h.Operations), len(d.Operations), h.Operations, d.Operations)
	lists("artifacts", d.Artifacts != nil, len(h.Artifacts), len(d.Artifacts), h.Artifacts, d.Artifacts)
	lists("validation_requirements", d.ValidationRequirements != nil, len(h.ValidationRequirements), len(d.ValidationRequirements), h.ValidationRequirements, d.ValidationRequirements)
	return out
}

// items are the open tasks of l as items, those that are waited for first.
func (l *list) items() []*putItem {
	var out []*putItem
	ticked := l.ticked()
	placed := make(map[*task]bool)
	byID := make(map[string]*task)
	for _, t := range l.tasks {
		if !t.done {
			byID[t.id] = t
		}
	}
	var place func(t *task)
	place = func(t *task) {
		if placed[t] {
			return
		}
		placed[t] = true
		for _, id := range t.needs() {
			if first := byID[id]; first != nil {
				place(first)
			}
		}
		out = append(out, &putItem{doc: t.document(l.set), at: fmt.Sprintf("%s:%d", l.name, t.line), kind: acop.KindImplement, task: t, ticked: ticked})
	}
	for _, t := range l.tasks {
		if !t.done {
			place(t)
		}
	}
	return out
}

func (t *task) document(of listSettings) *acop.Document {
	set := t.set.over(of)
	return &acop.Document{WorkItem: acop.WorkItem{
		WorkItemID: t.id, Title: t.text, Summary: strings.Join(t.notes, "\n"), Status: t.status,
		WorkKind: acop.WorkKind(set.Kind), Priority: acop.Priority(set.Priority), ActionabilityScore: -1,
		TargetRepoID: set.Repo, TargetBranch: set.Branch, TargetAgentUID: set.Agent,
	}}
}

// waitsInList is the summary of the blockers that a list makes: by it they are known
// again when the list has changed.
const waitsInList = "another task of its list is open"

// planTask settles what a task waits for. Blockers that somebody else raised stay,
// and an item that is under way keeps its status.
func (w *work) planTask(ctx context.Context, p *putItem, known map[string]*acop.Item) error {
	var blockers []acop.Blocker
	covered := make(map[string]bool)
	fresh, gone := 0, 0
	needs := p.task.needs()
	if p.have != nil {
		for _, b := range p.have.Blockers {
			if b.Summary == waitsInList && !slices.Contains(needs, b.DependsOn()) {
				gone++
				continue
			}
			covered[b.DependsOn()] = true
			blockers = append(blockers, b)
		}
	}
	for _, id := range needs {
		if _, looked := known[id]; !looked {
			d, err := w.detail(ctx, id)
			if err != nil {
				return err
			}
			var it *acop.Item
			if d != nil {
				it = d.Item
			}
			if it == nil && !p.ticked[id] {
				return failf(exitUsage, "%s: %s, for which it waits, is neither in the list nor at the owner", p.at, text.ID(id))
			}
			known[id] = it
		}
		if covered[id] || closed(known[id]) || known[id] == nil && p.ticked[id] {
			continue
		}
		fresh++
		blockers = append(blockers, acop.Blocker{BlockerCode: acop.BlockerDependency, Severity: acop.SeverityMedium, Summary: waitsInList, DependsOnWorkItemID: id})
	}
	if fresh+gone == 0 {
		return nil
	}
	p.doc.Blockers = append([]acop.Blocker{}, blockers...)
	if p.task.status != "" {
		return nil
	}
	switch {
	case p.have == nil || p.have.Status() == acop.StatusReady && fresh > 0:
		p.doc.WorkItem.Status = acop.StatusBlocked
	case p.have.Status() == acop.StatusBlocked && len(blockers) == 0:
		p.doc.WorkItem.Status = acop.StatusReady
	}
	return nil
}

// closed reports whether there is nothing left to wait for in an item.
func closed(it *acop.Item) bool {
	return it != nil && (it.Status().Terminal() || it.Status() == acop.StatusAccepted)
}

// doneTasks is how many tasks of the list are done.
func (l *list) doneTasks() int {
	n := 0
	for _, t := range l.tasks {
		if t.done {
			n++
		}
	}
	return n
}

// writeIDs writes the ids that were made behind their tasks. The file is replaced as
// a whole and keeps its mode; what is in it else stays as it is.
func (l *list) writeIDs(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := strings.Split(string(raw), "\n")
	if len(lines) != len(l.lines) {
		return fmt.Errorf("%s has changed meanwhile", path)
	}
	for _, t := range l.tasks {
		if t.done || t.given {
			continue
		}
		s, end := strings.CutSuffix(lines[t.line-1], "\r")
		if strings.TrimPrefix(s, "\ufeff") != l.lines[t.line-1] {
			return fmt.Errorf("%s:%d has changed meanwhile", path, t.line)
		}
		s = strings.TrimRight(s, " \t") + " <!-- id: " + attributeEscape(t.id) + " -->"
		if end {
			s += "\r"
		}
		lines[t.line-1] = s
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	if err := writePrivate(path, []byte(strings.Join(lines, "\n"))); err != nil {
		return err
	}
	return os.Chmod(path, info.Mode().Perm())
}
