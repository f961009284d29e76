package store

import (
	"math"
	"time"
	"unique"

	"signalbox/model/acop"
)

// endedClaim is a claim that never changes again. Every claim of the history
// stays to be asked about (C-065), so that its size counts: names that come again
// and again are held once, instants as their milliseconds.
type endedClaim struct {
	item             string // shared with the item, see idOf
	worker           unique.Handle[string]
	status           unique.Handle[acop.ClaimStatus]
	granted, expires int64
}

// unknownTime is the instant that is not known.
const unknownTime = math.MinInt64

// idOf gives an item's id as the item itself holds it, so that it is there once.
func (p *projection) idOf(id string) string {
	if it := p.items[id]; it != nil {
		return it.WorkItem.WorkItemID
	}
	return id
}

// shareIDs lets what was read before the items were known share their ids.
func (p *projection) shareIDs() {
	for id, c := range p.ended {
		c.item = p.idOf(c.item)
		p.ended[id] = c
	}
	for id, item := range p.intents {
		p.intents[id] = p.idOf(item)
	}
}

func (p *projection) endedOf(c *acop.Claim) endedClaim {
	return endedClaim{
		item: p.idOf(c.WorkItemID), worker: unique.Make(c.WorkerAgentUID), status: unique.Make(c.ClaimStatus),
		granted: milli(c.GrantedAtUTC), expires: milli(c.ExpiresAtUTC),
	}
}

// claim is the claim as it was recorded.
func (e endedClaim) claim(id string) acop.Claim {
	return acop.Claim{
		ClaimID: id, WorkItemID: e.item, WorkerAgentUID: e.worker.Value(), ClaimStatus: e.status.Value(),
		GrantedAtUTC: instant(e.granted), ExpiresAtUTC: instant(e.expires),
	}
}

func milli(t acop.Time) int64 {
	if t.IsZero() {
		return unknownTime
	}
	return t.Std().UnixMilli()
}

func instant(ms int64) acop.Time {
	if ms == unknownTime {
		return acop.Time{}
	}
	return acop.NewTime(time.UnixMilli(ms))
}
