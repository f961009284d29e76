package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acop"
)

func ids(its []*acop.Item) (out []string) {
	for _, it := range its {
		out = append(out, it.WorkItem.WorkItemID)
	}
	return out
}

// H-081 at the store: what ran out is found, at its instant and not before.
func TestDue_H081(t *testing.T) {
	s := open(t, Options{})
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	commit(t, s, itemChange(newItem("b", acop.StatusReady)))
	commit(t, s, itemChange(lease(mustItem(t, s, "a"), "c", "ann", time.Minute)))
	b := mustItem(t, s, "b").Clone()
	b.Intents = []acop.Intent{{ClaimIntent: acop.ClaimIntent{ClaimIntentID: "i", RequestedAtUTC: acop.NewTime(start)}, State: acop.IntentWaiting, ExpiresUTC: acop.NewTime(start.Add(2 * time.Minute))}}
	commit(t, s, itemChange(b))
	for _, c := range []struct {
		at   time.Duration
		want []string
	}{{time.Minute - 1, nil}, {time.Minute, []string{"a"}}, {2 * time.Minute, []string{"a", "b"}}} {
		if diff := cmp.Diff(c.want, ids(s.Due(start.Add(c.at)))); diff != "" {
			t.Errorf("after %v: %s", c.at, diff)
		}
	}
	if diff := cmp.Diff([]string{"a"}, ids(s.LiveLeases())); diff != "" {
		t.Error(diff)
	}
	commit(t, s, end(mustItem(t, s, "a"), acop.ClaimExpired, acop.StatusReady))
	if got := s.LiveLeases(); len(got) != 0 {
		t.Errorf("leases after the end: %v", ids(got))
	}
}

func TestDependents(t *testing.T) {
	s := open(t, Options{})
	fill(t, s)
	if diff := cmp.Diff([]string{"b"}, s.Dependents("a")); diff != "" {
		t.Error(diff)
	}
	freed := mustItem(t, s, "b").Clone()
	freed.Blockers = []acop.Blocker{}
	commit(t, s, itemChange(freed))
	if got := s.Dependents("a"); len(got) != 0 {
		t.Errorf("still waiting: %v", got)
	}
}

func TestSnapshot(t *testing.T) {
	s := open(t, Options{})
	fill(t, s)
	snap := s.Snapshot(start)
	if len(snap.Items) != 2 || len(snap.Entries) != 2 || snap.Closed[acop.StatusCancelled] != 1 || snap.Revision != s.Revision() {
		t.Errorf("snapshot: %d items, %d entries, closed %v, revision %d", len(snap.Items), len(snap.Entries), snap.Closed, snap.Revision)
	}
	if snap.Settings.GrantMode != acop.GrantLead || snap.Settings.Revision == 0 {
		t.Errorf("settings %+v", snap.Settings)
	}
}

// History tells all that happened to one item, refused acts and entries included.
func TestHistory(t *testing.T) {
	s := open(t, Options{})
	fill(t, s)
	events, claims, err := s.History(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	var verbs []string
	for i, e := range events {
		verbs = append(verbs, e.Verb)
		if i > 0 && e.Revision < events[i-1].Revision {
			t.Errorf("event %d is out of order", i)
		}
	}
	if diff := cmp.Diff([]string{"put", "post", "claim", "release", "intent", "grant", "claim", "refused"}, verbs); diff != "" {
		t.Error(diff)
	}
	if len(claims) != 2 || claims[0].ClaimStatus != acop.ClaimReleased || claims[1].ClaimStatus != acop.ClaimActive {
		t.Errorf("claims: %+v", claims)
	}
	if events, claims, err := s.History(t.Context(), "unknown"); err != nil || len(events)+len(claims) != 0 {
		t.Errorf("history of nothing: %v %v %v", events, claims, err)
	}
}

func TestWaitRevision(t *testing.T) {
	s := open(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 2)
	go func() { errs <- s.WaitRevision(t.Context(), 1) }()
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	if err := <-errs; err != nil {
		t.Error(err)
	}
	go func() { errs <- s.WaitRevision(ctx, 99) }()
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("wait ended with %v", err)
	}
}

func TestClosedStoreSaysSo(t *testing.T) {
	s := open(t, Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), itemChange(newItem("a", acop.StatusReady))); !errors.Is(err, ErrClosed) {
		t.Errorf("commit: %v", err)
	}
	if _, err := s.Subscribe(t.Context(), 0, EventFilter{}); !errors.Is(err, ErrClosed) {
		t.Errorf("subscribe: %v", err)
	}
}
