package acop

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"signalbox/model/acop"
)

// get reads one resource into out, trying again as Do does.
func (c *Client) get(ctx context.Context, what string, timeout time.Duration, query url.Values, out any, path ...string) error {
	ans, err := c.exchange(ctx, &request{
		method:  http.MethodGet,
		url:     c.endpoint(query, path...),
		timeout: timeout,
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(ans.body, out); err != nil {
		return fmt.Errorf("read %s: %w: %w", what, ErrProtocol, err)
	}
	return nil
}

// Snapshot reads all non-terminal state at one revision.
func (c *Client) Snapshot(ctx context.Context) (*acop.Snapshot, error) {
	ans, err := c.exchange(ctx, c.snapshotRequest())
	if err != nil {
		return nil, err
	}
	s, _, err := c.readSnapshot(ans)
	return s, err
}

func (c *Client) snapshotRequest() *request {
	return &request{method: http.MethodGet, url: c.endpoint(nil, "snapshot"), timeout: bulkTimeout}
}

// readSnapshot also tells when, by our clock, the owner read its own: some time
// between our sending and receiving, so the middle is the best guess.
func (c *Client) readSnapshot(ans *answer) (*acop.Snapshot, time.Time, error) {
	var s acop.Snapshot
	err := json.Unmarshal(ans.body, &s)
	if err == nil {
		err = checkSnapshot(&s)
	}
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read the snapshot: %w: %w", ErrProtocol, err)
	}
	c.learnIdentity(&s)
	return &s, ans.sentAt.Add(ans.doneAt.Sub(ans.sentAt) / 2), nil
}

// Detail reads everything about one item.
func (c *Client) Detail(ctx context.Context, workItemID string) (*acop.Detail, error) {
	if workItemID == "" {
		return nil, fmt.Errorf("read a work item: no id given")
	}
	var d acop.Detail
	if err := c.get(ctx, "the work item", bulkTimeout, nil, &d, "work-items", workItemID); err != nil {
		return nil, err
	}
	if d.Item == nil || d.Item.ID() != workItemID {
		return nil, fmt.Errorf("read work item %s: %w: the answer is about something else", workItemID, ErrProtocol)
	}
	if err := checkItem(d.Item); err != nil {
		return nil, fmt.Errorf("read work item %s: %w: %w", workItemID, ErrProtocol, err)
	}
	return &d, nil
}

// Query selects work items; empty members select everything. It is what the
// five pickup queries of the core text are made of (B.7, D-57).
type Query struct {
	Agent       string    // actionable for, or held by, this identity
	Between     [2]string // both take part
	Status      []acop.Status
	Repo        string
	Branch      string
	BlockerCode string
	Claimable   bool
	Actionable  bool
	Text        string // free text
	Order       string // latest (default), score or priority
	Limit       int    // 0 = the owner's choice, at most 1000
	Cursor      string // of the page before
	MinRevision uint64 // wait (at most 5 s) until this revision is visible
}

func (q *Query) values() url.Values {
	v := url.Values{}
	set := func(key, value string) {
		if value != "" {
			v.Set(key, value)
		}
	}
	set("agent", q.Agent)
	if q.Between[0] != "" || q.Between[1] != "" {
		v.Set("between", q.Between[0]+","+q.Between[1])
	}
	for _, s := range q.Status {
		v.Add("status", string(s))
	}
	set("repo", q.Repo)
	set("branch", q.Branch)
	set("blocker_code", q.BlockerCode)
	set("q", q.Text)
	set("order", q.Order)
	set("cursor", q.Cursor)
	if q.Claimable {
		v.Set("claimable", "1")
	}
	if q.Actionable {
		v.Set("actionable", "1")
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.MinRevision > 0 {
		v.Set("min_revision", strconv.FormatUint(q.MinRevision, 10))
	}
	return v
}

// Row is one work item in a list: what a reader needs to choose.
type Row struct {
	WorkItem     acop.WorkItem  `json:"work_item"`
	Status       acop.Status    `json:"status"`
	BlockerCodes []string       `json:"blocker_codes"`
	Blockers     []acop.Blocker `json:"blockers"`
	Claim        *acop.Claim    `json:"claim,omitempty"`
	Overlaps     []acop.Overlap `json:"overlaps"`
	Revision     uint64         `json:"revision"` // of the item
}

// List is one page of work items.
type List struct {
	ProtocolVersion string `json:"protocol_version"`
	Revision        uint64 `json:"revision"` // of the owner's log
	WorkItems       []Row  `json:"work_items"`
	NextCursor      string `json:"next_cursor,omitempty"` // "" on the last page
}

// Items reads one page of the work items that q selects.
func (c *Client) Items(ctx context.Context, q Query) (*List, error) {
	var l List
	if err := c.get(ctx, "the work items", bulkTimeout, q.values(), &l, "work-items"); err != nil {
		return nil, err
	}
	for i := range l.WorkItems {
		if err := checkStatus(l.WorkItems[i].Status); err != nil {
			return nil, fmt.Errorf("read the work items: %w: %w", ErrProtocol, err)
		}
	}
	return &l, nil
}

// Settings reads the owner's policies.
func (c *Client) Settings(ctx context.Context) (*acop.Settings, error) {
	var w struct {
		acop.Settings
		Nested *acop.Settings `json:"settings"`
	}
	if err := c.get(ctx, "the settings", tryTimeout, nil, &w, "settings"); err != nil {
		return nil, err
	}
	if w.Nested != nil {
		return w.Nested, nil
	}
	return &w.Settings, nil
}

// Claim reads one claim; workers do so after a replayed answer (B63).
func (c *Client) Claim(ctx context.Context, claimID string) (*acop.Claim, error) {
	if claimID == "" {
		return nil, fmt.Errorf("read a claim: no id given")
	}
	var w struct {
		Claim *acop.Claim `json:"claim"`
	}
	if err := c.get(ctx, "the claim", tryTimeout, nil, &w, "claims", claimID); err != nil {
		return nil, err
	}
	if w.Claim == nil || w.Claim.ClaimID != claimID {
		return nil, fmt.Errorf("read claim %s: %w: the answer is about something else", claimID, ErrProtocol)
	}
	return w.Claim, nil
}

// EntryQuery selects blackboard entries; empty members select everything.
type EntryQuery struct {
	WorkItemID string
	Kind       acop.EntryKind
	Author     string
	EntryID    string // only this one
	Since      uint64 // only entries after this revision
	Before     uint64 // only entries before this revision; 0: all
	Newest     int    // only the newest so many; 0: all
}

// Entries reads blackboard entries in ascending order.
func (c *Client) Entries(ctx context.Context, q EntryQuery) ([]acop.Posted, error) {
	v := url.Values{}
	if q.WorkItemID != "" {
		v.Set("work_item", q.WorkItemID)
	}
	if q.Kind != "" {
		v.Set("kind", string(q.Kind))
	}
	if q.Author != "" {
		v.Set("author", q.Author)
	}
	if q.Since > 0 {
		v.Set("since", strconv.FormatUint(q.Since, 10))
	}
	if q.EntryID != "" {
		v.Set("entry", q.EntryID)
	}
	if q.Before > 0 {
		v.Set("before", strconv.FormatUint(q.Before, 10))
	}
	if q.Newest > 0 {
		v.Set("newest", strconv.Itoa(q.Newest))
	}
	var w struct {
		Entries []acop.Posted `json:"entries"`
	}
	if err := c.get(ctx, "the blackboard", bulkTimeout, v, &w, "blackboard"); err != nil {
		return nil, err
	}
	return w.Entries, nil
}
