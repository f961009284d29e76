package fleet

import (
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
	Conflicts  []Conflict
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

// Agents lists the workers that hold, held or ask for items, those with live
// claims first, then by name. now is this program's clock.
func (s *State) Agents(now time.Time) []Agent { return agentsOf(s, now) }

// ProviderViews lists the providers in the order they were first seen.
func (s *State) ProviderViews() []ProviderView { return providersOf(s) }

// Conflicts lists the pairs of live claims that overlap, oldest first.
func (s *State) Conflicts() []Conflict { return s.ix.overlap.list(s) }

// ConflictsOf lists the conflicts that item takes part in.
func (s *State) ConflictsOf(workItemID string) []Conflict { return s.ix.overlap.of(s, workItemID) }
