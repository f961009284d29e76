package fleet

import (
	"time"
)

// AskKind says why something waits for a person (dashboard "1 Queue").
type AskKind string

// The ten kinds of ask.
const (
	AskDecide      AskKind = "decide"      // an item requires attention
	AskGrant       AskKind = "grant"       // a claim request waits
	AskAccept      AskKind = "accept"      // work was completed
	AskLease       AskKind = "lease"       // a lease is about to lapse, or lapsed in mid-work
	AskTask        AskKind = "task"        // a task is in trouble
	AskBlocked     AskKind = "blocked"     // only a person can unblock it
	AskReview      AskKind = "review"      // a review_request has no answer
	AskOverlap     AskKind = "overlap"     // a live claim shares paths or symbols with earlier ones
	AskBudget      AskKind = "budget"      // a provider wants more than the ceiling
	AskUnreachable AskKind = "unreachable" // the owner or a provider does not answer
)

// AskKinds lists the ten kinds.
func AskKinds() []AskKind {
	return []AskKind{
		AskDecide, AskGrant, AskAccept, AskLease, AskTask, AskBlocked, AskReview, AskOverlap, AskBudget, AskUnreachable,
	}
}

// Severity grades an ask; higher is worse.
type Severity int

// The severities of an ask.
const (
	SeverityLow Severity = iota
	SeverityMedium
	SeverityHigh
	SeverityCritical
)

// String gives the word for s.
func (s Severity) String() string {
	switch {
	case s <= SeverityLow:
		return "low"
	case s == SeverityMedium:
		return "medium"
	case s == SeverityHigh:
		return "high"
	}
	return "critical"
}

// TargetKind says what sort of object an ask is about.
type TargetKind string

// The kinds of target.
const (
	TargetItem     TargetKind = "item"
	TargetClaim    TargetKind = "claim"
	TargetIntent   TargetKind = "intent"
	TargetTask     TargetKind = "task"
	TargetEntry    TargetKind = "entry"
	TargetProvider TargetKind = "provider"
	TargetOwner    TargetKind = "owner"
)

// Target names the object an ask is about.
type Target struct {
	Kind TargetKind
	ID   string
}

// Ask is one row of the queue: something that waits for a person, derived from
// the state. Texts in it came from outside and are hostile.
type Ask struct {
	Kind   AskKind
	Target Target

	WorkItemID string // "" where no item is concerned
	ClaimID    string
	TaskID     string
	IntentID   string
	EntryID    string
	Provider   string

	Title string // what, in one line
	Who   string // the identity it concerns: worker, author, producer or provider
	// With are the ids of the items whose claims stood first where two or more
	// overlap, earliest claim first, with [WithSep] between them; else "".
	With  string
	Since time.Time
	// Due is when something happens by itself (a lease or a request ends, a
	// deadline passes); zero when nothing does. This program's clock.
	Due      time.Time
	Severity Severity
	// Blocks counts the open items that wait for this one, over any number of
	// steps.
	Blocks int
	// Consequence says what happens if nobody acts, without a full stop.
	Consequence string
	Detail      string // more, in a few words
	// Reason is the word for the cause within the kind: "dead", "deadline",
	// "failed", "lapsed", ... It may change while the ask stays.
	Reason string

	// Revision of the target at the owner, which its holder's renewals move too; for
	// a task the number of times its situation changed.
	Revision uint64
	// Key identifies the ask over time: same cause, same key.
	Key string
}

// WithSep stands between the ids of [Ask.With]; no id holds it.
const WithSep = "\x00"

// RankRule is the rule the queue is ordered by: worst severity first, then the
// ask that holds up most, then the oldest.
const RankRule = "severity · blocks · age"

// Asks derives everything that waits for a person at now (this program's
// clock), in the order of [RankRule]. It is a pure function of the state; what
// cannot have changed since the last call is taken from a cache inside the
// State, so it belongs to the State's one goroutine. The slice must not be
// changed and stays valid after later calls.
func (s *State) Asks(now time.Time) []Ask { return s.ix.asks.at(s, now) }

// NextChange is the next instant after now at which an ask or a bar changes by
// time alone; zero when nothing changes until the next fact. A dashboard that
// draws at this instant and on facts needs no other tick for them.
func (s *State) NextChange(now time.Time) time.Time { return nextChange(s, now) }

// DiffAsks compares two results of [State.Asks] by key: what came and what left.
func DiffAsks(before, after []Ask) (gained, gone []Ask) {
	return missingFrom(before, after), missingFrom(after, before)
}

// missingFrom lists the asks of all that base does not hold.
func missingFrom(base, all []Ask) []Ask {
	if len(base) > 0 && len(all) > 0 && len(base) == len(all) && &base[0] == &all[0] {
		return nil // the same result
	}
	keys := make(map[string]struct{}, len(base))
	for i := range base {
		keys[base[i].Key] = struct{}{}
	}
	var out []Ask
	for i := range all {
		if _, ok := keys[all[i].Key]; !ok {
			out = append(out, all[i])
		}
	}
	return out
}
