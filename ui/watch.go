package ui

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/fleet"
)

// queueWatch remembers the asks of the last look, so that one that comes can
// ring and one whose cause is gone can say so.
type queueWatch struct {
	prev []fleet.Ask
	open []fleet.Ask // without the snoozed ones
	// snoozedAs are the fingerprints of the asks when they were snoozed.
	snoozedAs map[string]string
	started   bool
	answered  bool // the owner's first snapshot was looked at
}

// fingerprint changes when an ask does. While somebody holds its item, renewals and
// heartbeats move the revision, so that what the ask says stands for it.
func (m *Model) fingerprint(a *fleet.Ask) string {
	rev := a.Revision
	if it := m.state.Items[a.WorkItemID]; it != nil && it.Status().Held() {
		rev = 0
	}
	return fmt.Sprintf("%d %d %q %q %q %q %q %q", rev, a.Severity, a.Reason, a.ClaimID, a.Who, a.With, a.Title, a.Detail)
}

// noteSnoozed remembers how a snoozed ask looked.
func (m *Model) noteSnoozed(key string, asks []fleet.Ask) {
	q := &m.queue
	if q.snoozedAs == nil {
		q.snoozedAs = map[string]string{}
	}
	for i := range asks {
		if asks[i].Key == key {
			q.snoozedAs[key] = m.fingerprint(&asks[i])
		}
	}
}

// watchQueue compares the asks with those of the last look.
func (m *Model) watchQueue() tea.Cmd {
	asks := m.state.Asks(m.clock.now)
	m.wakeChanged(asks)
	gained, gone := fleet.DiffAsks(m.queue.prev, asks)
	m.queue.prev = asks
	m.queue.open = m.notSnoozed(asks)
	first := !m.queue.answered && m.state.Role != ""
	m.queue.answered = m.queue.answered || first
	if m.state.Link.State == fleet.LinkConnecting {
		return nil
	}
	if !m.queue.started {
		// What was there at the start is on the screen already; it does not ring.
		m.queue.started = true
		return nil
	}
	for i := range gone {
		if m.state.Settled(&gone[i]) {
			continue // that is in the Log already
		}
		m.apply(fleet.Noted{At: m.clock.now, Text: "ask gone: " + string(gone[i].Kind) + " " + subjectOfAsk(&gone[i])})
	}
	// Who ran a task of an earlier run was told when it ended. What an owner brings
	// that was down at the start has waited before anybody looked.
	gained = slices.DeleteFunc(gained, func(a fleet.Ask) bool {
		t := m.state.Tasks[a.TaskID]
		return t != nil && t.Earlier || first && a.WorkItemID != ""
	})
	var cmds []tea.Cmd
	for _, a := range gained {
		cmds = append(cmds, m.onAsk(a))
	}
	if len(gained) > 0 && !m.pointer.focused && worst(gained).Severity >= m.opts.Floor {
		cmds = append(cmds, m.ring(gained))
	}
	return tea.Batch(cmds...)
}

// subjectOfAsk is the raw id of what an ask is about.
func subjectOfAsk(a *fleet.Ask) string {
	for _, id := range []string{a.WorkItemID, a.TaskID, a.Provider} {
		if id != "" {
			return id
		}
	}
	return a.Title
}

func worst(asks []fleet.Ask) fleet.Ask {
	return slices.MaxFunc(asks, func(a, b fleet.Ask) int { return int(a.Severity) - int(b.Severity) })
}

// ring makes a new ask known outside the window.
func (m *Model) ring(asks []fleet.Ask) tea.Cmd {
	switch m.opts.Notify {
	case "bell":
		return tea.Raw("\a")
	case "osc":
		text := plural(len(asks), "ask", "asks") + " in signalbox: " + string(asks[0].Kind)
		return tea.Raw("\x1b]9;" + text + "\x07")
	case "command":
		return m.tellHook(m.opts.NotifyBy, worst(asks))
	}
	return nil
}

func (m *Model) onAsk(a fleet.Ask) tea.Cmd { return m.tellHook(m.opts.OnAsk, a) }

func (m *Model) tellHook(hook func(context.Context, fleet.Ask), a fleet.Ask) tea.Cmd {
	ctx := m.ctx
	if hook == nil {
		return nil
	}
	return func() tea.Msg {
		hook(ctx, a)
		return nil
	}
}

// wakeChanged brings back the asks that were put aside until they change, and
// forgets those that are gone.
func (m *Model) wakeChanged(asks []fleet.Ask) {
	if len(m.snoozed) == 0 {
		return
	}
	there := make(map[string]bool, len(m.snoozed))
	for i := range asks {
		key := asks[i].Key
		until, ok := m.snoozed[key]
		if !ok {
			continue
		}
		there[key] = true
		if until.Equal(untilChange) && m.queue.snoozedAs[key] != m.fingerprint(&asks[i]) {
			delete(m.snoozed, key)
		}
	}
	for key := range m.snoozed {
		if !there[key] {
			delete(m.snoozed, key)
			delete(m.queue.snoozedAs, key)
		}
	}
}

func (m *Model) notSnoozed(asks []fleet.Ask) []fleet.Ask {
	if len(m.snoozed) == 0 {
		return asks
	}
	out := make([]fleet.Ask, 0, len(asks))
	for _, a := range asks {
		if _, ok := m.snoozed[a.Key]; !ok {
			out = append(out, a)
		}
	}
	return out
}
