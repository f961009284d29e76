package fleet

import (
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
)

// The bounds of what a State keeps, so that a dashboard may run for weeks.
const (
	maxLog     = 10_000 // log lines
	maxEntries = 20_000 // blackboard entries
	maxClosed  = 1_000  // terminal items that were seen
	maxTasks   = 1_000  // tasks, running ones not counted
	maxWorkers = 2_000  // workers without a live claim
)

// New makes an empty State: nothing is known yet, the link is connecting.
func New() *State {
	s := &State{
		Tasks:     make(map[string]*Task),
		Providers: make(map[string]acmp.Provider),
		Changed:   make(map[string]time.Time),
		Link:      Link{State: LinkConnecting},
	}
	s.ix.init()
	s.clearOwner()
	return s
}

// clearOwner forgets everything that came from the owner.
func (s *State) clearOwner() {
	s.Items = make(map[string]*acop.Item)
	s.Closed = make(map[acop.Status]int)
	s.Entries = nil
	s.ix.ownerIndex = newOwnerIndex()
}
