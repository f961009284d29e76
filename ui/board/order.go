package board

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/filter"
)

// order says how cards are sorted within their group.
type order int

const (
	byPriority order = iota // then score, then age
	byAge                   // longest in its status first
	byScore
	byTitle
	orders
)

func (o order) String() string {
	return [...]string{"priority", "age", "score", "title"}[o%orders]
}

// grouping says what cards are grouped by.
type grouping int

const (
	byStatus grouping = iota
	byRepo
	byBranch
	byAgent
	byPrio
	groupings
)

func (g grouping) String() string {
	return [...]string{"status", "repo", "branch", "agent", "priority"}[g%groupings]
}

// columns are the groups of the board by status, in order. The last one, closed,
// is folded unless asked for.
var columns = [...]struct {
	name string
	of   []acop.Status
}{
	{"attention", []acop.Status{acop.StatusRequiresAttention}},
	{"ready", []acop.Status{acop.StatusReady}},
	{"blocked", []acop.Status{acop.StatusBlocked}},
	{"held", []acop.Status{acop.StatusClaimed, acop.StatusInProgress}},
	{"completed", []acop.Status{acop.StatusCompleted}},
	{"accepted", []acop.Status{acop.StatusAccepted}},
	{"closed", []acop.Status{acop.StatusReleased, acop.StatusConsumed, acop.StatusCancelled, acop.StatusSuperseded}},
}

// closed is the index of the folded column.
const closed = len(columns) - 1

func columnOf(s acop.Status) int {
	for i, c := range columns {
		if slices.Contains(c.of, s) {
			return i
		}
	}
	return closed
}

// card is one item with what it is sorted by.
type card struct {
	item  *acop.Item
	col   int
	prio  int
	group string
	pass  bool
}

// group is a heading with its cards.
type group struct {
	name  string
	col   int // index into columns, when grouped by status
	cards []card
}

// arrangement is the order of all cards under one set of choices.
type arrangement struct {
	key    arrangeKey
	all    []card // every known item, in order
	cards  []card // those that pass the filter
	groups []group
	total  int // open items known
	passed int // of them, shown by the filter
}

type arrangeKey struct {
	version uint64
	filter  string
	order   order
	by      grouping
	closed  bool
	second  int64 // moves only while the filter depends on time
	loaded  bool
}

// fewChanged is up to how many changed cards are put in their places one by one
// instead of sorting everything.
const fewChanged = 64

// arrange brings the arrangement up to date. Items are immutable, so that one
// that is the same value as before needs no second look: a change of one item
// costs one pass and no sort.
func (a *arrangement) arrange(st *fleet.State, q filter.Query, key arrangeKey, now time.Time) {
	if key == a.key {
		return
	}
	build := func(it *acop.Item) card {
		return card{item: it, col: columnOf(it.Status()), prio: it.WorkItem.Priority.Rank(),
			group: groupOf(it, key.by), pass: passes(it, q, now)}
	}
	resort := key.order != a.key.order || key.by != a.key.by || !a.key.loaded
	if resort || key.filter != a.key.filter || key.second != a.key.second {
		for i := range a.all {
			a.all[i] = build(a.all[i].item)
		}
	}
	a.key = key
	changed := a.refresh(st, build)
	compare := compareCards(key)
	if resort || len(changed) > fewChanged {
		a.all = append(a.all, changed...)
		slices.SortFunc(a.all, compare)
	} else {
		for _, c := range changed {
			at, _ := slices.BinarySearchFunc(a.all, c, compare)
			a.all = slices.Insert(a.all, at, c)
		}
	}
	a.pick()
	a.cut(key)
}

// refresh takes the cards whose items changed or are gone out of all and returns
// the changed and the new ones.
func (a *arrangement) refresh(st *fleet.State, build func(*acop.Item) card) []card {
	var changed []card
	kept := a.all[:0]
	for _, c := range a.all {
		switch it := st.Items[c.item.WorkItem.WorkItemID]; {
		case it == c.item:
			kept = append(kept, c)
		case it != nil:
			changed = append(changed, build(it))
		}
	}
	clear(a.all[len(kept):])
	a.all = kept
	if len(kept)+len(changed) == len(st.Items) {
		return changed
	}
	known := map[string]struct{}{}
	for _, cs := range [][]card{kept, changed} {
		for _, c := range cs {
			known[c.item.WorkItem.WorkItemID] = struct{}{}
		}
	}
	for id, it := range st.Items {
		if _, ok := known[id]; !ok {
			changed = append(changed, build(it))
		}
	}
	return changed
}

// pick selects the cards that pass the filter, and counts.
func (a *arrangement) pick() {
	a.cards, a.total, a.passed = a.cards[:0], 0, 0
	for _, c := range a.all {
		if c.col != closed {
			a.total++
		}
		if !c.pass {
			continue
		}
		if c.col != closed {
			a.passed++
		}
		a.cards = append(a.cards, c)
	}
}

func passes(it *acop.Item, q filter.Query, now time.Time) bool {
	if q.Empty() {
		return true
	}
	r := Row(it)
	return q.Match(&r, now)
}

// Row is what the filter sees of a work item.
func Row(it *acop.Item) filter.Row {
	w := &it.WorkItem
	r := filter.Row{
		Text:   [4]string{w.Title, w.Summary, w.Producer, w.CorrelationID},
		Status: string(w.Status), Repo: w.TargetRepoID, Branch: w.TargetBranch,
		Agent: it.Holder(), Kind: string(w.WorkKind), Priority: string(w.Priority),
		Item: w.WorkItemID, Blockers: it.Blockers, Since: it.StatusSinceUTC.Std(),
	}
	if w.Status.Held() {
		r.Status += " held"
	}
	if r.Agent == "" {
		r.Agent = w.TargetAgentUID
	}
	return r
}

func groupOf(it *acop.Item, by grouping) string {
	switch by {
	case byRepo:
		return it.WorkItem.TargetRepoID
	case byBranch:
		return strings.Trim(it.WorkItem.TargetRepoID+" "+it.WorkItem.TargetBranch, " ")
	case byAgent:
		return it.Holder()
	case byPrio:
		return string(it.WorkItem.Priority)
	}
	return ""
}

// compareCards orders by group first, so that one sort gives everything.
func compareCards(key arrangeKey) func(a, b card) int {
	return func(a, b card) int {
		if c := compareGroups(key.by, a, b); c != 0 {
			return c
		}
		if c := compareIn(key.order, a, b); c != 0 {
			return c
		}
		return cmp.Compare(a.item.WorkItem.WorkItemID, b.item.WorkItem.WorkItemID)
	}
}

func compareGroups(by grouping, a, b card) int {
	if c := cmp.Compare(btoi(a.col == closed), btoi(b.col == closed)); c != 0 {
		return c
	}
	switch {
	case a.col == closed:
		return 0
	case by == byStatus:
		return cmp.Compare(a.col, b.col)
	case by == byPrio:
		return cmp.Compare(b.prio, a.prio)
	case a.group == "" || b.group == "":
		return cmp.Compare(btoi(a.group == ""), btoi(b.group == ""))
	}
	return strings.Compare(a.group, b.group)
}

func compareIn(o order, a, b card) int {
	x, y := &a.item.WorkItem, &b.item.WorkItem
	switch o {
	case byAge:
		return a.item.StatusSinceUTC.Std().Compare(b.item.StatusSinceUTC.Std())
	case byScore:
		return cmp.Compare(y.ActionabilityScore, x.ActionabilityScore)
	case byTitle:
		return strings.Compare(strings.ToLower(x.Title), strings.ToLower(y.Title))
	}
	if c := cmp.Compare(b.prio, a.prio); c != 0 {
		return c
	}
	if c := cmp.Compare(y.ActionabilityScore, x.ActionabilityScore); c != 0 {
		return c
	}
	return a.item.StatusSinceUTC.Std().Compare(b.item.StatusSinceUTC.Std())
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// cut makes groups of the sorted cards. Grouped by status every column exists,
// even without a card.
func (a *arrangement) cut(key arrangeKey) {
	a.groups = a.groups[:0]
	if key.by == byStatus {
		for i := range columns {
			a.groups = append(a.groups, group{name: columns[i].name, col: i})
		}
	}
	from := 0
	for i := 1; i <= len(a.cards); i++ {
		if i < len(a.cards) && sameGroup(key.by, a.cards[from], a.cards[i]) {
			continue
		}
		a.put(key.by, a.cards[from:i])
		from = i
	}
}

func sameGroup(by grouping, a, b card) bool {
	if a.col == closed || b.col == closed {
		return a.col == b.col
	}
	if by == byStatus {
		return a.col == b.col
	}
	return a.group == b.group
}

func (a *arrangement) put(by grouping, cards []card) {
	c := cards[0]
	if by == byStatus {
		a.groups[c.col].cards = cards
		return
	}
	name := c.group
	if c.col == closed {
		name = columns[closed].name
	} else if name == "" {
		name = "no " + by.String()
	}
	a.groups = append(a.groups, group{name: name, col: c.col, cards: cards})
}
