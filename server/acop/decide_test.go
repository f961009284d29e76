package acop

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

// fakeBook is the state of an owner as maps.
type fakeBook struct {
	items   map[string]*core.Item
	claims  map[string]core.Claim
	entries map[string]core.Posted
}

func (b *fakeBook) Item(id string) (*core.Item, bool)  { it, ok := b.items[id]; return it, ok }
func (b *fakeBook) Claim(id string) (core.Claim, bool) { c, ok := b.claims[id]; return c, ok }
func (b *fakeBook) LostClaim(item, worker string) (core.Claim, bool) {
	return core.Claim{}, false
}
func (b *fakeBook) Entry(id string) (core.Posted, bool)   { e, ok := b.entries[id]; return e, ok }
func (b *fakeBook) ItemOfIntent(id string) (string, bool) { return "", false }
func (b *fakeBook) Dependents(string) []string            { return slices.Sorted(maps.Keys(b.items)) }
func (b *fakeBook) LiveLeases() []*core.Item {
	var out []*core.Item
	for _, it := range b.items {
		if it.Lease != nil {
			out = append(out, it)
		}
	}
	return out
}

// apply keeps what a verdict wrote, as the log would.
func (b *fakeBook) apply(v *verdict) {
	for _, c := range v.changes {
		if c.Record.Item != nil {
			it := c.Record.Item.Clone()
			it.Revision = c.Expected + 1
			b.items[it.ID()] = it
			if it.Lease != nil {
				b.claims[it.Lease.Claim.ClaimID] = it.Lease.Claim
			}
		}
		if c.Record.Ended != nil {
			b.claims[c.Record.Ended.ClaimID] = *c.Record.Ended
		}
		if c.Record.Entry != nil {
			b.entries[c.Record.ID] = core.Posted{Entry: *c.Record.Entry}
		}
	}
}

var testNow = core.NewTime(time.Date(2026, 5, 16, 19, 0, 0, 0, time.UTC))

func testDesk(b *fakeBook, at core.Time, who string, role core.Role) *desk {
	n := make(map[string]int)
	return &desk{
		now: at, caller: Caller{Identity: who, Role: role}, book: b,
		policy:   Config{}.withDefaults().policy(),
		settings: core.Settings{GrantMode: core.GrantAuto},
		newID: func(prefix string) string {
			for {
				n[prefix]++
				id := fmt.Sprintf("%s:%d", prefix, n[prefix])
				if _, taken := b.claims[id]; !taken {
					return id
				}
			}
		},
	}
}

func newFakeBook() *fakeBook {
	return &fakeBook{items: map[string]*core.Item{}, claims: map[string]core.Claim{}, entries: map[string]core.Posted{}}
}

func (b *fakeBook) add(id string, st core.Status, blockers ...core.Blocker) {
	b.items[id] = &core.Item{WorkItem: core.WorkItem{WorkItemID: id, ProtocolVersion: core.ProtocolVersion, WorkKind: core.KindImplement,
		CreatedAtUTC: testNow, Producer: "p", Status: st, Priority: core.PriorityLow}, Blockers: blockers, CreatedBy: "p", SubmittedStatus: st, Revision: 1}
}

// TestEventsOfDecisions demands the exact transitions that each act tells
// (D-23, D-29, D-31, D-37): never an unlisted one, never a missing one.
func TestEventsOfDecisions(t *testing.T) {
	blocker := core.Blocker{BlockerCode: core.BlockerReviewRequired, Severity: core.SeverityLow, Summary: "s"}
	const later = 61 * time.Second
	cases := []struct {
		name     string
		blockers []core.Blocker
		acts     []core.Act
		wait     time.Duration // before the last act
		want     string        // of the last act
		ended    core.ClaimStatus
	}{
		{"claim", nil, []core.Act{{Verb: core.VerbClaim, WorkItemID: "w", TTLSeconds: 60}}, 0, "claim:ready>claimed", ""},
		{"renew", nil, []core.Act{{Verb: core.VerbClaim, WorkItemID: "w", TTLSeconds: 60}, {Verb: core.VerbRenew, ClaimID: "claim:1"}}, 0,
			"renew:claimed>in_progress", ""},
		{"complete at once", nil, []core.Act{{Verb: core.VerbClaim, WorkItemID: "w", TTLSeconds: 60}, {Verb: core.VerbComplete, ClaimID: "claim:1"}}, 0,
			"complete:claimed>in_progress complete:in_progress>completed", core.ClaimReleased},
		{"release", nil, []core.Act{{Verb: core.VerbClaim, WorkItemID: "w", TTLSeconds: 60}, {Verb: core.VerbRelease, ClaimID: "claim:1"}}, 0,
			"release:claimed>ready", core.ClaimReleased},
		{"release with blockers", []core.Blocker{blocker}, []core.Act{{Verb: core.VerbClaim, WorkItemID: "w", TTLSeconds: 60}, {Verb: core.VerbRelease, ClaimID: "claim:1"}}, 0,
			"release:claimed>ready block:ready>blocked", core.ClaimReleased},
		{"claim after expiry", nil, []core.Act{{Verb: core.VerbClaim, WorkItemID: "w", TTLSeconds: 60}, {Verb: core.VerbClaim, WorkItemID: "w", TTLSeconds: 60}}, later,
			"expire:claimed>ready claim:ready>claimed", core.ClaimExpired},
		{"cancel after expiry", nil, []core.Act{{Verb: core.VerbClaim, WorkItemID: "w", TTLSeconds: 60}, {Verb: core.VerbCancel, WorkItemID: "w", Reason: "r"}}, later,
			"expire:claimed>ready cancel:ready>cancelled", core.ClaimExpired},
		{"cancel while held", nil, []core.Act{{Verb: core.VerbClaim, WorkItemID: "w", TTLSeconds: 60}, {Verb: core.VerbCancel, WorkItemID: "w", Reason: "r"}}, 0,
			"cancel:claimed>cancelled", core.ClaimRevoked},
		{"revoke with hold", nil, []core.Act{{Verb: core.VerbClaim, WorkItemID: "w", TTLSeconds: 60}, {Verb: core.VerbRevoke, ClaimID: "claim:1", Disposition: core.StatusReleased}}, 0,
			"revoke:claimed>released", core.ClaimRevoked},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newFakeBook()
			b.add("w", core.StatusReady, c.blockers...)
			var last *verdict
			for i, a := range c.acts {
				at := testNow
				if i == len(c.acts)-1 {
					at = at.Add(c.wait)
				}
				v, refused := decide(testDesk(b, at, "lead", core.RoleLead), &request{Act: a})
				if refused != nil {
					t.Fatal(refused)
				}
				b.apply(v)
				last = v
			}
			var got []string
			for _, e := range last.changes[0].Record.Events {
				got = append(got, fmt.Sprintf("%s:%s>%s", e.Verb, e.From, e.To))
				if e.Verb == string(core.VerbExpire) && e.Actor != ownerActor {
					t.Errorf("expiry is told as the act of %s", e.Actor)
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("events %q, want %q", s, c.want)
			}
			ended := last.changes[0].Record.Ended
			if (ended == nil) != (c.ended == "") || ended != nil && ended.ClaimStatus != c.ended {
				t.Errorf("ended claim %+v, want %q", ended, c.ended)
			}
		})
	}
}

// TestDecisionsLeaveTheirInputAlone: items in the projection are shared.
func TestDecisionsLeaveTheirInputAlone(t *testing.T) {
	b := newFakeBook()
	b.add("w", core.StatusReady)
	d := testDesk(b, testNow, "lead", core.RoleLead)
	d.policy.AllowSelfAcceptance = true
	acts := []core.Act{
		{Verb: core.VerbClaim, WorkItemID: "w", TTLSeconds: 60}, {Verb: core.VerbHeartbeat, ClaimID: "claim:1", Reason: "x"},
		{Verb: core.VerbRenew, ClaimID: "claim:1", Reason: "y"},
		{Verb: core.VerbBlock, WorkItemID: "w", Blocker: &core.Blocker{BlockerCode: "x.a.b", Summary: "s"}},
		{Verb: core.VerbComplete, ClaimID: "claim:1"}, {Verb: core.VerbAccept, WorkItemID: "w"},
	}
	for _, a := range acts {
		before := b.items["w"]
		copied := before.Clone()
		v, refused := decide(d, &request{Act: a})
		if refused != nil {
			t.Fatal(a.Verb, refused)
		}
		if !alike(before, copied) {
			t.Fatalf("%s changed the stored item", a.Verb)
		}
		b.apply(v)
	}
}

// TestDecisionsNameTheirBasis: every change of an item is conditional on the
// revision it was decided on, and entries on not being there.
func TestDecisionsNameTheirBasis(t *testing.T) {
	b := newFakeBook()
	b.add("w", core.StatusRequiresAttention)
	v, refused := decide(testDesk(b, testNow, "lead", core.RoleLead), &request{Act: core.Act{Verb: core.VerbResolve, WorkItemID: "w", Decision: core.StatusReady, Reason: "go"}})
	if refused != nil {
		t.Fatal(refused)
	}
	if v.changes[0].Expected != 1 || v.changes[1].Expected != 0 || v.changes[1].Record.Kind != store.KindEntry {
		t.Fatalf("changes %+v", v.changes)
	}
}

// TestReadersDecideNothing for every verb there is (D.4). What does not exist is
// told before that (D-62).
func TestReadersDecideNothing(t *testing.T) {
	for verb := range decisions {
		for _, id := range []string{"w", "none"} {
			b := newFakeBook()
			b.add("w", core.StatusReady)
			a := core.Act{Verb: verb, WorkItemID: id, SupersededBy: "w", Entry: &core.BlackboardEntry{WorkItemID: id},
				Document: &core.Document{WorkItem: core.WorkItem{WorkItemID: id}}}
			want := core.CodeForbidden
			switch verb {
			case core.VerbRenew, core.VerbRelease, core.VerbComplete, core.VerbHeartbeat, core.VerbRevoke:
				a.ClaimID, want = "claim:none", core.CodeClaimNotFound
			case core.VerbGrant, core.VerbDeny:
				a.IntentID, want = "intent:none", core.CodeIntentNotFound
			case core.VerbPut, core.VerbSettings: // make what they name, or name nothing
			default:
				if id == "none" {
					want = core.CodeItemNotFound
				}
			}
			_, refused := decide(testDesk(b, testNow, "r", core.RoleReader), &request{Act: a})
			if refused == nil || refused.Code != want {
				t.Errorf("%s %s: %v, want %s", verb, id, refused, want)
			}
		}
	}
}

// TestOwnBlockerCode is in a namespace of ours (C-024).
func TestOwnBlockerCode(t *testing.T) {
	if !core.OwnBlockerCode(core.BlockerAttemptsExhausted) {
		t.Error(core.BlockerAttemptsExhausted)
	}
}
