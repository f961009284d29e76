package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acop"
)

// randomItem makes an item that differs in everything a query looks at.
func randomItem(r *rand.Rand, id string) *acop.Item {
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	it := newItem(id, acop.Status(pick("ready", "blocked", "completed", "accepted", "cancelled")))
	w := &it.WorkItem
	w.CreatedAtUTC = acop.NewTime(start.Add(time.Duration(r.IntN(50)) * time.Second))
	w.ActionabilityScore = float64(r.IntN(4)) / 4
	w.Priority = acop.Priority(pick("low", "medium", "high", "urgent"))
	w.Producer = pick("planner", "ann", "bob")
	w.TargetAgentUID = pick("", "", "ann", "bob")
	if r.IntN(2) == 0 {
		w.ParticipantAgentUIDs = []string{pick("ann", "bob", "cy"), "dee"}
	}
	w.TargetRepoID, w.TargetBranch = pick("", "core", "ui"), pick("", "main", "dev")
	w.Title = pick("Fix the Fuse", "paint the box")
	if w.Status == acop.StatusBlocked {
		it.Blockers = []acop.Blocker{{BlockerCode: pick("review_required", "acme.x"), Severity: acop.SeverityLow, Summary: "s"}}
	}
	return it
}

// The answer of every query is what a plain look at all items gives, however it
// was found, page by page (C-067 to C-071, D-57).
func TestItemQueries_D57(t *testing.T) {
	p := newProjection()
	s := &Store{p: p}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 1500 {
		p.putItem(randomItem(r, fmt.Sprintf("i%03d", r.IntN(1000))))
		_ = i
	}
	queries := []ItemQuery{
		{}, {Agent: "ann"}, {Agent: "nobody"}, {Agent: "cy", Actionable: true}, {Between: [2]string{"ann", "bob"}},
		{Statuses: []acop.Status{acop.StatusReady, acop.StatusCompleted}}, {RepoID: "core", Branch: "dev"}, {BlockerCode: "acme.x"},
		{Claimable: true, Statuses: []acop.Status{acop.StatusBlocked}}, {Text: "the fuse", RepoID: "ui"}, {RepoID: "none"},
	}
	for _, q := range queries {
		for order, less := range orders {
			q.Order, q.Limit = order, 7
			var want []string
			for _, it := range slices.SortedFunc(values(p.items), less) {
				if q.matches(it) {
					want = append(want, it.WorkItem.WorkItemID)
				}
			}
			if diff := cmp.Diff(want, pages(t, s, q)); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", q, diff)
			}
		}
	}
}

func values(m map[string]*acop.Item) func(yield func(*acop.Item) bool) {
	return func(yield func(*acop.Item) bool) {
		for _, it := range m {
			if !yield(it) {
				return
			}
		}
	}
}

func pages(t *testing.T, s *Store, q ItemQuery) (ids []string) {
	t.Helper()
	for {
		rows, next, _, err := s.Items(q)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) > q.Limit {
			t.Fatalf("%d rows", len(rows))
		}
		for _, it := range rows {
			ids = append(ids, it.WorkItem.WorkItemID)
		}
		if next == "" {
			return ids
		}
		q.Cursor = next
	}
}

// A row that stays where it is comes exactly once, although rows come and go
// between the pages.
func TestCursorWhileDataChanges(t *testing.T) {
	p := newProjection()
	s := &Store{p: p}
	for i := range 20 {
		it := newItem(fmt.Sprintf("i%02d", i), acop.StatusReady)
		it.WorkItem.CreatedAtUTC = acop.NewTime(start.Add(time.Duration(i) * time.Minute))
		p.putItem(it)
	}
	q := ItemQuery{Limit: 5, Actionable: true}
	seen := map[string]int{}
	for page := range 4 {
		rows, next, _, err := s.Items(q)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range rows {
			seen[it.WorkItem.WorkItemID]++
		}
		q.Cursor = next
		gone := rows[len(rows)-1].Clone() // the very row that the cursor stands on
		gone.WorkItem.Status = acop.StatusCancelled
		p.putItem(gone)
		fresh := newItem(fmt.Sprint("new", page), acop.StatusReady)
		fresh.WorkItem.CreatedAtUTC = acop.NewTime(start.Add(time.Hour))
		p.putItem(fresh)
	}
	for i := range 20 {
		if id := fmt.Sprintf("i%02d", i); seen[id] != 1 {
			t.Errorf("%s came %d times", id, seen[id])
		}
	}
}

func TestBadQueries(t *testing.T) {
	s := &Store{p: newProjection()}
	s.p.putItem(newItem("a", acop.StatusReady))
	s.p.putItem(newItem("b", acop.StatusReady))
	_, next, _, err := s.Items(ItemQuery{Limit: 1})
	if err != nil || next == "" {
		t.Fatalf("cursor %q, %v", next, err)
	}
	for name, q := range map[string]ItemQuery{
		"order": {Order: "size"}, "cursor": {Cursor: "!!"}, "foreign cursor": {Cursor: "e30"}, "other order": {Cursor: next, Order: OrderScore},
	} {
		if _, _, _, err := s.Items(q); !errors.Is(err, ErrBadQuery) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BenchmarkPickup asks for the latest actionable work of one agent among
// 100 000 items.
func BenchmarkPickup(b *testing.B) {
	p := newProjection()
	s := &Store{p: p}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 100_000 {
		it := randomItem(r, fmt.Sprint("i", i))
		it.WorkItem.CreatedAtUTC = acop.NewTime(start.Add(time.Duration(r.IntN(1_000_000)) * time.Second))
		p.putItem(it)
	}
	for b.Loop() {
		if rows, _, _, err := s.Items(ItemQuery{Agent: "ann", Actionable: true}); err != nil || len(rows) != DefaultLimit {
			b.Fatal(len(rows), err)
		}
	}
}
