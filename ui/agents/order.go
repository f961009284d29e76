package agents

import (
	"cmp"
	"slices"
	"time"

	"signalbox/model/fleet"
	"signalbox/ui/screen"
)

// doOrder is the word of the key that changes the order.
const doOrder = "order"

// order says how workers are sorted. A worker's rows stay together; the one that
// stands first by the order counts.
type order int

const (
	byName    order = iota // those with live claims first, then by name
	byTrouble              // what needs a look first
	byTime                 // the lease that ends soonest first
	orders
)

func (o order) String() string { return [...]string{"name", "trouble", "time left"}[o%orders] }

// column is the one whose title is marked.
func (o order) column() int { return [...]int{cName, cState, cLeft}[o%orders] }

// troubles is the order of what may be wrong with a claim; what is not listed is well.
var troubles = []string{"lapsed", "no progress", atOdds, "renew late", "overlap"}

// atOdds stands for a claim whose agent says other than its item.
const atOdds = "at odds"

// sortKey places one worker: less comes first, and equals stay in the order they came.
type sortKey struct {
	trouble int
	left    time.Duration
}

// arrange sorts rows, which come by name with the rows of one worker together.
func arrange(c *screen.Ctx, rows []row, by order) {
	if by == byName {
		return
	}
	keys := map[*fleet.Agent]sortKey{}
	for i := range rows {
		k := keyOf(c, &rows[i])
		if was, seen := keys[rows[i].agent]; seen {
			k = sortKey{trouble: min(k.trouble, was.trouble), left: min(k.left, was.left)}
		}
		keys[rows[i].agent] = k
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		x, y := keys[a.agent], keys[b.agent]
		if by == byTrouble {
			return cmp.Compare(x.trouble, y.trouble)
		}
		return cmp.Compare(x.left, y.left)
	})
}

func keyOf(c *screen.Ctx, r *row) sortKey {
	const never = time.Duration(1<<63 - 1)
	well := len(troubles)
	switch {
	case r.ask != nil:
		return sortKey{trouble: well, left: never} // before the well ones, behind the trouble
	case r.item == nil:
		return sortKey{trouble: well + 2, left: never}
	}
	k := sortKey{trouble: well + 1, left: r.item.Lease.Claim.ExpiresAtUTC.Std().Sub(c.OwnerNow())}
	word := lifeWord(c, r)
	if r.item.Lease.Contradiction() != "" && word != "lapsed" && word != "no progress" {
		word = atOdds
	}
	if i := slices.Index(troubles, word); i >= 0 {
		k.trouble = i
	}
	return k
}
