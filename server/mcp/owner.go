package mcp

import (
	"context"

	"signalbox/model/acop"
)

// Owner is the coordination owner as one identity reaches it. A refusal is an
// *acop.Error, also "nobody answers" (backend_unavailable). Methods are called
// concurrently.
type Owner interface {
	// Identity is who the owner takes the caller for.
	Identity(ctx context.Context) (string, error)
	// Do carries out one act.
	Do(ctx context.Context, act acop.Act) (*acop.Receipt, error)
	// Items reads one page of work items.
	Items(ctx context.Context, q Query) (*Page, error)
	// Detail reads everything about one work item.
	Detail(ctx context.Context, workItemID string) (*acop.Detail, error)
	// Claims reads the live claims of one identity.
	Claims(ctx context.Context, agent string) (*Claims, error)
	// Claim reads one claim, live or ended.
	Claim(ctx context.Context, claimID string) (*acop.Claim, error)
	// Entries reads blackboard entries in ascending order. An owner of an earlier
	// version may know neither EntryID, Before nor Newest and give more.
	Entries(ctx context.Context, q EntryQuery) ([]acop.Posted, error)
}

// Query selects work items (B.7, D-57); empty members select everything.
type Query struct {
	Agent       string
	Between     [2]string
	Status      []acop.Status
	Repo        string
	Branch      string
	BlockerCode string
	Claimable   bool
	Actionable  bool
	Text        string
	Order       string // latest, score or priority
	Limit       int
	Cursor      string
}

// Row is one work item in a list.
type Row struct {
	WorkItem     acop.WorkItem
	BlockerCodes []string
	Claim        *acop.Claim
	Overlaps     []acop.Overlap
}

// Page is one page of work items.
type Page struct {
	Rows       []Row
	NextCursor string // "" on the last page
}

// Held is one live claim with its lease.
type Held struct {
	Claim  acop.Claim
	Status acop.Status // of the work item
	Lease  *acop.Lease // nil where the owner does not tell
}

// Claims are the live claims of one identity at one instant of the owner's clock.
type Claims struct {
	AtUTC  acop.Time // zero: not told
	Claims []Held
}

// EntryQuery selects blackboard entries; empty members select everything.
type EntryQuery struct {
	WorkItemID string
	Kind       acop.EntryKind
	Author     string
	EntryID    string // only this one
	Since      uint64 // only entries after this revision
	Before     uint64 // only entries before this revision; 0: all
	Newest     int    // only the newest so many of them; 0: all
}
