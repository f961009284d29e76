package acop

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

// look prepares a read: it waits for a revision if asked to and settles what has
// ended by time, so that nobody sees a lease that is over (H-081, B48).
func (v *visit) look() bool {
	ctx, cancel := context.WithTimeout(v.r.Context(), readDeadline)
	defer cancel()
	if q := v.r.URL.Query().Get("min_revision"); q != "" {
		n, err := strconv.ParseUint(q, 10, 64)
		if err != nil {
			v.refuse(violation("min_revision must be a number"))
			return false
		}
		if err := v.s.opts.Store.WaitRevision(ctx, n); err != nil {
			v.refuse(unavailable("this revision is not visible yet"))
			return false
		}
	}
	v.s.service.settle(ctx)
	return true
}

// page is what every list answer begins with.
type page struct {
	ProtocolVersion string `json:"protocol_version"`
	Revision        uint64 `json:"revision"`
}

// page is taken before what the answer shows: an answer may be newer than its
// revision, but never older, so that whoever follows the events from there on
// misses nothing.
func (v *visit) page() page { return page{core.ProtocolVersion, v.s.opts.Store.Revision()} }

// row is one item in a list: the core item with what a reader needs to choose.
type row struct {
	WorkItem           core.WorkItem  `json:"work_item"`
	Status             core.Status    `json:"status"`
	BlockerCodes       []string       `json:"blocker_codes"`
	Blockers           []core.Blocker `json:"blockers"`
	Unreserved         []string       `json:"unreserved_blocker_codes,omitempty"` // of BlockerCodes, those of no known namespace (C-021)
	ActionabilityScore float64        `json:"actionability_score"`
	TargetAgentUID     string         `json:"target_agent_uid"`
	Claim              *core.Claim    `json:"claim,omitempty"`
	Overlaps           []core.Overlap `json:"overlaps"`
	Revision           uint64         `json:"revision"`
}

func newRow(it *core.Item, live *liveScopes) row {
	r := row{
		WorkItem: it.WorkItem, Status: it.Status(), BlockerCodes: it.BlockerCodes(), Blockers: it.Blockers, Unreserved: it.UnreservedBlockerCodes(),
		ActionabilityScore: it.WorkItem.ActionabilityScore, TargetAgentUID: it.WorkItem.TargetAgentUID,
		Overlaps: live.overlaps(it), Revision: it.Revision,
	}
	if it.Lease != nil {
		c := it.Lease.Claim
		r.Claim = &c
	}
	return r
}

// liveScopes are what the holders of live claims own, and how much one request may
// still spend on comparing it.
type liveScopes struct {
	items  []*core.Item
	scopes []core.Scope
	effort *core.Effort
}

func newLiveScopes(items []*core.Item) *liveScopes {
	l := &liveScopes{items: items, effort: core.NewEffort()}
	for _, it := range items {
		l.scopes = append(l.scopes, core.NewScope(it))
	}
	return l
}

// overlaps lists live claims of other items on the same paths or symbols.
func (l *liveScopes) overlaps(it *core.Item) []core.Overlap {
	out := []core.Overlap{}
	own := core.NewScope(it)
	if own.Empty() || it.Status().Terminal() {
		return out
	}
	for i, o := range l.items {
		if o.ID() == it.ID() || o.Lease == nil {
			continue
		}
		if p, s := own.OverlapsWithin(l.scopes[i], l.effort); len(p)+len(s) > 0 {
			out = append(out, core.Overlap{WorkItemID: o.ID(), WorkerAgentUID: o.Holder(),
				ExpiresAtUTC: o.Lease.Claim.ExpiresAtUTC, Paths: p, Symbols: s})
		}
	}
	return out
}

func readItems(v *visit) {
	q, refused := itemQuery(v.r.URL.Query())
	if refused != nil {
		v.refuse(refused)
		return
	}
	v.items(q)
}

// readPickup answers "latest actionable work for agent X" (C-067).
func readPickup(v *visit) {
	agent := v.r.URL.Query().Get("agent")
	if agent == "" {
		agent = v.caller.Identity
	}
	q, refused := itemQuery(v.r.URL.Query())
	if refused != nil {
		v.refuse(refused)
		return
	}
	q.Agent, q.Actionable = agent, true
	v.items(q)
}

func (v *visit) items(q store.ItemQuery) {
	if !v.look() {
		return
	}
	items, next, rev, err := v.s.opts.Store.Items(q)
	switch {
	case errors.Is(err, store.ErrBadQuery):
		v.refuse(violation("the query cannot be answered; is the cursor from another one?"))
		return
	case err != nil:
		v.s.log.Error("query", "error", err)
		v.refuse(unavailable("the owner cannot answer now"))
		return
	}
	live := newLiveScopes(v.s.opts.Store.LiveLeases())
	rows := make([]row, 0, len(items))
	for _, it := range items {
		rows = append(rows, newRow(it, live))
	}
	v.reply(struct {
		page
		WorkItems  []row  `json:"work_items"`
		NextCursor string `json:"next_cursor,omitempty"`
	}{page{core.ProtocolVersion, rev}, rows, next})
}

// itemQuery reads the filters of GET work-items.
func itemQuery(p url.Values) (store.ItemQuery, *core.Error) {
	q := store.ItemQuery{
		Agent: p.Get("agent"), RepoID: p.Get("repo"), Branch: p.Get("branch"), BlockerCode: p.Get("blocker_code"),
		Text: p.Get("q"), Order: store.Order(p.Get("order")), Cursor: p.Get("cursor"),
	}
	var refused *core.Error
	q.Claimable, refused = yes(p, "claimable", refused)
	q.Actionable, refused = yes(p, "actionable", refused)
	if refused != nil {
		return q, refused
	}
	for _, s := range p["status"] {
		if !core.Status(s).Valid() {
			return q, violation("status is none of the eleven")
		}
		q.Statuses = append(q.Statuses, core.Status(s))
	}
	if b := p.Get("between"); b != "" {
		x, y, found := strings.Cut(b, ",")
		if !found || x == "" || y == "" {
			return q, violation("between needs two identities: between=A,B")
		}
		q.Between = [2]string{x, y}
	}
	switch q.Order {
	case "", store.OrderLatest, store.OrderScore, store.OrderPriority:
	default:
		return q, violation("order must be latest, score or priority")
	}
	if l := p.Get("limit"); l != "" {
		n, err := strconv.Atoi(l)
		if err != nil || n < 1 || n > store.MaxLimit {
			return q, violation("limit must be between 1 and %d", store.MaxLimit)
		}
		q.Limit = n
	}
	return q, nil
}

func yes(p url.Values, name string, before *core.Error) (bool, *core.Error) {
	switch p.Get(name) {
	case "", "0", "false":
		return false, before
	case "1", "true":
		return true, before
	}
	return false, violation("%s must be 1 or 0", name)
}

func readItem(v *visit) {
	if !v.look() {
		return
	}
	st := v.s.opts.Store
	rev := st.Revision()
	it, known := st.Item(v.id)
	if !known {
		v.refuse(core.Errorf(core.CodeItemNotFound, "there is no work item with this id").With("work_item_id", v.id))
		return
	}
	events, claims, err := st.History(v.r.Context(), v.id)
	if err != nil {
		v.s.log.Error("history", "work_item_id", v.id, "error", err)
		v.refuse(unavailable("the owner cannot read its log now; ask again"))
		return
	}
	v.w.Header().Set("ETag", etag(it.Revision))
	v.reply(core.Detail{
		ProtocolVersion: core.ProtocolVersion, Revision: rev, Item: it, Claims: some(claims),
		Entries: some(st.Entries(store.EntryQuery{WorkItemID: v.id})), Events: some(events), Overlaps: newLiveScopes(st.LiveLeases()).overlaps(it),
		UnreservedBlockerCodes: it.UnreservedBlockerCodes(),
	})
}
