package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/screen"
)

// onFacts applies a batch of facts: the only way the state changes.
func (m *Model) onFacts(msg FactsMsg) tea.Cmd {
	was := m.state.Link.State
	row, mayLeave := m.row()
	var back tea.Cmd
	for _, f := range msg.Facts {
		if at := factTime(f); at.After(m.clock.now) {
			m.clock.now = at
		}
		from := m.state.Revision
		m.state.Apply(f)
		if m.state.Revision < from {
			back = tea.Batch(back, m.wentBack(from))
		}
	}
	m.rooms.lastFact = m.clock.now
	m.dropClosedMarks()
	cmd := tea.Batch(back, m.confirm(), m.watchLink(was), m.watchQueue(), m.refreshSheet())
	m.tell(screen.Applied{})
	called := m.selectWanted()
	return tea.Batch(cmd, m.watchRow(row, mayLeave || called))
}

// factTime is when the fact reached this program, by its own clock.
func factTime(f fleet.Fact) time.Time {
	switch f := f.(type) {
	case fleet.OwnerEvent:
		return f.At
	case fleet.SnapshotLoaded:
		return f.At
	case fleet.TaskHappened:
		return f.Event.At
	case fleet.ProviderSeen:
		return f.At
	case fleet.OwnAct:
		return f.At
	}
	return time.Time{}
}

func (m *Model) lastFact() time.Time { return m.rooms.lastFact }

// apply applies one fact of this program's own.
func (m *Model) apply(f fleet.Fact) { m.state.Apply(f) }

// watchLink says once that the owner is gone and once that it is back.
func (m *Model) watchLink(was fleet.LinkState) tea.Cmd {
	is := m.state.Link.State
	if is == was {
		return nil
	}
	switch {
	case is == fleet.LinkLive && was == fleet.LinkDegraded:
		text := "the owner is back; the screen is up to date again"
		if m.state.Link.Lost {
			text = "the owner is back; events were missed, a snapshot replaced them"
		}
		return m.toast(screen.Good, text)
	case is == fleet.LinkDegraded:
		return m.toast(screen.Warn, "the owner does not answer; what you see is as of "+
			clockText(m.state.Link.LastSeen)+". Trying again.")
	case is == fleet.LinkRefused:
		return m.toast(screen.Bad, "the owner refuses this program: "+clean(m.state.Link.Problem))
	}
	return nil
}

// running counts the tasks that have not ended.
func (m *Model) running() int {
	n := 0
	for i := len(m.state.TaskOrder) - 1; i >= 0; i-- {
		if t := m.state.Tasks[m.state.TaskOrder[i]]; t != nil && !t.State.Final() {
			n++
		}
	}
	return n
}

// held counts the live claims.
func (m *Model) held() int {
	return m.state.Count(acop.StatusClaimed) + m.state.Count(acop.StatusInProgress)
}

// dropClosedMarks unmarks what is gone.
func (m *Model) dropClosedMarks() {
	for k, t := range m.marks {
		if it := m.state.Items[t.WorkItemID]; t.WorkItemID != "" && (it == nil || it.Status().Terminal()) {
			delete(m.marks, k)
		}
	}
}
