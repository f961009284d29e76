package cli

import (
	"context"
	"errors"
	"testing"
	"time"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/model/fleet"
)

// testOwner opens an owner in this process with a client per identity.
func testOwner(t *testing.T) (*ownerBox, func(identity string, role acop.Role) *client.Client) {
	t.Helper()
	b, err := openOwner(t.Context(), ownerOptions{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, func(identity string, role acop.Role) *client.Client {
		token := b.LeadToken
		if identity != localLead {
			token = b.AddToken(identity, role)
		}
		c, err := client.New(client.Options{BaseURL: b.URL, Token: client.Token(token)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
}

// TestClientAndOwnerAgree sends every act of the client to the real owner: both
// sides of the binding mean the same (H-086, D.3).
func TestClientAndOwnerAgree(t *testing.T) {
	t.Parallel()
	_, as := testOwner(t)
	lead, worker := as(localLead, acop.RoleLead), as("worker-1", acop.RoleWorker)
	do := func(c *client.Client, a acop.Act) *acop.Receipt {
		t.Helper()
		r, err := c.Do(t.Context(), a)
		if err != nil {
			t.Fatalf("%s: %v", a.Verb, err)
		}
		if r.Revision == 0 {
			t.Fatalf("%s: no revision", a.Verb)
		}
		return r
	}
	put := func(id string, st acop.Status) {
		t.Helper()
		do(lead, acop.Act{Verb: acop.VerbPut, WorkItemID: id, Document: &acop.Document{WorkItem: acop.WorkItem{
			WorkItemID: id, ProtocolVersion: acop.ProtocolVersion, WorkKind: acop.KindImplement, CreatedAtUTC: acop.NewTime(time.Now()),
			Producer: "p", Status: st, Priority: acop.PriorityHigh, ActionabilityScore: 0.5, Title: id}}})
	}
	claim := func(id string) string {
		t.Helper()
		return do(worker, acop.Act{Verb: acop.VerbClaim, WorkItemID: id, TTLSeconds: 60, Scope: "s"}).Claim.ClaimID
	}

	put("a/b ü", acop.StatusReady)
	id := claim("a/b ü")
	do(worker, acop.Act{Verb: acop.VerbHeartbeat, ClaimID: id, Reason: "on it"})
	do(worker, acop.Act{Verb: acop.VerbRenew, ClaimID: id, TTLSeconds: 90, Reason: "half"})
	do(worker, acop.Act{Verb: acop.VerbRelease, ClaimID: id, Reason: "later"})
	id = claim("a/b ü")
	do(lead, acop.Act{Verb: acop.VerbRevoke, ClaimID: id, Reason: "hold it", Disposition: acop.StatusReleased})
	do(lead, acop.Act{Verb: acop.VerbRequeue, WorkItemID: "a/b ü"})
	do(lead, acop.Act{Verb: acop.VerbBlock, WorkItemID: "a/b ü", Blocker: &acop.Blocker{BlockerCode: acop.BlockerReviewRequired, Severity: acop.SeverityLow, Summary: "s"}})
	do(lead, acop.Act{Verb: acop.VerbUnblock, WorkItemID: "a/b ü", BlockerCode: acop.BlockerReviewRequired})
	id = claim("a/b ü")
	do(worker, acop.Act{Verb: acop.VerbComplete, ClaimID: id, Evidence: &acop.CompletionEvidence{}})
	do(lead, acop.Act{Verb: acop.VerbAccept, WorkItemID: "a/b ü", Reason: "good"})
	do(lead, acop.Act{Verb: acop.VerbConsume, WorkItemID: "a/b ü"})

	put("ask", acop.StatusRequiresAttention)
	if r := do(lead, acop.Act{Verb: acop.VerbResolve, WorkItemID: "ask", Decision: acop.StatusReady, Reason: "do it"}); r.Status != acop.StatusReady {
		t.Fatalf("resolved to %s", r.Status)
	}
	do(worker, acop.Act{Verb: acop.VerbComplete, ClaimID: claim("ask")})
	next := do(lead, acop.Act{Verb: acop.VerbSendBack, WorkItemID: "ask", Reason: "not yet", WorkKind: acop.KindRepair})
	do(lead, acop.Act{Verb: acop.VerbSupersede, WorkItemID: next.Item.ID(), SupersededBy: "a/b ü", Reason: "same"})
	do(worker, acop.Act{Verb: acop.VerbPost, WorkItemID: "ask", Entry: &acop.BlackboardEntry{WorkItemID: "ask", EntryKind: acop.EntryFinding, Summary: "s"}})

	mode := acop.GrantLead
	do(lead, acop.Act{Verb: acop.VerbSettings, Settings: &acop.SettingsChange{GrantMode: &mode}})
	for _, verdict := range []acop.Verb{acop.VerbGrant, acop.VerbDeny} {
		item := "gated " + string(verdict)
		put(item, acop.StatusReady)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := worker.Do(ctx, acop.Act{Verb: acop.VerbClaim, WorkItemID: item, TTLSeconds: 60, Scope: "s"})
		cancel()
		if err == nil {
			t.Fatal("granted without a lead")
		}
		snap, err := lead.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range snap.Items {
			if it.ID() == item {
				do(lead, acop.Act{Verb: verdict, IntentID: it.Intents[0].ClaimIntent.ClaimIntentID, Reason: "because", IfRevision: it.Revision})
			}
		}
	}
	put("gone", acop.StatusReady)
	do(lead, acop.Act{Verb: acop.VerbCancel, WorkItemID: "gone", Reason: "no need"})
	_, err := lead.Do(t.Context(), acop.Act{Verb: acop.VerbCancel, WorkItemID: "gone", Reason: "again"})
	var refused *acop.Error
	if !errors.As(err, &refused) || refused.Code != acop.CodeItemCancelled {
		t.Fatalf("cancelled twice: %v", err)
	}
	d, err := lead.Detail(t.Context(), "a/b ü")
	if err != nil || len(d.Claims) != 3 || d.Item.Status() != acop.StatusConsumed {
		t.Fatalf("%v %+v", err, d)
	}
	if list, err := lead.Items(t.Context(), client.Query{}); err != nil || len(list.WorkItems) == 0 {
		t.Fatalf("items: %v %+v", err, list)
	}
}

// TestWatchFollowsTheOwner sees what happens as it happens.
func TestWatchFollowsTheOwner(t *testing.T) {
	t.Parallel()
	_, as := testOwner(t)
	lead := as(localLead, acop.RoleLead)
	ctx, cancel := context.WithCancel(t.Context())
	facts := make(chan fleet.Fact, 1000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = lead.Watch(ctx, func(f fleet.Fact) { facts <- f })
	}()
	state := fleet.New()
	wait := func(what string, ok func() bool) {
		t.Helper()
		deadline := time.After(10 * time.Second)
		for !ok() {
			select {
			case f := <-facts:
				state.Apply(f)
			case <-deadline:
				t.Fatal("did not see: " + what)
			}
		}
	}
	wait("the link is live", func() bool { return state.Link.State == fleet.LinkLive })
	for _, id := range []string{"w1", "w2"} {
		if _, err := lead.Do(t.Context(), acop.Act{Verb: acop.VerbPut, WorkItemID: id, Document: &acop.Document{WorkItem: acop.WorkItem{
			WorkItemID: id, ProtocolVersion: acop.ProtocolVersion, WorkKind: acop.KindReview, CreatedAtUTC: acop.NewTime(time.Now()),
			Producer: "p", Status: acop.StatusReady, Priority: acop.PriorityLow}}}); err != nil {
			t.Fatal(err)
		}
		wait(id, func() bool { return state.Items[id] != nil })
	}
	cancel()
	<-done
}
