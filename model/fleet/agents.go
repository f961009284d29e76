package fleet

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
)

// StaleAfter is how long a worker may renew without any evidence of progress
// before the dashboard says so.
const StaleAfter = 10 * time.Minute

// Agent is one worker as its claims and entries show it.
type Agent struct {
	UID string
	// Held are the items it holds now, the lease that ends first in front.
	Held []*acop.Item
	// Ended are its latest claims that ended, newest first, at most five.
	Ended []EndedClaim
	// Waiting counts its claim requests that wait for a lead.
	Waiting int

	LastRenewal  time.Time // owner's clock; zero: never renewed
	LastBeat     time.Time // receipt of the last claim heartbeat, owner's clock
	BeatText     string    // its progress_summary or progress_status
	LastProgress time.Time // last evidence of progress: text, entry or completion
	ProgressText string
	// NoProgress is set when it renews but showed no progress for [StaleAfter].
	NoProgress bool
	// Conflicts are the overlaps of what it holds, each once.
	Conflicts []Conflict
}

// EndedClaim is a claim that ended and what became of it.
type EndedClaim struct {
	Claim acop.Claim
	At    time.Time
	Verb  acop.Verb // complete, release, revoke, expire, cancel or supersede
}

// Conflict is a pair of live claims that share paths or symbols.
type Conflict struct {
	ItemA, ItemB     string // ItemA was granted first
	WorkerA, WorkerB string
	Paths, Symbols   []string
	Since            time.Time // the later grant, owner's clock
}

// ProviderView is a provider with what this program's tasks say about it.
type ProviderView struct {
	Provider    acmp.Provider
	Running     []string // task ids, oldest first
	Done        int
	Failed      int
	Cancelled   int
	CostCU      string // sum of the reported costs, decimal
	Overcharged int
	LastFailure string
}

// Conflicts lists the pairs of live claims that overlap, oldest first.
func (s *State) Conflicts() []Conflict { return s.ix.overlap.list(s) }

// ConflictsOf lists the conflicts that item takes part in.
func (s *State) ConflictsOf(workItemID string) []Conflict { return s.ix.overlap.of(s, workItemID) }

// Agents lists the workers that hold, held or ask for items, those with live
// claims first, then by name. now is this program's clock.
func (s *State) Agents(now time.Time) []Agent {
	waiting := make(map[string]int)
	for id := range s.ix.waiting {
		for _, in := range s.Items[id].Intents {
			if in.State == acop.IntentWaiting {
				waiting[in.ClaimIntent.WorkerAgentUID]++
			}
		}
	}
	out := make([]Agent, 0, len(s.ix.workers)+len(waiting))
	for uid, w := range s.ix.workers {
		if len(w.held) == 0 && len(w.ended) == 0 && waiting[uid] == 0 {
			continue // it only posted
		}
		out = append(out, s.agent(uid, w, waiting[uid], now))
		delete(waiting, uid)
	}
	for uid, n := range waiting {
		if n > 0 {
			out = append(out, Agent{UID: uid, Waiting: n})
		}
	}
	slices.SortFunc(out, func(a, b Agent) int {
		if (len(a.Held) > 0) != (len(b.Held) > 0) {
			return len(b.Held) - len(a.Held)
		}
		return strings.Compare(a.UID, b.UID)
	})
	return out
}

func (s *State) agent(uid string, w *worker, waiting int, now time.Time) Agent {
	a := Agent{UID: uid, Ended: slices.Clone(w.ended), Waiting: waiting, LastProgress: w.lastSeen}
	for id := range w.held {
		a.Held = append(a.Held, s.Items[id])
	}
	slices.SortFunc(a.Held, func(x, y *acop.Item) int {
		if c := x.Lease.Claim.ExpiresAtUTC.Std().Compare(y.Lease.Claim.ExpiresAtUTC.Std()); c != 0 {
			return c
		}
		return strings.Compare(x.ID(), y.ID())
	})
	for _, item := range a.Held {
		l := item.Lease
		a.LastRenewal = later(a.LastRenewal, l.RenewedAtUTC.Std())
		if t := l.HeartbeatAtUTC.Std(); l.LastHeartbeat != nil && !t.Before(a.LastBeat) {
			a.LastBeat = t
			a.BeatText = cmp.Or(l.LastHeartbeat.ProgressSummary, l.LastHeartbeat.ProgressStatus)
		}
		if t := l.ProgressAtUTC.Std(); !t.Before(a.LastProgress) && !t.IsZero() {
			a.LastProgress, a.ProgressText = t, l.Progress
		}
		// The grant itself counts as a start: nobody is stale from the first second.
		a.LastProgress = later(a.LastProgress, l.Claim.GrantedAtUTC.Std())
		for _, c := range s.ConflictsOf(item.ID()) {
			if c.WorkerA != c.WorkerB || c.ItemA == item.ID() { // both sides its own: once
				a.Conflicts = append(a.Conflicts, c)
			}
		}
	}
	ownerNow := s.OwnerNow(now)
	a.NoProgress = len(a.Held) > 0 && ownerNow.Sub(a.LastProgress) > StaleAfter
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// ProviderViews lists the providers in the order they were first seen.
func (s *State) ProviderViews() []ProviderView {
	running := make(map[string][]string)
	for _, id := range s.RunningTasks() {
		p := s.Tasks[id].Provider
		running[p] = append(running[p], id)
	}
	out := make([]ProviderView, 0, len(s.ProviderOrder))
	for _, name := range s.ProviderOrder {
		st := s.provider(name)
		out = append(out, ProviderView{
			Provider: s.Providers[name], Running: running[name],
			Done: st.done, Failed: st.failed, Cancelled: st.cancelled,
			CostCU: string(st.cost), Overcharged: st.overcharged, LastFailure: st.lastFailure,
		})
	}
	return out
}
