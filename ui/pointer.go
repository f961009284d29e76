package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/ui/screen"
)

// doubleClick is the longest time between the two clicks of one.
const doubleClick = 400 * time.Millisecond

// pointer is the mouse and whether the terminal has the focus.
type pointer struct {
	focused bool
	inert   bool // the next click only gives the focus
	x, y    int  // of the last click
	click   int  // id of the span in which a second click opens
	waiting bool // that span has not ended
}

// spot is where something to click stands in a row.
type spot struct {
	x, w int
	id   string
}

func (m *Model) onFocus() tea.Cmd {
	m.pointer.inert = !m.pointer.focused
	m.pointer.focused = true
	return m.readClock()
}

// onClick selects; a second click on the same cell opens. The first click after
// the terminal got the focus does nothing.
func (m *Model) onClick(msg tea.MouseClickMsg) tea.Cmd {
	if m.pointer.inert {
		m.pointer.inert = false
		return nil
	}
	if msg.Button != tea.MouseLeft || len(m.dialogs) > 0 || m.size.rects.Small {
		return nil
	}
	if m.input.mode != inputNone {
		return nil
	}
	r := m.size.rects
	switch {
	case r.Header.Has(msg.X, msg.Y):
		return m.clickTab(msg.X)
	case r.Body.Has(msg.X, msg.Y):
		return m.clickBody(msg)
	}
	return nil
}

func (m *Model) clickTab(x int) tea.Cmd {
	_, spots := m.tabs(m.size.w)
	for _, s := range spots {
		if x >= s.x && x < s.x+s.w {
			m.goTo(screen.ID(s.id))
		}
	}
	return nil
}

func (m *Model) clickBody(msg tea.MouseClickMsg) tea.Cmd {
	p := &m.pointer
	twice := p.waiting && p.x == msg.X && p.y == msg.Y
	p.x, p.y, p.waiting = msg.X, msg.Y, !twice
	p.click++
	before := m.target()
	rel := msg
	rel.X -= m.size.rects.Body.X
	rel.Y -= m.size.rects.Body.Y
	cmd := m.carryOut(m.room().Update(m.bodyCtx(), rel))
	if twice && before.Key() == m.target().Key() && !before.IsZero() {
		return tea.Batch(cmd, m.openSheet(m.target()))
	}
	id := p.click
	return tea.Batch(cmd, tea.Tick(doubleClick, func(time.Time) tea.Msg { return clickOver{id} }))
}

func (m *Model) onWheel(msg tea.MouseWheelMsg) tea.Cmd {
	if len(m.dialogs) > 0 || m.size.rects.Small {
		return nil
	}
	if m.input.mode == inputHelp {
		if msg.Button == tea.MouseWheelDown {
			m.input.scroll++
		} else {
			m.input.scroll--
		}
		return nil
	}
	if !m.size.rects.Body.Has(msg.X, msg.Y) {
		return nil
	}
	rel := msg
	rel.X -= m.size.rects.Body.X
	rel.Y -= m.size.rects.Body.Y
	return m.carryOut(m.room().Update(m.bodyCtx(), rel))
}
