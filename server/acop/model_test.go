package acop

import (
	"maps"
	"slices"

	core "signalbox/model/acop"
)

// little is an independent, small model of the owner, written from the
// requirements and not from the code: what one act answers and what it leaves.
type little struct {
	items  map[string]*littleItem
	claims map[string]*littleClaim
}

type littleItem struct {
	status, submitted core.Status
	creator, claim    string
	deps              map[string]bool
	review            bool // a review_required blocker is open
	completedBy       string
	acceptedBy        string
	successor         string
}

type littleClaim struct {
	item, worker string
	state        core.ClaimStatus
}

// said is an expected answer.
type said struct {
	status int
	code   core.Code
}

var fine = said{200, ""}

func (i *littleItem) blocked() bool  { return i.review || len(i.deps) > 0 }
func (i *littleItem) terminal() bool { return i.status.Terminal() }

func no(i *littleItem) said {
	switch i.status {
	case core.StatusCancelled:
		return said{409, core.CodeItemCancelled}
	case core.StatusSuperseded:
		return said{409, core.CodeItemSuperseded}
	}
	return said{409, core.CodeNotActionable}
}

var (
	forbidden = said{403, core.CodeForbidden}
	unknown   = said{404, core.CodeItemNotFound}
)

func leads(who string) bool { return who == "lead-01" || who == "orch-01" }

func (i *littleItem) mayClose(who string) bool { return leads(who) || i.creator == who }

// end ends the live claim and moves on; a blocked item does not stay ready (D-29).
func (l *little) end(i *littleItem, how core.ClaimStatus, to core.Status) {
	l.claims[i.claim].state, i.claim, i.status = how, "", to
	if to == core.StatusReady && i.blocked() {
		i.status = core.StatusBlocked
	}
}

// put is a document without blockers and with a status.
func (l *little) put(who, id string, asked core.Status) said {
	i := l.items[id]
	if i == nil {
		if asked != core.StatusReady && asked != core.StatusBlocked && asked != core.StatusRequiresAttention {
			return said{409, core.CodeNotActionable}
		}
		l.items[id] = &littleItem{status: asked, submitted: asked, creator: who, deps: map[string]bool{}}
		return said{201, ""}
	}
	if asked == i.submitted {
		return fine
	}
	if i.terminal() {
		return no(i)
	}
	if !i.mayClose(who) {
		return forbidden
	}
	if asked == i.status {
		i.submitted = asked
		return fine
	}
	switch {
	case asked == core.StatusCancelled:
		l.close(i, core.StatusCancelled)
	case asked != core.StatusReady && asked != core.StatusBlocked:
		return no(i)
	case i.status == core.StatusRequiresAttention && !leads(who):
		return forbidden
	case i.status == core.StatusRequiresAttention, i.status == core.StatusReady, i.status == core.StatusBlocked,
		i.status == core.StatusReleased && asked == core.StatusReady:
		i.status = asked
	default:
		return no(i)
	}
	i.submitted = asked
	return fine
}

func (l *little) claim(who, id string) said {
	i := l.items[id]
	switch {
	case i == nil:
		return unknown
	case i.claim != "":
		return said{409, core.CodeClaimConflict}
	case i.status != core.StatusReady:
		return no(i)
	}
	i.status = core.StatusClaimed
	return said{201, ""}
}

// granted notes the id that the owner made for a granted claim.
func (l *little) granted(who, id, claim string) {
	l.items[id].claim = claim
	l.claims[claim] = &littleClaim{item: id, worker: who, state: core.ClaimActive}
}

func (l *little) onClaim(verb, who, claim string) said {
	c := l.claims[claim]
	i := l.items[c.item]
	if verb == "revoke" {
		if !leads(who) {
			return forbidden
		}
	} else if who != c.worker && !leads(who) {
		return said{403, core.CodeUnauthorizedWorker}
	}
	switch c.state {
	case core.ClaimReleased:
		if verb == "release" {
			return fine
		}
		return said{409, core.CodeClaimReleased}
	case core.ClaimExpired:
		return said{409, core.CodeLeaseExpired}
	case core.ClaimRevoked:
		return said{409, core.CodeClaimRevoked}
	}
	switch verb {
	case "renew", "heartbeat":
		i.status = core.StatusInProgress
	case "release":
		l.end(i, core.ClaimReleased, core.StatusReady)
	case "revoke":
		l.end(i, core.ClaimRevoked, core.StatusReady)
	case "complete":
		i.completedBy = c.worker
		l.end(i, core.ClaimReleased, core.StatusCompleted)
	}
	return fine
}

func (l *little) close(i *littleItem, to core.Status) {
	if i.claim != "" {
		l.end(i, core.ClaimRevoked, to)
	}
	i.status = to
}

func (l *little) accept(who, id string) said {
	i := l.items[id]
	switch {
	case i == nil:
		return unknown
	case i.status != core.StatusCompleted:
		return no(i)
	case i.completedBy == who:
		return forbidden
	}
	i.status, i.acceptedBy = core.StatusAccepted, who
	for _, o := range l.items {
		if !o.terminal() && o.deps[id] {
			delete(o.deps, id)
			if o.status == core.StatusBlocked && !o.blocked() {
				o.status = core.StatusReady
			}
		}
	}
	return fine
}

// onItem is every other verb on an item. other is the item that it names.
func (l *little) onItem(verb, who, id, other string) said {
	i := l.items[id]
	if i == nil {
		return unknown
	}
	allowed := i.mayClose(who)
	switch verb {
	case "consume":
		allowed = leads(who) || i.acceptedBy == who
	case "resolve":
		allowed = leads(who)
	case "block", "depend":
		allowed = allowed || i.claim != "" && l.claims[i.claim].worker == who
	}
	if !allowed {
		return forbidden
	}
	if verb == "supersede" {
		if id == other {
			return said{400, core.CodeSchemaViolation}
		}
		if l.items[other] == nil {
			return unknown
		}
	}
	return l.moveItem(i, verb, other)
}

func (l *little) moveItem(i *littleItem, verb, other string) said {
	is := func(list ...core.Status) bool { return slices.Contains(list, i.status) }
	switch verb {
	case "cancel", "supersede":
		if i.terminal() {
			return no(i)
		}
		if verb == "supersede" {
			for next := l.items[other]; next != nil; next = l.items[next.successor] {
				if next == i {
					return said{409, core.CodeItemSuperseded}
				}
			}
			i.successor = other
		}
		l.close(i, map[string]core.Status{"cancel": core.StatusCancelled, "supersede": core.StatusSuperseded}[verb])
		if verb == "supersede" {
			l.follow(i)
		}
	case "consume":
		if !is(core.StatusAccepted) {
			return no(i)
		}
		i.status = core.StatusConsumed
	case "requeue":
		if !is(core.StatusReleased) {
			return no(i)
		}
		if i.status = core.StatusReady; i.blocked() {
			i.status = core.StatusBlocked
		}
	case "resolve":
		if !is(core.StatusRequiresAttention, core.StatusBlocked) {
			return no(i)
		}
		i.status, i.review, i.deps = core.StatusReady, false, map[string]bool{}
	case "block", "depend":
		if !is(core.StatusReady, core.StatusBlocked, core.StatusClaimed, core.StatusInProgress) {
			return no(i)
		}
		if verb == "depend" {
			if next := l.latest(other); !l.waitsFor(next, i, map[string]bool{}) {
				other = next
			}
			if o := l.items[other]; o != nil && (o.status == core.StatusAccepted || o.status == core.StatusConsumed) {
				return fine // what it would wait for is done
			}
			if !i.deps[other] && l.waitsFor(other, i, map[string]bool{}) {
				return said{409, core.CodeItemConflict}
			}
			i.deps[other] = true
		} else {
			i.review = true
		}
		if is(core.StatusReady) {
			i.status = core.StatusBlocked
		}
	case "unblock":
		if i.terminal() || !i.review {
			return no(i)
		}
		if i.review = false; is(core.StatusBlocked) && !i.blocked() {
			i.status = core.StatusReady
		}
	}
	return fine
}

// latest is the item that stands for this one now.
func (l *little) latest(id string) string {
	for l.items[id] != nil && l.items[id].successor != "" {
		id = l.items[id].successor
	}
	return id
}

// follow lets what waits for a replaced item wait for the one that stands for it,
// unless that one waits for it in turn.
func (l *little) follow(old *littleItem) {
	for _, o := range l.items {
		if o.terminal() {
			continue
		}
		for id := range maps.Clone(o.deps) {
			next := l.latest(id)
			if l.items[id] != old || l.waitsFor(next, o, map[string]bool{}) {
				continue
			}
			delete(o.deps, id)
			if at := l.items[next]; at.status != core.StatusAccepted && at.status != core.StatusConsumed {
				o.deps[next] = true
			}
			if o.status == core.StatusBlocked && !o.blocked() {
				o.status = core.StatusReady
			}
		}
	}
}

// waitsFor tells whether the item of this id is i, or waits for it over others.
func (l *little) waitsFor(id string, i *littleItem, seen map[string]bool) bool {
	at := l.items[id]
	if at == nil || at == i || seen[id] {
		return at == i
	}
	seen[id] = true
	if at.terminal() || at.status == core.StatusCompleted || at.status == core.StatusAccepted {
		return false
	}
	for next := range at.deps {
		if l.waitsFor(next, i, seen) {
			return true
		}
	}
	return false
}

// expire lets the time of every lease pass.
func (l *little) expire() {
	for _, i := range l.items {
		if i.claim != "" {
			l.end(i, core.ClaimExpired, core.StatusReady)
		}
	}
}
