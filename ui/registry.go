package ui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/screen"
)

// domain says what an action acts on.
type domain int

const (
	onNothing domain = 1 << iota // needs no row
	onItem
	onTask
	onRow // any row
)

// subject is a target with what the state knows of it.
type subject struct {
	t    screen.Target
	item *acop.Item
	task *fleet.Task
}

// action is one thing a person can do anywhere in the dashboard. Keys, help,
// palette and the README's table are made from these rows.
type action struct {
	id    string
	keys  []string
	help  string // one or two words for the key row
	long  string // for the help and the palette
	group string
	on    domain
	// act marks what changes something outside: refused with --read-only.
	act bool
	// bulk lets it run on all marked rows at once.
	bulk bool
	// can says whether it can run now, and if not, why not; nil: always.
	can func(*Model, subject) (bool, string)
	run func(*Model, []subject) tea.Cmd
}

// The groups of the help.
const (
	groupDecide = "Decide"
	groupWork   = "Work items"
	groupTasks  = "Tasks"
	groupRows   = "Rows"
	groupFrame  = "Everywhere"
)

// actions is the one registry, in the order of the key row.
var actions []action

func init() {
	// Filled here because the rows refer to methods that look the table up.
	actions = append(actions, decideActions()...)
	actions = append(actions, workActions()...)
	actions = append(actions, taskActions()...)
	actions = append(actions, rowActions()...)
	actions = append(actions, frameActions()...)
}

func decideActions() []action {
	return []action{
		{id: "grant", keys: []string{"g"}, help: "grant", long: "grant the item to the worker that asks, or to one you choose",
			group: groupDecide, on: onItem, act: true, bulk: true, can: canGrant, run: (*Model).grant},
		{id: "deny", keys: []string{"D"}, help: "deny", long: "deny the waiting request, with a reason",
			group: groupDecide, on: onItem, act: true, bulk: true, can: legal(acop.VerbDeny), run: (*Model).deny},
		{id: "decide", keys: []string{"d"}, help: "decide", long: "decide an item that requires attention: ready or blocked",
			group: groupDecide, on: onItem, act: true, bulk: true, can: legal(acop.VerbResolve), run: (*Model).decide},
		{id: "accept", keys: []string{"a"}, help: "accept", long: "accept completed work after seeing its evidence",
			group: groupDecide, on: onItem, act: true, bulk: true, can: legal(acop.VerbAccept), run: (*Model).accept},
		{id: "send-back", keys: []string{"s"}, help: "send back", long: "send completed work back: a successor carries the reason",
			group: groupDecide, on: onItem, act: true, can: legal(acop.VerbSendBack), run: (*Model).sendBack},
		{id: "revoke", keys: []string{"r"}, help: "revoke", long: "take the claim from its holder",
			group: groupDecide, on: onItem, act: true, bulk: true, can: legal(acop.VerbRevoke), run: (*Model).revoke},
		{id: "cancel", keys: []string{"x"}, help: "cancel", long: "cancel the work item or the task, with a reason",
			group: groupDecide, on: onItem | onTask, act: true, bulk: true, can: canCancel, run: (*Model).cancelAny},
	}
}

func workActions() []action {
	return []action{
		{id: "block", keys: []string{"b"}, help: "block", long: "block a ready item, or unblock a blocked one",
			group: groupWork, on: onItem, act: true, can: canBlock, run: (*Model).block},
		{id: "requeue", keys: []string{"u"}, help: "requeue", long: "put a released item back to ready",
			group: groupWork, on: onItem, act: true, bulk: true, can: legal(acop.VerbRequeue), run: (*Model).requeue},
		{id: "consume", keys: []string{"C"}, help: "consume", long: "mark accepted work as used",
			group: groupWork, on: onItem, act: true, bulk: true, can: legal(acop.VerbConsume), run: (*Model).consume},
		{id: "supersede", keys: []string{"S"}, help: "supersede", long: "replace the item by another one",
			group: groupWork, on: onItem, act: true, can: legal(acop.VerbSupersede), run: (*Model).supersede},
		{id: "post", keys: []string{"p"}, help: "post", long: "post an entry on the blackboard",
			group: groupWork, on: onItem, act: true, can: legal(acop.VerbPost), run: (*Model).post},
		{id: "edit", keys: []string{"e"}, help: "$EDITOR", long: "write an entry in $EDITOR, then post it",
			group: groupWork, on: onItem, act: true, can: canEdit, run: (*Model).postFromEditor},
		{id: "new", keys: []string{"n"}, help: "new item", long: "make a new work item",
			group: groupWork, on: onNothing, act: true, can: canPut, run: (*Model).newItem},
		{id: "freeze", keys: []string{"F"}, help: "freeze", long: "stop all new grants, or let them go on",
			group: groupWork, on: onNothing, act: true, can: canSettings, run: (*Model).freeze},
	}
}

func taskActions() []action {
	return []action{
		{id: "invoke", keys: []string{"i"}, help: "invoke", long: "run a capability of a provider as a new task",
			group: groupTasks, on: onNothing, act: true, can: canInvoke, run: (*Model).invoke},
		{id: "write-out", keys: []string{"W"}, help: "write out", long: "write the task's whole output to a file",
			group: groupTasks, on: onTask, can: canWriteOut, run: (*Model).writeOut},
		{id: "resend", keys: []string{"R"}, help: "re-send", long: "send the same task again with the same task_id",
			group: groupTasks, on: onTask, act: true, can: canResend, run: (*Model).resend},
	}
}

func rowActions() []action {
	return []action{
		{id: "open", keys: []string{"enter"}, help: "open", long: "everything about the row", group: groupRows, on: onRow,
			can: canOpen, run: (*Model).openRow},
		{id: "snooze", keys: []string{"m"}, help: "snooze", long: "put an ask aside for a while, or bring it back", group: groupRows, on: onRow,
			can: canSnooze, run: (*Model).snooze, bulk: true},
		{id: "seen", keys: []string{"V"}, help: "seen", long: "take note of the trouble a task ended in: its ask leaves for good", group: groupRows, on: onRow,
			can: canSee, run: (*Model).see, bulk: true},
		{id: "copy", keys: []string{"y"}, help: "copy id", long: "copy the row's id; on an empty screen the owner's address", group: groupRows, on: onRow | onNothing,
			can: canCopy, run: (*Model).copyID},
		{id: "mark", keys: []string{"space"}, help: "mark", long: "mark the row for acting on several at once", group: groupRows, on: onRow,
			run: (*Model).mark},
		{id: "mark-all", keys: []string{"*"}, help: "mark all", long: "mark all rows shown, or none", group: groupRows, on: onNothing,
			can: canMarkAll, run: (*Model).markAll},
		{id: "mark-like", keys: []string{"+"}, help: "mark kind", long: "mark all asks shown that are of the row's kind, or none of them", group: groupRows, on: onRow,
			can: canMarkLike, run: (*Model).markLike},
	}
}

func frameActions() []action {
	out := []action{}
	for i, id := range []screen.ID{screen.Queue, screen.Board, screen.Tasks, screen.Feed, screen.Agents, screen.Log} {
		out = append(out, action{id: "go-" + string(id), keys: []string{string(rune('1' + i))}, help: string(id),
			long: "go to the " + string(id), group: groupFrame, on: onNothing,
			run: func(m *Model, _ []subject) tea.Cmd { m.goTo(id); return nil }})
	}
	return append(out,
		action{id: "next", keys: []string{"]"}, help: "next screen", long: "next screen", group: groupFrame, on: onNothing,
			run: func(m *Model, _ []subject) tea.Cmd { m.step(1); return nil }},
		action{id: "previous", keys: []string{"["}, help: "previous screen", long: "previous screen", group: groupFrame, on: onNothing,
			run: func(m *Model, _ []subject) tea.Cmd { m.step(-1); return nil }},
		action{id: "filter", keys: []string{"/"}, help: "filter", long: "show only rows that fit", group: groupFrame, on: onNothing,
			run: (*Model).editFilter},
		action{id: "palette", keys: []string{":"}, help: "commands", long: "actions, screens, items, agents and tasks by search", group: groupFrame, on: onNothing,
			run: (*Model).openPalette},
		action{id: "help", keys: []string{"?"}, help: "keys", long: "the keys as they are now", group: groupFrame, on: onNothing,
			run: (*Model).openHelp},
		action{id: "suspend", keys: []string{"ctrl+z"}, help: "suspend", long: "back to the shell; fg returns", group: groupFrame, on: onNothing,
			run: (*Model).suspend},
		action{id: "quit", keys: []string{"q"}, help: "quit", long: "leave; asks first if something would stop", group: groupFrame, on: onNothing,
			run: (*Model).quit},
	)
}

// actionFor finds the action of a key, or nil.
func (m *Model) actionFor(key string) *action {
	for i := range m.actions {
		if slices.Contains(m.actions[i].keys, key) {
			return &m.actions[i]
		}
	}
	return nil
}

// actionByID finds an action, or nil.
func (m *Model) actionByID(id string) *action {
	if i := indexOf(m.actions, id); i >= 0 {
		return &m.actions[i]
	}
	return nil
}

func indexOf(list []action, id string) int {
	return slices.IndexFunc(list, func(a action) bool { return a.id == id })
}

// subjectOf looks a target up in the state.
func (m *Model) subjectOf(t screen.Target) subject {
	s := subject{t: t, item: m.state.Items[t.WorkItemID], task: m.state.Tasks[t.TaskID]}
	return s
}

// enabled says whether a can run on s now, and if not, why not.
func (m *Model) enabled(a *action, s subject) (bool, string) {
	if a.act && m.opts.ReadOnly {
		return false, "this program was started with --read-only"
	}
	if a.act && a.on&onTask == 0 && a.group != groupTasks && m.state.Role == "" {
		return false, m.notAnswered()
	}
	if a.on&onNothing == 0 {
		if s.t.IsZero() {
			return false, m.noRow()
		}
		if !a.fits(s) {
			return false, a.on.missing()
		}
	}
	if a.can == nil {
		return true, ""
	}
	ok, why := a.can(m, s)
	// A reason quotes states and names that others wrote (B96).
	return ok, clean(why)
}

// fits reports whether the row is of a kind the action acts on.
func (a *action) fits(s subject) bool {
	switch {
	case a.on&onRow != 0:
		return !s.t.IsZero()
	case a.on&onItem != 0 && s.t.WorkItemID != "":
		return true
	case a.on&onTask != 0 && s.t.TaskID != "":
		return true
	}
	return false
}

// run runs a on t, or on all marked rows where it can take several, or says why
// it cannot.
func (m *Model) run(a *action, t screen.Target) tea.Cmd {
	var ss []subject
	if a.bulk && len(m.marks) > 0 {
		for _, t := range m.markedInOrder() {
			ss = append(ss, m.subjectOf(t))
		}
	} else {
		ss = []subject{m.subjectOf(t)}
	}
	able := ss[:0:0]
	why := ""
	for _, s := range ss {
		ok, reason := m.enabled(a, s)
		if ok {
			able = append(able, s)
		} else if why == "" {
			why = reason
		}
	}
	if len(able) == 0 {
		return m.toast(screen.Warn, a.help+": "+why)
	}
	m.acts.running = a
	defer func() { m.acts.running = nil }()
	cmd := a.run(m, able)
	if n := len(ss) - len(able); n > 0 {
		return tea.Batch(cmd, m.toast(screen.Warn, fmt.Sprintf("%s: %d of %d marked rows are left out: %s", a.help, n, len(ss), why)))
	}
	return cmd
}
