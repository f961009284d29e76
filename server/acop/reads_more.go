package acop

import (
	"slices"
	"strconv"
	"strings"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

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
	head := v.page()
	p := v.r.URL.Query()
	live := newLiveScopes(v.s.opts.Store.LiveLeases())
	out := []held{}
	for _, it := range live.items {
		if a := p.Get("agent"); it.Lease == nil || a != "" && it.Holder() != a {
			continue
		}
		if w := p.Get("work_item"); w != "" && w != it.ID() {
			continue
		}
		out = append(out, held{Claim: it.Lease.Claim, WorkItemStatus: it.Status(), Lease: it.Lease, Overlaps: live.overlaps(it)})
	}
	slices.SortFunc(out, func(a, b held) int {
		if c := a.Claim.GrantedAtUTC.Std().Compare(b.Claim.GrantedAtUTC.Std()); c != 0 {
			return c
		}
		return strings.Compare(a.Claim.ClaimID, b.Claim.ClaimID)
	})
	v.reply(struct {
		page
		AtUTC  core.Time `json:"at_utc"` // the owner's clock: what is left of each is judged by it
		Claims []held    `json:"claims"`
	}{head, v.s.service.clock.stamp(), out})
}

func readClaim(v *visit) {
	if !v.look() {
		return
	}
	head := v.page()
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
	}{head, out})
}

// readIntents lists requests that wait for a lead or were decided lately.
func readIntents(v *visit) {
	if !v.look() {
		return
	}
	head := v.page()
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
	}{head, out})
}

func readBoard(v *visit) {
	p := v.r.URL.Query()
	q := store.EntryQuery{WorkItemID: p.Get("work_item"), Kind: core.EntryKind(p.Get("kind")), Author: p.Get("author"), EntryID: p.Get("entry")}
	if q.Kind != "" && !q.Kind.Valid() {
		v.refuse(violation("kind is none of the eight"))
		return
	}
	for name, dst := range map[string]func(uint64){
		"since":  func(n uint64) { q.After = n },
		"before": func(n uint64) { q.Before = n },
		"limit":  func(n uint64) { q.Limit = int(min(n, 100_000)) },
		"newest": func(n uint64) { q.Newest = int(min(n, 100_000)) },
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
	head := v.page()
	v.reply(struct {
		page
		Entries []core.Posted `json:"entries"`
	}{head, some(v.s.opts.Store.Entries(q))})
}

func readEntry(v *visit) {
	if !v.look() {
		return
	}
	head := v.page()
	p, known := v.s.opts.Store.Entry(v.id)
	if !known {
		v.refuse(core.Errorf(core.CodeRouteNotFound, "there is no entry with this id").With("entry_id", v.id))
		return
	}
	v.w.Header().Set("ETag", etag(p.Revision))
	v.reply(struct {
		page
		Entry core.BlackboardEntry `json:"entry"`
	}{head, p.Entry})
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
	head := v.page()
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
	// Others come in by identity tokens, and a lead may grant to an identity
	// that has no credential at all.
	visitors := v.s.visitors()
	for id := range holding {
		if _, came := visitors[id]; !came {
			visitors[id] = core.RoleWorker
		}
	}
	for id, role := range visitors {
		if !slices.ContainsFunc(out, func(a agent) bool { return a.Identity == id }) {
			out = append(out, agent{Identity: id, Role: role, LastSeenUTC: core.NewTime(v.s.lastSeen(id)), Claims: some(holding[id])})
		}
	}
	slices.SortFunc(out, func(a, b agent) int { return strings.Compare(a.Identity, b.Identity) })
	v.reply(struct {
		page
		Agents []agent `json:"agents"`
	}{head, out})
}

func readSettings(v *visit) {
	if !v.look() {
		return
	}
	head := v.page()
	set := v.s.service.settings()
	if set.Revision > 0 {
		v.w.Header().Set("ETag", etag(set.Revision))
	}
	v.reply(struct {
		page
		Settings core.Settings `json:"settings"`
	}{head, set})
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
