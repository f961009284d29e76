package ui

import (
	"cmp"
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/fleet"
	"signalbox/ui/screen"
)

// endedAsk is the ask about how the row's task ended, or nil. Nothing outside makes
// such an ask go away: a person has to take note of it.
func (m *Model) endedAsk(s subject) *fleet.Ask {
	if s.task == nil || !s.task.State.Final() {
		return nil
	}
	asks := m.state.Asks(m.clock.now)
	for i := range asks {
		if asks[i].TaskID == s.task.ID {
			return &asks[i]
		}
	}
	return nil
}

func canSee(m *Model, s subject) (bool, string) {
	switch {
	case m.endedAsk(s) != nil:
		return true, ""
	case s.t.AskKey != "":
		return false, "this ask leaves by itself when its cause is gone; m puts it aside for a while"
	case s.task != nil && s.task.State.Final():
		return false, "nobody is asked about this task"
	}
	return false, "only the trouble a task ended in is taken note of"
}

// see takes note of how tasks ended: their asks leave the queue for good.
func (m *Model) see(ss []subject) tea.Cmd {
	var facts []fleet.Settled
	var ids []string
	for _, s := range ss {
		// All asks are looked up before the first leaves: each one that does makes
		// the state derive them anew.
		if a := m.endedAsk(s); a != nil && !slices.Contains(ids, a.TaskID) {
			facts = append(facts, fleet.Settled{Key: a.Key, Revision: a.Revision, Reason: a.Reason, At: m.clock.now})
			ids = append(ids, a.TaskID)
		}
	}
	for _, f := range facts {
		m.apply(f)
	}
	clear(m.marks)
	text := plural(len(ids), "task", "tasks") + " seen; they stay on the Tasks screen"
	if len(ids) == 1 {
		text = "seen: " + shortTask(ids[0]) + "; it stays on the Tasks screen"
	}
	return tea.Batch(m.keepSeen(ids), m.watchQueue(), m.toast(screen.Good, text))
}

// keepSeen has the buyer keep it, so that the asks are not there again at the next
// start.
func (m *Model) keepSeen(ids []string) tea.Cmd {
	buyer, ctx := m.opts.Buyer, m.ctx
	if buyer == nil {
		return nil
	}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, actTimeout)
		defer cancel()
		var err error
		for _, id := range ids {
			err = cmp.Or(err, buyer.Seen(ctx, id))
		}
		return seenKept{err}
	}
}

func (m *Model) onSeenKept(msg seenKept) tea.Cmd {
	if msg.err == nil {
		return nil
	}
	return m.toast(screen.Bad, clean(msg.err.Error())+"; the ask will be there again at the next start")
}
