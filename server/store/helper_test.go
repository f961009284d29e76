package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"signalbox/model/acop"
)

var start = time.Date(2026, 5, 16, 19, 0, 0, 0, time.UTC)

// opened are the stores of open by folder, for tests that close one early.
var (
	openMu sync.Mutex
	opened = map[string]*Store{}
)

// open opens a store that is closed with the test.
func open(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	openMu.Lock()
	opened[o.Dir] = s
	openMu.Unlock()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func newItem(id string, status acop.Status) *acop.Item {
	return &acop.Item{
		WorkItem: acop.WorkItem{
			WorkItemID: id, ProtocolVersion: acop.ProtocolVersion, WorkKind: acop.KindImplement,
			CreatedAtUTC: acop.NewTime(start), Producer: "planner", Status: status, Priority: acop.PriorityMedium,
			Title: "do " + id,
		},
		Blockers: []acop.Blocker{}, Operations: []acop.Operation{}, Artifacts: []acop.Artifact{},
		ValidationRequirements: []acop.ValidationRequirement{},
		CreatedBy:              "planner", StatusSinceUTC: acop.NewTime(start), UpdatedAtUTC: acop.NewTime(start),
	}
}

func event(verb, item string) acop.Event {
	return acop.Event{Family: acop.FamilyWorkUpdate, AtUTC: acop.NewTime(start), Actor: "planner", Verb: verb, WorkItemID: item}
}

// itemChange is the change that gives it its new state.
func itemChange(it *acop.Item, verbs ...string) Change {
	r := Record{Kind: KindItem, ID: it.WorkItem.WorkItemID, AtUTC: acop.NewTime(start), Item: it}
	if len(verbs) == 0 {
		verbs = []string{"put"}
	}
	for _, v := range verbs {
		r.Events = append(r.Events, event(v, r.ID))
	}
	return Change{Expected: it.Revision, Record: r}
}

func entryChange(id, item string) Change {
	e := &acop.BlackboardEntry{EntryID: id, WorkItemID: item, EntryKind: acop.EntryFinding, AuthorAgentUID: "ann", CreatedAtUTC: acop.NewTime(start), Status: acop.EntryActive}
	ev := event("post", item)
	ev.Family = acop.FamilyBlackboard
	return Change{Record: Record{Kind: KindEntry, ID: id, AtUTC: acop.NewTime(start), Entry: e, Events: []acop.Event{ev}}}
}

func commit(t testing.TB, s *Store, cs ...Change) uint64 {
	t.Helper()
	rev, err := s.CommitAll(t.Context(), cs)
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return rev
}

func mustItem(t testing.TB, s *Store, id string) *acop.Item {
	t.Helper()
	it, ok := s.Item(id)
	if !ok {
		t.Fatalf("item %q is not there", id)
	}
	return it
}

// lease gives a claim on the item that ends after ttl.
func lease(it *acop.Item, claim, worker string, ttl time.Duration) *acop.Item {
	c := it.Clone()
	c.WorkItem.Status = acop.StatusClaimed
	c.Lease = &acop.Lease{
		Claim: acop.Claim{
			ClaimID: claim, WorkItemID: it.WorkItem.WorkItemID, WorkerAgentUID: worker, GrantedAtUTC: acop.NewTime(start),
			ExpiresAtUTC: acop.NewTime(start.Add(ttl)), ClaimStatus: acop.ClaimActive,
		},
		TTLSeconds: int64(ttl / time.Second),
	}
	return c
}

// end ends the live claim of the item.
func end(it *acop.Item, how acop.ClaimStatus, to acop.Status) Change {
	c := it.Clone()
	ended := c.Lease.Claim
	ended.ClaimStatus = how
	c.Lease, c.WorkItem.Status = nil, to
	ch := itemChange(c, "release")
	ch.Record.Ended = &ended
	return ch
}

// dump is everything that readers can see, to compare two stores.
func dump(s *Store) map[string]any {
	s.mu.RLock()
	defer s.mu.RUnlock()
	order := map[string][]string{}
	for st, lists := range s.p.byStatus {
		for name, l := range lists {
			for it := range l.after(nil) {
				order[string(st)+"/"+string(name)] = append(order[string(st)+"/"+string(name)], it.WorkItem.WorkItemID)
			}
		}
	}
	ended := map[string]acop.Claim{}
	for id, c := range s.p.ended {
		ended[id] = c.claim(id)
	}
	ends := []string{}
	for it := range s.p.ends.after(nil) {
		ends = append(ends, it.WorkItem.WorkItemID)
	}
	ans := map[string]string{}
	for k, a := range s.p.answers.byScope {
		ans[fmt.Sprintf("%x", k)] = fmt.Sprint(a.own, a.act, a.content)
	}
	return map[string]any{
		"head": s.p.head.rev, "sum": s.p.head.sum.String(), "items": s.p.items, "order": order, "tags": s.p.tags, "waits": s.p.waits,
		"live": s.p.live, "ended": ended, "lost": s.p.lost, "intents": s.p.intents, "entries": s.p.entries, "entriesOf": s.p.entriesOf,
		"settings": s.p.settings, "answers": ans, "ends": ends,
	}
}

// fill writes one of everything and returns the store's last revision.
func fill(t *testing.T, s *Store) {
	t.Helper()
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	b := newItem("b", acop.StatusBlocked)
	b.Blockers = []acop.Blocker{{BlockerCode: acop.BlockerDependency, Severity: acop.SeverityHigh, Summary: "wait", DependsOnWorkItemID: "a"}}
	b.WorkItem.TargetAgentUID, b.WorkItem.TargetRepoID = "ann", "repo"
	commit(t, s, itemChange(b))
	commit(t, s, entryChange("e1", "a"))
	commit(t, s, itemChange(lease(mustItem(t, s, "a"), "claim-1", "ann", time.Minute), "claim"))
	commit(t, s, end(mustItem(t, s, "a"), acop.ClaimReleased, acop.StatusReady))
	asked := mustItem(t, s, "a").Clone()
	asked.Intents = []acop.Intent{{ClaimIntent: acop.ClaimIntent{ClaimIntentID: "intent\n1", WorkItemID: "a", WorkerAgentUID: "bob", RequestedAtUTC: acop.NewTime(start)}, State: acop.IntentWaiting, ExpiresUTC: acop.NewTime(start.Add(time.Hour))}}
	ch := itemChange(asked, "intent")
	ch.Record.Idem = &Idempotency{Scope: "scope-1", Fingerprint: "f", Status: 201, Header: map[string]string{"ETag": "x"}, Body: []byte(`{"a":1}`)}
	commit(t, s, ch)
	gone := mustItem(t, s, "a").Clone()
	gone.Intents = nil
	commit(t, s, itemChange(lease(gone, "claim-2", "bob", time.Minute), "grant", "claim"))
	commit(t, s, Change{Record: Record{Kind: KindSettings, AtUTC: acop.NewTime(start), Settings: &acop.Settings{GrantMode: acop.GrantLead}, Events: []acop.Event{event("settings", "")}}})
	refused := event("refused", "a")
	commit(t, s, Change{Record: Record{Kind: KindAudit, ID: "claim-2", AtUTC: acop.NewTime(start), Events: []acop.Event{refused}}})
	done := newItem("c", acop.StatusCancelled)
	commit(t, s, itemChange(done), entryChange("e2", "b"))
}

func clock() time.Time { return start }

// closeIn closes the store that open opened in a folder.
func closeIn(t testing.TB, dir string) {
	t.Helper()
	openMu.Lock()
	s := opened[dir]
	delete(opened, dir)
	openMu.Unlock()
	if s == nil {
		t.Fatalf("no store is open in %s", dir)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// fingerprint hashes every file below dir but the lock, which says who looked.
func fingerprint(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == lockName {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = fmt.Sprintf("%x", sha256.Sum256(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// commitSoon writes as soon as the log takes a write again.
func commitSoon(t *testing.T, s *Store, c Change) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		_, err := s.Commit(t.Context(), c)
		if err == nil {
			return
		}
		if !errors.Is(err, ErrUnavailable) || time.Now().After(end) {
			t.Fatalf("the log was not taken up again: %v", err)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}
