package store

import (
	"errors"

	"signalbox/model/acop"
)

// ErrBadQuery means that a query cannot be answered as asked, for example
// because its cursor was made for another order.
var ErrBadQuery = errors.New("the query cannot be answered")

// Order is the order of the rows of an item query.
type Order string

// The orders of an item query. All are total: ties end at the id.
const (
	OrderLatest   Order = "latest"   // created_at_utc descending, then score, then id (D-57)
	OrderScore    Order = "score"    // actionability_score descending, then latest
	OrderPriority Order = "priority" // urgent first, then latest
)

// The least, usual and greatest number of rows of one answer.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// ItemQuery selects items. Empty members do not restrict; those given must all
// hold (D-57).
type ItemQuery struct {
	// Agent keeps what this agent may pick up: targeted at it, or untargeted
	// with it among the participants, or untargeted without participants.
	Agent string
	// Between keeps items on which both identities appear among producer,
	// target and participants.
	Between     [2]string
	Statuses    []acop.Status // any of them
	RepoID      string
	Branch      string
	BlockerCode string
	// Claimable keeps items that a claim could be granted on: ready, without a
	// live lease. Actionable keeps items whose status is ready (D-57).
	Claimable  bool
	Actionable bool
	// Text keeps items with this text in id, title, summary, producer, target
	// or paths, without regard to case.
	Text   string
	Order  Order  // "" = OrderLatest
	Limit  int    // 0 = DefaultLimit; more than MaxLimit is cut to it
	Cursor string // "" = from the start; else what the last answer gave
}

// EntryQuery selects blackboard entries, ascending by revision. Empty members
// do not restrict.
type EntryQuery struct {
	WorkItemID string
	Kind       acop.EntryKind
	Author     string
	EntryID    string // at most this one
	After      uint64 // only entries with a greater revision
	Before     uint64 // only entries with a smaller revision; 0 = all
	Limit      int    // the first so many; 0 = all
	Newest     int    // of these, the last so many; 0 = all
}

// EventFilter selects events. Empty members do not restrict.
type EventFilter struct {
	WorkItems []string
	Families  []acop.Family
}
