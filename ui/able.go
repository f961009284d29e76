package ui

import (
	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/screen"
)

// legal asks the model whether verb is possible on the item.
func legal(verb acop.Verb) func(*Model, subject) (bool, string) {
	return func(m *Model, s subject) (bool, string) {
		return acop.Legal(s.item, m.role(), m.self(), verb)
	}
}

// missing says what a row is not that an action of domain d acts on.
func (d domain) missing() string {
	switch {
	case d&onItem != 0 && d&onTask != 0:
		return "this row is about neither a work item nor a task"
	case d&onTask != 0:
		return "this row is about no task"
	}
	return "this row is about no work item"
}

// notAnswered says why nothing can be asked of an owner that has not told who we are.
func (m *Model) notAnswered() string {
	switch l := m.state.Link; {
	case l.State == fleet.LinkRefused && l.Problem != "":
		return "the owner refuses this program: " + clean(l.Problem)
	case l.State == fleet.LinkDegraded && l.Problem != "":
		return "the owner has not answered yet: " + clean(l.Problem) + "; trying again"
	}
	return "the owner has not answered yet"
}

// role is the role at the owner; before the first snapshot it is not known and
// nothing is allowed.
func (m *Model) role() acop.Role { return m.state.Role }

func (m *Model) self() string {
	if m.state.Identity != "" {
		return m.state.Identity
	}
	return m.opts.Identity
}

func canGrant(m *Model, s subject) (bool, string) {
	if s.item != nil && s.item.WaitingIntent() != nil {
		return acop.Legal(s.item, m.role(), m.self(), acop.VerbGrant)
	}
	if !m.role().OnBehalf() {
		return false, "only a lead may grant"
	}
	return acop.Legal(s.item, m.role(), m.self(), acop.VerbClaim)
}

func canCancel(m *Model, s subject) (bool, string) {
	if s.t.Kind == screen.KindTask || s.task != nil {
		return canCancelTask(m, s)
	}
	return acop.Legal(s.item, m.role(), m.self(), acop.VerbCancel)
}

func canBlock(m *Model, s subject) (bool, string) {
	if s.item != nil && s.item.Status() == acop.StatusBlocked {
		return acop.Legal(s.item, m.role(), m.self(), acop.VerbUnblock)
	}
	return acop.Legal(s.item, m.role(), m.self(), acop.VerbBlock)
}

func canPut(m *Model, _ subject) (bool, string) {
	return acop.Legal(nil, m.role(), m.self(), acop.VerbPut)
}

func canSettings(m *Model, _ subject) (bool, string) {
	return acop.Legal(nil, m.role(), m.self(), acop.VerbSettings)
}

func canEdit(m *Model, s subject) (bool, string) {
	if len(m.opts.Editor) == 0 {
		return false, "neither VISUAL nor EDITOR is set; p posts from a form"
	}
	return acop.Legal(s.item, m.role(), m.self(), acop.VerbPost)
}

func canCancelTask(_ *Model, s subject) (bool, string) {
	switch {
	case s.task == nil:
		return false, "this program does not know the task"
	case s.task.State.Final():
		return false, "the task has ended; it is " + string(s.task.State)
	case !s.task.CancelRequestedAt.IsZero():
		return false, "cancel was asked for at " + clockText(s.task.CancelRequestedAt) + "; the provider has not answered yet"
	}
	return true, ""
}

func canResend(_ *Model, s subject) (bool, string) {
	switch {
	case s.task == nil:
		return false, "no task is selected"
	case s.task.State.Final():
		return false, "the task has ended; invoke it anew"
	}
	return true, ""
}

func canInvoke(m *Model, _ subject) (bool, string) {
	if m.opts.Buyer == nil {
		return false, "this program runs no tasks"
	}
	why := ""
	for _, name := range m.state.ProviderOrder {
		p := m.state.Providers[name]
		switch {
		case p.Settings != nil:
			return true, ""
		case why != "": // the first one's is enough
		case p.Reachable == nil:
			why = "provider " + name + " has not answered yet"
		case *p.Reachable:
			why = "provider " + name + " runs no tasks: it has no ACMP"
		default:
			why = "provider " + name + " does not answer"
			if p.Problem != "" {
				why += ": " + p.Problem
			}
		}
	}
	return false, orElse(why, "no provider is known; start with --provider NAME=URL")
}

// noRow says that nothing is selected, and how something would be.
func (m *Model) noRow() string {
	if m.hasRows() {
		return "no row is selected; k selects the newest"
	}
	return "no row is selected"
}

// hasRows reports whether the room shows a row. It is asked with every frame, so
// that it lists none.
func (m *Model) hasRows() bool {
	if r, ok := m.room().(screen.Selector); ok {
		return r.Selectable(m.bodyCtx())
	}
	return !m.target().IsZero()
}

// canCopy lets the owner's address be copied where nothing is there to select.
func canCopy(m *Model, s subject) (bool, string) {
	if s.t.IsZero() && !m.copiesAddress() {
		return false, m.noRow()
	}
	return true, ""
}

func (m *Model) copiesAddress() bool {
	return m.state.Link.Server != "" && m.room().Filter() == "" && !m.hasRows()
}

func canMarkAll(m *Model, _ subject) (bool, string) {
	if len(m.marks) == 0 && !m.hasRows() {
		return false, "no row is shown"
	}
	return true, ""
}

func canMarkLike(_ *Model, s subject) (bool, string) {
	if s.t.AskKey == "" {
		return false, "only the asks of the queue have kinds; * marks all rows shown"
	}
	return true, ""
}

// canOpen refuses where enter would change nothing.
func canOpen(m *Model, s subject) (bool, string) {
	if sh := m.topSheet(); sh != nil && sh.ItemID() == s.t.WorkItemID {
		return false, "this is everything about the row"
	}
	return true, ""
}

func canSnooze(_ *Model, s subject) (bool, string) {
	if s.t.AskKey == "" {
		return false, "only an ask of the queue can be put aside"
	}
	return true, ""
}
