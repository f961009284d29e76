package ui

import (
	"errors"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acop"
)

// catchUp is how long an overtaken act waits for the event that overtook it.
const catchUp = 2 * time.Second

// overtaken reports whether the owner refused f because the item moved on
// between the person's answer and the owner's reading of it. A renewal on its
// way is enough for that; whether it was only one, askAgain finds out.
func (m *Model) overtaken(f *flight, err error) bool {
	var oe *acop.Error
	if f.again || f.item == nil || !errors.As(err, &oe) || oe.Code != acop.CodeRevisionMismatch {
		return false
	}
	f.stale = err
	return true
}

// askAgain asks once more when the state shows that only signs of life came in
// between; a change that matters is explained instead. It does nothing while the
// state has not caught up.
func (m *Model) askAgain(f *flight) tea.Cmd {
	now := m.state.Items[f.target.WorkItemID]
	if now != nil && now.Revision <= f.act.IfRevision {
		return nil
	}
	err := f.stale
	f.stale = nil
	if now == nil || materialChange(f.item, now) != "" {
		m.acts.end(f)
		return m.refused(f, err)
	}
	f.again = true
	f.act.IfRevision = now.Revision
	f.act.Key = m.acts.session + "-" + strconv.Itoa(f.id) + "-again"
	return m.askOwner(f.id, f.act)
}

// onCaughtUp gives up on an act whose overtaking event never came.
func (m *Model) onCaughtUp(msg caughtUp) tea.Cmd {
	f := m.acts.flying[msg.id]
	if f == nil || f.stale == nil {
		return nil
	}
	m.acts.end(f)
	return m.refused(f, f.stale)
}
