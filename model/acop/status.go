package acop

// Level says how the specification treats a change from one state to another.
type Level int

// The levels. Same is not a transition: a state is always itself.
const (
	Forbidden Level = iota
	May             // optional in the specification; this owner implements all of them
	Must
	Same
)

// String gives the word used in the matrix: forbidden, may, must or same.
func (l Level) String() string {
	switch l {
	case May:
		return "may"
	case Must:
		return "must"
	case Same:
		return "same"
	}
	return "forbidden"
}

// Allowed reports whether the change may happen at all (Must or May).
func (l Level) Allowed() bool { return l == Must || l == May }

// transition is one change of a work item's status that the specification
// lists, with what brings it about (B.12).
type transition struct {
	from    Status
	to      Status
	level   Level
	trigger string
}

// The triggers that belong to several transitions.
const (
	triggerEnd       = "release, expiry, revoke"
	triggerHold      = "release or revoke with hold"
	triggerCancel    = "cancel"
	triggerSupersede = "supersede"
)

//	ready ⇄ blocked      requires_attention → ready, blocked
//	  │ grant
//	claimed → in_progress → completed → accepted → consumed
//	  └──────────┴→ ready, released → ready
//
// and from each of the eight states that are not terminal to cancelled and
// superseded. Nothing leaves consumed, cancelled and superseded. They are 27 that
// must and 4 that may exist (C-050, C-051); all others are forbidden, whether the
// specification names them (C-053 to C-055) or leaves them out.
var transitions = append([]transition{
	{StatusReady, StatusClaimed, Must, "claim granted"},
	{StatusReady, StatusBlocked, Must, "blocker raised"},
	{StatusBlocked, StatusReady, Must, "last blocker resolved"},
	{StatusClaimed, StatusInProgress, Must, "first renew/heartbeat/reported work"},
	{StatusClaimed, StatusReady, Must, triggerEnd},
	{StatusClaimed, StatusReleased, Must, triggerHold},
	{StatusInProgress, StatusCompleted, Must, "complete with evidence"},
	{StatusInProgress, StatusReady, Must, triggerEnd},
	{StatusInProgress, StatusReleased, Must, triggerHold},
	{StatusCompleted, StatusAccepted, Must, "accept"},
	{StatusAccepted, StatusConsumed, Must, "consume (extension) or accept_mode=consume"},
	{StatusRequiresAttention, StatusReady, May, "decision"},
	{StatusRequiresAttention, StatusBlocked, May, "decision deferred behind blocker"},
	{StatusCompleted, StatusConsumed, May, "consume without accept (off by default)"},
	{StatusReleased, StatusReady, May, "requeue"},
}, endings()...)

// endings are the two ways out that every non-terminal state has.
func endings() []transition {
	var ts []transition
	for _, s := range Statuses() {
		if s.Terminal() {
			continue
		}
		ts = append(ts,
			transition{s, StatusCancelled, Must, triggerCancel},
			transition{s, StatusSuperseded, Must, triggerSupersede})
	}
	return ts
}

// levels is the same as a table, for one look-up per decision.
var levels = func() map[[2]Status]Level {
	m := make(map[[2]Status]Level, len(transitions))
	for _, t := range transitions {
		m[[2]Status{t.from, t.to}] = t.level
	}
	return m
}()

// TransitionLevel decides whether a work item may go from one status to another
// (B.12). Every pair that is not listed is Forbidden, unknown states included.
func TransitionLevel(from, to Status) Level {
	if from == to && from.Valid() {
		return Same
	}
	return levels[[2]Status{from, to}]
}

// CanStart reports whether a new item may be put with status s (C-056).
func CanStart(s Status) bool {
	return s == StatusReady || s == StatusBlocked || s == StatusRequiresAttention
}

// RefusalCode is the code of a refused change of an item in status from (B.12).
func RefusalCode(from Status) Code {
	switch from {
	case StatusCancelled:
		return CodeItemCancelled
	case StatusSuperseded:
		return CodeItemSuperseded
	}
	return CodeNotActionable
}

// ClaimTransition decides whether a claim may go from one status to another
// (B.13): only an active claim ever changes, and it changes once (C-064).
func ClaimTransition(from, to ClaimStatus) Level {
	switch {
	case !from.Valid() || !to.Valid():
		return Forbidden
	case from == to:
		return Same
	case from == ClaimActive:
		return Must
	}
	return Forbidden
}

// ClaimRefusalCode is the code of a refused act on a claim that is no longer
// active (C.1); "" for an active one.
func ClaimRefusalCode(s ClaimStatus) Code {
	switch s {
	case ClaimReleased:
		return CodeClaimReleased
	case ClaimExpired:
		return CodeLeaseExpired
	case ClaimRevoked:
		return CodeClaimRevoked
	}
	return ""
}

// Terminal reports whether nothing can follow s (C-053).
func (s Status) Terminal() bool {
	return s == StatusConsumed || s == StatusCancelled || s == StatusSuperseded
}

// Held reports whether an item in status s has a live claim.
func (s Status) Held() bool { return s == StatusClaimed || s == StatusInProgress }

// Closed reports whether s is one of the four that the Board folds away.
func (s Status) Closed() bool { return s.Terminal() || s == StatusReleased }
