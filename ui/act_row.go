package ui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/fleet"
	"signalbox/ui/dialog"
	"signalbox/ui/screen"
)

// settingsTarget stands for the owner's settings.
var settingsTarget = screen.Target{Kind: screen.KindEvent, ID: "settings"}

func itemTarget(id string) screen.Target { return screen.Item(id, 0) }

// copyID puts the row's id, without rows the owner's address, on the terminal's
// clipboard (OSC 52).
func (m *Model) copyID(ss []subject) tea.Cmd {
	t := ss[0].t
	id := t.ID
	if t.IsZero() {
		return m.copyText(m.state.Link.Server, "the owner's address")
	}
	switch {
	case t.Kind == screen.KindTask:
		id = t.TaskID
	case t.Kind == screen.KindEvent && t.WorkItemID != "":
		id = t.WorkItemID
	}
	return m.copyText(id, targetName(t))
}

// mark marks a row or unmarks it.
func (m *Model) mark(ss []subject) tea.Cmd {
	t := ss[0].t
	if _, ok := m.marks[t.Key()]; ok {
		delete(m.marks, t.Key())
	} else {
		m.marks[t.Key()] = t
	}
	m.roomKey(screen.Down)
	return nil
}

// markAll marks every row shown, or none when all are marked.
func (m *Model) markAll([]subject) tea.Cmd {
	shown := m.room().Shown(m.bodyCtx())
	if len(shown) == 0 {
		return nil
	}
	all := true
	for _, t := range shown {
		if _, ok := m.marks[t.Key()]; !ok {
			all = false
		}
	}
	if all || len(m.marks) > 0 {
		clear(m.marks)
		if all {
			return nil
		}
	}
	for _, t := range shown {
		m.marks[t.Key()] = t
	}
	return nil
}

// markLike marks every ask shown that is of the row's kind, beside what is marked, or
// unmarks them when all of them are.
func (m *Model) markLike(ss []subject) tea.Cmd {
	kinds := make(map[string]fleet.AskKind)
	for _, a := range m.state.Asks(m.clock.now) {
		kinds[a.Key] = a.Kind
	}
	want := kinds[ss[0].t.AskKey]
	like := slices.DeleteFunc(m.room().Shown(m.bodyCtx()), func(t screen.Target) bool { return kinds[t.AskKey] != want })
	fresh := slices.ContainsFunc(like, func(t screen.Target) bool { _, ok := m.marks[t.Key()]; return !ok })
	for _, t := range like {
		if fresh {
			m.marks[t.Key()] = t
		} else {
			delete(m.marks, t.Key())
		}
	}
	return nil
}

// untilChange is the snooze that ends when the ask changes.
var untilChange = time.Time{}

// snooze puts asks aside, or brings them back.
func (m *Model) snooze(ss []subject) tea.Cmd {
	if _, ok := m.snoozed[ss[0].t.AskKey]; ok && len(ss) == 1 {
		delete(m.snoozed, ss[0].t.AskKey)
		return m.toast(screen.Info, "back in the queue")
	}
	keys := make([]string, 0, len(ss))
	for _, s := range ss {
		if s.t.AskKey != "" {
			keys = append(keys, s.t.AskKey)
		}
	}
	d := &dialog.Dialog{
		Title: heading("Snooze", ss), Info: []dialog.Line{dialog.Text(map[bool]string{true: "It leaves", false: "They leave"}[len(keys) == 1]+" the queue for a while; nobody else is told.", dialog.Muted)},
		Buttons: []dialog.Button{
			{Value: "15m", Label: "15 minutes", Key: "1"}, {Value: "1h", Label: "1 hour", Key: "2"},
			{Value: "change", Label: "until it changes", Key: "3"}, back,
		},
	}
	return m.ask(d, nil, nil, func(v string) (tea.Cmd, string) {
		until := untilChange
		if dur, err := time.ParseDuration(v); err == nil {
			until = m.clock.now.Add(dur)
		}
		for _, k := range keys {
			m.snoozed[k] = until
			m.noteSnoozed(k, m.state.Asks(m.clock.now))
		}
		clear(m.marks)
		return nil, ""
	})
}

// wakeSnoozed brings back the asks whose time has come.
func (m *Model) wakeSnoozed() {
	for k, until := range m.snoozed {
		if !until.IsZero() && !m.clock.now.Before(until) {
			delete(m.snoozed, k)
		}
	}
}

// goTo shows a screen and closes the sheets over it.
func (m *Model) goTo(id screen.ID) {
	if i := slices.IndexFunc(m.rooms.all, func(s screen.Screen) bool { return s.ID() == id }); i >= 0 {
		m.rooms.at = i
		m.rooms.sheets = nil
	}
}

// step goes n screens on, around the end.
func (m *Model) step(n int) {
	m.rooms.at = (m.rooms.at + n + len(m.rooms.all)) % len(m.rooms.all)
	m.rooms.sheets = nil
}
