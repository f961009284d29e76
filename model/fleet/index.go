package fleet

import (
	"encoding/json"
	"math"
	"time"

	"signalbox/model/acop"
)

// index is what Apply keeps beside the exported fields, so that nothing has to
// walk over all items for each event.
type index struct {
	ownerIndex

	workers   map[string]*worker
	providers map[string]*providerStats

	liveTasks   map[string]struct{} // not in a final state
	endedTasks  []string            // in the order they ended
	trimmed     int                 // how many of those have had their output cut
	outputTotal int                 // bytes held by all outputs
	outputLimit int                 // maxOutputTotal, smaller in tests
	earlier     int                 // how many tasks of earlier runs are kept
	unseen      []string            // those of them that ask for a person

	changed  []change    // the order of State.Changed
	ownLines map[int]int // request id of an own act -> number of its log line
	settled  map[string]settlement
	asks     askCache
}

// ownerIndex is the part that a snapshot replaces.
type ownerIndex struct {
	lastIndex int // Index of the last event applied at State.Revision

	count       map[acop.Status]int
	closedOrder []string
	live        map[string]struct{} // items somebody holds
	waiting     map[string]struct{} // items with a waiting intent
	lapsed      map[string]lapse
	deps        depGraph
	entries     entryIndex
	overlap     overlapIndex
}

// lapse remembers a lease that ran out while its item was in work.
type lapse struct {
	worker string
	at     time.Time // owner's clock
}

type change struct {
	id string
	at time.Time
}

type settlement struct {
	revision uint64
	reason   string
}

type providerStats struct {
	done, failed, cancelled, overcharged int
	cost                                 json.Number
	lastFailure                          string
}

func (x *index) init() {
	x.workers = make(map[string]*worker)
	x.providers = make(map[string]*providerStats)
	x.liveTasks = make(map[string]struct{})
	x.ownLines = make(map[int]int)
	x.settled = make(map[string]settlement)
	x.outputLimit = maxOutputTotal
	x.asks.init()
}

func newOwnerIndex() ownerIndex {
	return ownerIndex{
		lastIndex: math.MaxInt,
		count:     make(map[acop.Status]int),
		live:      make(map[string]struct{}),
		waiting:   make(map[string]struct{}),
		lapsed:    make(map[string]lapse),
		deps:      newDepGraph(),
		entries:   newEntryIndex(),
		overlap:   newOverlapIndex(),
	}
}

// provider gives the statistics of a provider, making room for a new one.
func (s *State) provider(name string) *providerStats {
	p := s.ix.providers[name]
	if p == nil {
		p = new(providerStats)
		s.ix.providers[name] = p
	}
	return p
}

// changedFor is how long an instant in State.Changed is kept.
const changedFor = 5 * time.Second

// touch notes that an object changed at this instant and forgets old ones.
func (s *State) touch(id string, at time.Time) {
	if id == "" || at.IsZero() {
		return
	}
	s.Changed[id] = at
	s.ix.changed = append(s.ix.changed, change{id, at})
	for len(s.ix.changed) > 0 && at.Sub(s.ix.changed[0].at) > changedFor {
		old := s.ix.changed[0]
		s.ix.changed = s.ix.changed[1:]
		if s.Changed[old.id].Equal(old.at) {
			delete(s.Changed, old.id)
		}
	}
}

// Count is the number of known items in status st; closed ones beyond those that
// were seen are in [State.Closed].
func (s *State) Count(st acop.Status) int { return s.ix.count[st] }

// OwnerNow is now by the owner's clock, which leases are judged by.
func (s *State) OwnerNow(now time.Time) time.Time { return now.Add(s.Skew) }

// FromOwner turns an instant of the owner's clock into one of this program's.
func (s *State) FromOwner(t acop.Time) time.Time {
	return s.local(t.Std())
}

// local turns an instant of the owner's clock into one of this program's.
func (s *State) local(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-s.Skew)
}

// Held lists the items that somebody holds, in no particular order.
func (s *State) Held() []*acop.Item {
	out := make([]*acop.Item, 0, len(s.ix.live))
	for id := range s.ix.live {
		out = append(out, s.Items[id])
	}
	return out
}

// RunningTasks lists the ids of tasks that have not ended, in the order of
// [State.TaskOrder].
func (s *State) RunningTasks() []string {
	out := make([]string, 0, len(s.ix.liveTasks))
	for i := len(s.TaskOrder) - 1; i >= 0 && len(out) < len(s.ix.liveTasks); i-- {
		if _, ok := s.ix.liveTasks[s.TaskOrder[i]]; ok {
			out = append(out, s.TaskOrder[i])
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}
