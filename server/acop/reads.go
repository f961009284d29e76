package acop

import (
	"context"
	"errors"
	"net/url"
	"slices"
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

func (v *visit) page() page { return page{core.ProtocolVersion, v.s.opts.Store.Revision()} }

// row is one item in a list: the core item with what a reader needs to choose.
type row struct {
	WorkItem           core.WorkItem  `json:"work_item"`
	Status             core.Status    `json:"status"`
	BlockerCodes       []string       `json:"blocker_codes"`
	Blockers           []core.Blocker `json:"blockers"`
	ActionabilityScore float64        `json:"actionability_score"`
	TargetAgentUID     string         `json:"target_agent_uid"`
	Claim              *core.Claim    `json:"claim,omitempty"`
	Overlaps           []core.Overlap `json:"overlaps"`
	Revision           uint64         `json:"revision"`
}

func (v *visit) row(it *core.Item, live []*core.Item) row {
	r := row{
		WorkItem: it.WorkItem, Status: it.Status(), BlockerCodes: it.BlockerCodes(), Blockers: it.Blockers,
		ActionabilityScore: it.WorkItem.ActionabilityScore, TargetAgentUID: it.WorkItem.TargetAgentUID,
		Overlaps: v.overlaps(it, live), Revision: it.Revision,
	}
	if it.Lease != nil {
		c := it.Lease.Claim
		r.Claim = &c
	}
	return r
}

// overlaps lists live claims of other items on the same paths or symbols.
func (v *visit) overlaps(it *core.Item, live []*core.Item) []core.Overlap {
	out := []core.Overlap{}
	if len(it.WorkItem.OwnedPaths)+len(it.WorkItem.OwnedSymbols) == 0 || it.Status().Terminal() {
		return out
	}
	for _, o := range live {
		if o.ID() == it.ID() || o.Lease == nil {
			continue
		}
		if p, s := core.Overlaps(it, o); len(p)+len(s) > 0 {
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
	live := v.s.opts.Store.LiveLeases()
	rows := make([]row, 0, len(items))
	for _, it := range items {
		rows = append(rows, v.row(it, live))
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
	for name := range p {
		if !slices.Contains(itemFilters, name) {
			return q, violation("unknown filter %s", clip(name, 40))
		}
	}
	var refused *core.Error
	q.Claimable, refused = flag(p, "claimable", refused)
	q.Actionable, refused = flag(p, "actionable", refused)
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

var itemFilters = []string{"agent", "between", "status", "repo", "branch", "blocker_code", "claimable", "actionable", "q", "order",
	"limit", "cursor", "min_revision"}

func flag(p url.Values, name string, before *core.Error) (bool, *core.Error) {
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
		ProtocolVersion: core.ProtocolVersion, Revision: st.Revision(), Item: it, Claims: some(claims),
		Entries: some(st.Entries(store.EntryQuery{WorkItemID: v.id})), Events: some(events), Overlaps: v.overlaps(it, st.LiveLeases()),
	})
}

// held is one live claim in a list.
type held struct {
	Claim          core.Claim     `json:"claim"`
	WorkItemStatus core.Status    `json:"work_item_status"`
	Lease          *core.Lease    `json:"lease,omitempty"`
	Overlaps       []core.Overlap `json:"overlaps,omitzero"`
}

// readClaims lists the live claims, optionally of one agent or item.
func readClaims(v *visit) {
	if !v.look() {
		return
	}
	p := v.r.URL.Query()
	live := v.s.opts.Store.LiveLeases()
	out := []held{}
	for _, it := range live {
		if a := p.Get("agent"); it.Lease == nil || a != "" && it.Holder() != a {
			continue
		}
		if w := p.Get("work_item"); w != "" && w != it.ID() {
			continue
		}
		out = append(out, held{Claim: it.Lease.Claim, WorkItemStatus: it.Status(), Lease: it.Lease, Overlaps: v.overlaps(it, live)})
	}
	slices.SortFunc(out, func(a, b held) int {
		if c := a.Claim.GrantedAtUTC.Std().Compare(b.Claim.GrantedAtUTC.Std()); c != 0 {
			return c
		}
		return strings.Compare(a.Claim.ClaimID, b.Claim.ClaimID)
	})
	v.reply(struct {
		page
		Claims []held `json:"claims"`
	}{v.page(), out})
}

func readClaim(v *visit) {
	if !v.look() {
		return
	}
	c, known := v.s.opts.Store.Claim(v.id)
	if !known {
		v.refuse(core.Errorf(core.CodeClaimNotFound, "there is no claim with this id").With("claim_id", v.id))
		return
	}
	out := held{Claim: c}
	if it, known := v.s.opts.Store.Item(c.WorkItemID); known {
		out.WorkItemStatus = it.Status()
		if it.Lease != nil && it.Lease.Claim.ClaimID == c.ClaimID {
			out.Lease = it.Lease
		}
		v.w.Header().Set("ETag", etag(it.Revision))
	}
	v.reply(struct {
		page
		held
	}{v.page(), out})
}

// readIntents lists requests that wait for a lead or were decided lately.
func readIntents(v *visit) {
	if !v.look() {
		return
	}
	out := []core.Intent{}
	for _, it := range v.s.opts.Store.Snapshot(v.s.Now()).Items {
		out = append(out, it.Intents...)
	}
	slices.SortStableFunc(out, func(a, b core.Intent) int {
		return a.ClaimIntent.RequestedAtUTC.Std().Compare(b.ClaimIntent.RequestedAtUTC.Std())
	})
	v.reply(struct {
		page
		Intents []core.Intent `json:"claim_intents"`
	}{v.page(), out})
}

func readBoard(v *visit) {
	p := v.r.URL.Query()
	q := store.EntryQuery{WorkItemID: p.Get("work_item"), Kind: core.EntryKind(p.Get("kind")), Author: p.Get("author")}
	if q.Kind != "" && !q.Kind.Valid() {
		v.refuse(violation("kind is none of the eight"))
		return
	}
	for name, dst := range map[string]func(uint64){
		"since": func(n uint64) { q.After = n },
		"limit": func(n uint64) { q.Limit = int(min(n, 100_000)) },
	} {
		if s := p.Get(name); s != "" {
			n, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				v.refuse(violation("%s must be a number", name))
				return
			}
			dst(n)
		}
	}
	if !v.look() {
		return
	}
	v.reply(struct {
		page
		Entries []core.Posted `json:"entries"`
	}{v.page(), some(v.s.opts.Store.Entries(q))})
}

func readEntry(v *visit) {
	p, known := v.s.opts.Store.Entry(v.id)
	if !known {
		v.refuse(core.Errorf(core.CodeRouteNotFound, "there is no entry with this id").With("entry_id", v.id))
		return
	}
	v.w.Header().Set("ETag", etag(p.Revision))
	v.reply(struct {
		page
		Entry core.BlackboardEntry `json:"entry"`
	}{v.page(), p.Entry})
}

// agent is one identity that may come in, with what it holds.
type agent struct {
	Identity string    `json:"identity"`
	Role     core.Role `json:"role"`
	// LastSeenUTC is the last request since this owner started; absent: none.
	LastSeenUTC core.Time    `json:"last_seen_at_utc,omitzero"`
	Claims      []core.Claim `json:"claims"`
}

func readAgents(v *visit) {
	if !v.look() {
		return
	}
	holding := make(map[string][]core.Claim)
	for _, it := range v.s.opts.Store.LiveLeases() {
		if it.Lease != nil {
			holding[it.Holder()] = append(holding[it.Holder()], it.Lease.Claim)
		}
	}
	out := []agent{}
	for _, c := range v.s.opts.Tokens.Callers() {
		out = append(out, agent{Identity: c.Identity, Role: c.Role, LastSeenUTC: core.NewTime(v.s.lastSeen(c.Identity)), Claims: some(holding[c.Identity])})
		delete(holding, c.Identity)
	}
	// A lead may grant to an identity that has no credential here.
	for id, claims := range holding {
		out = append(out, agent{Identity: id, Role: core.RoleWorker, Claims: claims})
	}
	slices.SortFunc(out, func(a, b agent) int { return strings.Compare(a.Identity, b.Identity) })
	v.reply(struct {
		page
		Agents []agent `json:"agents"`
	}{v.page(), out})
}

func readSettings(v *visit) {
	set := v.s.service.settings()
	if set.Revision > 0 {
		v.w.Header().Set("ETag", etag(set.Revision))
	}
	v.reply(struct {
		page
		Settings core.Settings `json:"settings"`
	}{v.page(), set})
}

func readSnapshot(v *visit) {
	if !v.look() {
		return
	}
	snap := *v.s.opts.Store.Snapshot(v.s.Now())
	snap.ProtocolVersion, snap.Identity, snap.Role = core.ProtocolVersion, v.caller.Identity, v.caller.Role
	if snap.Settings.Revision == 0 {
		snap.Settings = v.s.service.defaults
	}
	snap.AtUTC = v.s.service.clock.stamp()
	v.w.Header().Set("ETag", etag(max(snap.Revision, 1)))
	v.reply(&snap)
}
