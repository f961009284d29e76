package fleet

import (
	"slices"
	"strings"
	"time"

	"signalbox/model/acop"
)

// endedKept is how many ended claims are kept for each worker.
const endedKept = 5

// worker is what is kept about an identity that claims or posts.
type worker struct {
	held     map[string]struct{} // items
	ended    []EndedClaim        // newest first
	lastSeen time.Time           // last entry or completion, owner's clock
}

func (s *State) worker(uid string) *worker {
	w := s.ix.workers[uid]
	if w == nil {
		w = &worker{held: make(map[string]struct{})}
		s.ix.workers[uid] = w
		if len(s.ix.workers) > maxWorkers+maxWorkers/8 {
			s.limitWorkers()
		}
	}
	return w
}

func (w *worker) posted(at time.Time) { w.lastSeen = later(w.lastSeen, at) }

// indexHolder moves an item between the workers that hold it.
func (s *State) indexHolder(id string, before, after *acop.Item) {
	var old, now string
	if before != nil {
		old = before.Holder()
	}
	if after != nil && after.Status().Held() {
		now = after.Holder()
	}
	if old != now && old != "" {
		if w := s.ix.workers[old]; w != nil {
			delete(w.held, id)
		}
	}
	if now != "" {
		s.worker(now).held[id] = struct{}{}
	}
	if after != nil && after.Completion != nil && (before == nil || before.Completion == nil) {
		s.worker(after.Completion.CompletedBy).posted(after.Completion.CompletedAtUTC.Std())
	}
}

// noteClaim keeps what became of a claim that an event says has ended.
func (s *State) noteClaim(ev *acop.Event) {
	c := ev.Claim
	if c == nil || c.ClaimStatus == acop.ClaimActive || ev.Verb == string(acop.VerbRefused) {
		return
	}
	w := s.worker(c.WorkerAgentUID)
	if slices.ContainsFunc(w.ended, func(e EndedClaim) bool { return e.Claim.ClaimID == c.ClaimID }) {
		return // the second event of the same act
	}
	w.ended = slices.Insert(w.ended, 0, EndedClaim{Claim: *c, At: ev.AtUTC.Std(), Verb: acop.Verb(ev.Verb)})
	w.ended = w.ended[:min(len(w.ended), endedKept)]
}

// limitWorkers forgets workers without a live claim beyond the bound: those that
// were seen longest ago.
func (s *State) limitWorkers() {
	type idle struct {
		uid  string
		seen time.Time
	}
	var idles []idle
	for uid, w := range s.ix.workers {
		if len(w.held) > 0 {
			continue
		}
		seen := w.lastSeen
		if len(w.ended) > 0 {
			seen = later(seen, w.ended[0].At)
		}
		idles = append(idles, idle{uid, seen})
	}
	if len(idles) <= maxWorkers {
		return
	}
	slices.SortFunc(idles, func(a, b idle) int {
		if c := a.seen.Compare(b.seen); c != 0 {
			return c
		}
		return strings.Compare(a.uid, b.uid)
	})
	for _, w := range idles[:len(idles)-maxWorkers] {
		delete(s.ix.workers, w.uid)
	}
}
