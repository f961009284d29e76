package ui

import (
	"context"

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
	var cmds []tea.Cmd
	n := 0
	for _, s := range ss {
		a := m.endedAsk(s)
		if a == nil {
			continue // two marks on one task
		}
		n++
		m.apply(fleet.Settled{Key: a.Key, Revision: a.Revision, Reason: a.Reason, At: m.clock.now})
		cmds = append(cmds, m.keepSeen(s.task.ID))
	}
	clear(m.marks)
	text := "seen: " + shortTask(ss[0].task.ID) + "; it stays on the Tasks screen"
	if n > 1 {
		text = plural(n, "task", "tasks") + " seen; they stay on the Tasks screen"
	}
	return tea.Batch(append(cmds, m.watchQueue(), m.toast(screen.Good, text))...)
}

// keepSeen has the buyer keep it, so that the ask is not there again at the next
// start.
func (m *Model) keepSeen(taskID string) tea.Cmd {
	buyer, ctx := m.opts.Buyer, m.ctx
	if buyer == nil {
		return nil
	}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, actTimeout)
		defer cancel()
		return seenKept{buyer.Seen(ctx, taskID)}
	}
}

func (m *Model) onSeenKept(msg seenKept) tea.Cmd {
	if msg.err == nil {
		return nil
	}
	return m.toast(screen.Bad, clean(msg.err.Error())+"; the ask will be there again at the next start")
}
