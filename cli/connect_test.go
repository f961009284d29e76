package cli

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/model/fleet"
)

// TestWatchOutlivesTheOwner: the stream of a real owner is followed over its
// death and restart; nothing is missed or seen twice, the link says degraded
// and live (A-173, H-067), and the state read from it is the owner's.
func TestWatchOutlivesTheOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func(listen string) *ownerBox {
		box, err := openOwner(t.Context(), ownerOptions{Data: dir, Listen: listen})
		if err != nil {
			t.Fatal(err)
		}
		return box
	}
	box := open(steadyAddr(t))
	c, err := client.New(client.Options{BaseURL: box.URL, Token: client.Token(box.LeadToken), Identity: localLead})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	var mu sync.Mutex
	state, links, seen := fleet.New(), []fleet.LinkState{}, []uint64{}
	ctx, stop := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	go func() {
		watched <- c.Watch(ctx, func(f fleet.Fact) {
			mu.Lock()
			defer mu.Unlock()
			state.Apply(f)
			switch f := f.(type) {
			case fleet.LinkChanged:
				if n := len(links); n == 0 || links[n-1] != f.Link.State {
					links = append(links, f.Link.State)
				}
			case fleet.OwnerEvent:
				seen = append(seen, f.Event.Revision)
			}
		})
	}()
	has := func(id string) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return state.Items[id] != nil && state.Link.State == fleet.LinkLive
		}
	}
	put := func(id string) {
		t.Helper()
		if _, err := c.Do(t.Context(), acop.Act{Verb: acop.VerbPut, WorkItemID: id, Document: plainDocument(id)}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, 10*time.Second, "the link", func() bool { mu.Lock(); defer mu.Unlock(); return state.Link.State == fleet.LinkLive })
	put("work:one")
	until(t, 10*time.Second, "the first item", has("work:one"))

	at, err := url.Parse(box.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, 10*time.Second, "degraded", func() bool { mu.Lock(); defer mu.Unlock(); return state.Link.State == fleet.LinkDegraded })
	box = open(at.Host)
	put("work:two")
	until(t, 20*time.Second, "the second item", has("work:two"))
	stop()
	if err := <-watched; !errors.Is(err, context.Canceled) {
		t.Errorf("Watch ended with %v", err)
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	for i, r := range seen {
		if i > 0 && r <= seen[i-1] {
			t.Errorf("revisions seen: %v", seen)
		}
	}
	if len(links) < 4 || links[1] != fleet.LinkLive || links[2] != fleet.LinkDegraded || links[3] != fleet.LinkLive {
		t.Errorf("links: %v", links)
	}
}

// TestKeepAtRealOwner: a kept lease outlives its term; a revoke ends it at the
// next renewal with the owner's word (B50, H-091).
func TestKeepAtRealOwner(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	lead := r.client()
	worker, err := client.New(client.Options{BaseURL: r.box.URL, Token: client.Token(r.box.AddToken("agent:wren", acop.RoleWorker)), Identity: "agent:wren"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(worker.Close)
	if _, err := lead.Do(t.Context(), acop.Act{Verb: acop.VerbPut, Document: plainDocument("work:one")}); err != nil {
		t.Fatal(err)
	}
	from := time.Now()
	got, err := worker.Do(t.Context(), acop.Act{Verb: acop.VerbClaim, WorkItemID: "work:one", TTLSeconds: 3})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	renewals := 0
	lease, k := worker.Keep(t.Context(), client.KeepOptions{Claim: *got.Claim, GrantedFrom: from,
		Renewed: func(acop.Claim) { mu.Lock(); defer mu.Unlock(); renewals++ }})
	defer k.Stop()
	until(t, 20*time.Second, "two renewals", func() bool { mu.Lock(); defer mu.Unlock(); return renewals >= 2 })
	if lease.Err() != nil {
		t.Fatalf("the lease was lost: %v", context.Cause(lease))
	}
	if _, err := lead.Do(t.Context(), acop.Act{Verb: acop.VerbRevoke, ClaimID: got.Claim.ClaimID, Reason: "stop"}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-lease.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the loss was not noticed")
	}
	if cause := context.Cause(lease); !strings.Contains(cause.Error(), string(acop.CodeClaimRevoked)) {
		t.Errorf("cause = %v", cause)
	}
}

func plainDocument(id string) *acop.Document {
	return &acop.Document{ProtocolVersion: acop.ProtocolVersion, WorkItem: acop.WorkItem{
		WorkItemID: id, ProtocolVersion: acop.ProtocolVersion, WorkKind: acop.KindRepair, Producer: localLead,
		CreatedAtUTC: acop.NewTime(time.Now()), Status: acop.StatusReady, Priority: acop.PriorityLow, ActionabilityScore: 0.5,
	}}
}
