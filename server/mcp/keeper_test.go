package mcp

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"signalbox/model/acop"
)

// heldAt is a live claim at an instant of the owner's clock.
func heldAt(at time.Time, left, term time.Duration, beat time.Time) *Claims {
	return &Claims{AtUTC: acop.NewTime(at), Claims: []Held{{
		Claim: acop.Claim{ClaimID: "c", WorkItemID: "w", WorkerAgentUID: "a", ExpiresAtUTC: acop.NewTime(at.Add(left)), ClaimStatus: acop.ClaimActive},
		Lease: &acop.Lease{TTLSeconds: int64(term / time.Second), HeartbeatAtUTC: acop.NewTime(beat)},
	}}}
}

// TestRenewalIsDueAtSixtyPercent judges by the owner's clock, which may be hours
// away from ours, and only for claims that this process answers for.
func TestRenewalIsDueAtSixtyPercent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(time.Minute, slog.New(slog.DiscardHandler))
		elsewhere := time.Now().Add(-3 * time.Hour)
		k.observe("a", heldAt(elsewhere, 100*time.Second, 100*time.Second, time.Time{}))
		if at := k.nextDue(); !at.IsZero() {
			t.Fatalf("a claim of an earlier process is due at %v", at)
		}
		k.adopt("a", &acop.Claim{ClaimID: "c", WorkItemID: "w"}, nil)
		if got := time.Until(k.nextDue()); got != 60*time.Second {
			t.Errorf("due in %v, want 60 s", got)
		}
		k.adopt("a", &acop.Claim{ClaimID: "c", WorkItemID: "w"}, new(false))
		if at := k.nextDue(); !at.IsZero() {
			t.Errorf("with auto_renew false it is due at %v", at)
		}
	})
}

// TestHeartbeatIsASignOfLife: a heartbeat that another program sent, such as a
// hook, counts like a call; one that was there before does not.
func TestHeartbeatIsASignOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(time.Minute, slog.New(slog.DiscardHandler))
		k.alive()
		began := time.Now()
		k.observe("a", heldAt(began, time.Minute, time.Minute, began.Add(-time.Hour)))
		time.Sleep(50 * time.Second)
		k.observe("a", heldAt(time.Now(), time.Minute, time.Minute, began.Add(-time.Hour)))
		if !k.life.Equal(began) {
			t.Errorf("an old heartbeat moved the last sign of life by %v", k.life.Sub(began))
		}
		k.observe("a", heldAt(time.Now(), time.Minute, time.Minute, time.Now()))
		if !k.life.Equal(time.Now()) {
			t.Errorf("a new heartbeat is no sign of life: %v ago", time.Since(k.life))
		}
	})
}

// TestLossesAreToldForAWhile and nothing is remembered of those who hold nothing.
func TestLossesAreToldForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(time.Minute, slog.New(slog.DiscardHandler))
		k.observe("a", heldAt(time.Now(), time.Minute, time.Minute, time.Time{}))
		k.observe("a", &Claims{})
		k.settle("a", "c", &loss{ClaimID: "c", ClaimStatus: acop.ClaimExpired})
		if got := k.told("a"); len(got) != 1 {
			t.Fatalf("told: %+v", got)
		}
		time.Sleep(tellLost)
		if got := k.told("a"); len(got) != 1 {
			t.Errorf("after %v: %+v", tellLost, got)
		}
		time.Sleep(time.Second)
		if got := k.told("a"); len(got) != 0 || len(k.known) != 0 {
			t.Errorf("later: told %+v, remembered %d", got, len(k.known))
		}
		k.observe("a", heldAt(time.Now(), time.Minute, time.Minute, time.Time{}))
		k.observe("a", &Claims{})
		k.settle("a", "c", &loss{ClaimID: "c", ClaimStatus: acop.ClaimReleased})
		if len(k.known) != 0 {
			t.Error("a claim that was given back is still remembered")
		}
	})
}

// TestClaimGrantedByALeadIsAdopted: what appears while the process lives is its
// agent's to keep, though it never asked.
func TestClaimGrantedByALeadIsAdopted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(time.Minute, slog.New(slog.DiscardHandler))
		k.observe("a", &Claims{})
		k.observe("a", heldAt(time.Now(), time.Minute, time.Minute, time.Time{}))
		if k.nextDue().IsZero() {
			t.Error("it is never renewed")
		}
	})
}

// nobodysOwner fails the test when it is asked for claims: there is nobody whose
// claims could be meant.
type nobodysOwner struct {
	Owner
	t *testing.T
}

func (o nobodysOwner) Claims(_ context.Context, agent string) (*Claims, error) {
	o.t.Errorf("the claims of %q are asked for", agent)
	return &Claims{}, nil
}

// TestIdleKeeperAsksNothing: an agent that holds nothing for hours costs the owner
// nothing, and never are everybody's claims taken for its own.
func TestIdleKeeperAsksNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(time.Minute, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Hour)
		defer stop()
		k.run(ctx, nobodysOwner{t: t})
	})
}
