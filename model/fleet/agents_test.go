package fleet

import (
	"fmt"
	"testing"
	"time"

	"signalbox/model/acop"
)

func TestAgents(t *testing.T) {
	s := New()
	h := held("b", "worker-2", t0, time.Hour, "src")
	h.Lease.LastHeartbeat = &acop.LeaseHeartbeat{ProgressStatus: "testing"}
	h.Lease.HeartbeatAtUTC = acop.NewTime(after(5 * time.Second))
	h.Lease.RenewedAtUTC = acop.NewTime(after(6 * time.Second))
	h.Lease.Progress, h.Lease.ProgressAtUTC = "half way", acop.NewTime(after(4*time.Second))
	asked := item("c", acop.StatusReady)
	asked.Intents = []acop.Intent{{ClaimIntent: acop.ClaimIntent{ClaimIntentID: "in", WorkerAgentUID: "asker"}, State: acop.IntentWaiting}}
	o := newOwner(s).snapshot(h, held("a", "worker-2", t0, time.Minute, "src/x"), asked)
	o.event(acop.VerbClaim, held("d", "worker-1", t0, time.Hour), acop.StatusReady, nil)
	o.now = after(time.Minute)
	o.event(acop.VerbRevoke, item("d", acop.StatusReady), acop.StatusInProgress, func(ev *acop.Event) {
		ev.Claim = &acop.Claim{ClaimID: "claim-d", WorkItemID: "d", WorkerAgentUID: "worker-1", ClaimStatus: acop.ClaimRevoked}
	})
	o.post("e", "a", acop.EntryFinding, "somebody")

	agents := s.Agents(after(time.Minute))
	if len(agents) != 3 || agents[0].UID != "worker-2" || agents[1].UID != "asker" || agents[2].UID != "worker-1" {
		t.Fatalf("%+v", agents)
	}
	w := agents[0]
	if len(w.Held) != 2 || w.Held[0].ID() != "a" || w.BeatText != "testing" || w.ProgressText != "half way" ||
		!w.LastRenewal.Equal(after(6*time.Second)) || !w.LastBeat.Equal(after(5*time.Second)) ||
		!w.LastProgress.Equal(after(4*time.Second)) || len(w.Conflicts) != 1 || w.NoProgress {
		t.Errorf("%+v", w)
	}
	if agents[1].Waiting != 1 {
		t.Errorf("%+v", agents[1])
	}
	if e := agents[2].Ended; len(e) != 1 || e[0].Verb != acop.VerbRevoke || e[0].Claim.ClaimStatus != acop.ClaimRevoked {
		t.Errorf("%+v", e)
	}
}

// A worker that renews without showing progress for ten minutes says so; an
// entry it posts is progress.
func TestAgentWithoutProgress(t *testing.T) {
	s := New()
	h := held("a", "w", t0, time.Hour)
	h.Lease.RenewedAtUTC = acop.NewTime(after(9 * time.Minute))
	o := newOwner(s).snapshot(h)
	if s.Agents(after(10 * time.Minute))[0].NoProgress || !s.Agents(after(10*time.Minute + time.Second))[0].NoProgress {
		t.Error("the verdict belongs at ten minutes")
	}
	o.now = after(10 * time.Minute)
	o.post("e", "a", acop.EntryPartialResult, "w")
	if s.Agents(after(11 * time.Minute))[0].NoProgress {
		t.Error("a partial result is progress")
	}
}

func TestWorkersAreBounded(t *testing.T) {
	s := New()
	o := newOwner(s).snapshot(held("a", "keeper", t0, time.Hour))
	for i := range maxWorkers * 2 {
		o.now = after(time.Duration(i) * time.Second)
		o.post(fmt.Sprint(i), "a", acop.EntryFinding, fmt.Sprintf("w%d", i))
	}
	if len(s.ix.workers) > maxWorkers+maxWorkers/8+1 || s.ix.workers["keeper"] == nil {
		t.Errorf("%d workers", len(s.ix.workers))
	}
}

func TestEndedClaimsAreBounded(t *testing.T) {
	s := New()
	o := newOwner(s).snapshot()
	for i := range 20 {
		o.event(acop.VerbRelease, item("a", acop.StatusReady), acop.StatusInProgress, func(ev *acop.Event) {
			ev.Claim = &acop.Claim{ClaimID: fmt.Sprint(i), WorkerAgentUID: "w", ClaimStatus: acop.ClaimReleased}
		})
	}
	if e := s.Agents(t0)[0].Ended; len(e) != endedKept || e[0].Claim.ClaimID != "19" {
		t.Errorf("%+v", e)
	}
}

// A dashboard that only draws at NextChange and on facts misses no step, and
// does not draw all the time either.
func TestNextChangeOfBars(t *testing.T) {
	s := New()
	newOwner(s).snapshot(held("a", "w", t0, time.Hour))
	if got := s.NextChange(t0).Sub(t0); got < time.Second || got > time.Minute {
		t.Errorf("a lease of an hour steps after %s", got)
	}
	if got := s.NextChange(after(59 * time.Minute)).Sub(after(59 * time.Minute)); got != time.Second {
		t.Errorf("in its last minute after %s", got)
	}
	if !s.NextChange(after(2 * time.Hour)).IsZero() {
		t.Error("a lapsed lease still moves")
	}
	sent(s, "t", t0, time.Second, time.Minute)
	if got := s.NextChange(t0).Sub(t0); got != minStep {
		t.Errorf("with a fast heartbeat after %s", got)
	}
}
