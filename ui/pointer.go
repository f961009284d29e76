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
	m.touched = true
	if m.pointer.inert {
		m.pointer.inert = false
		return nil
	}
	if msg.Button != tea.MouseLeft || m.size.rects.Small {
		return nil
	}
	m.rooms.wanted = screen.Target{}
	r := m.size.rects
	switch {
	case r.Keys.Has(msg.X, msg.Y) && (m.input.mode != inputFilter && m.input.mode != inputPrompt || len(m.dialogs) > 0):
		return m.clickKey(msg.X)
	case len(m.dialogs) > 0:
		return m.clickDialog(msg.X, msg.Y)
	case m.input.mode != inputNone:
		return nil
	case r.Header.Has(msg.X, msg.Y):
		return m.clickTab(msg.X)
	case r.Body.Has(msg.X, msg.Y):
		return m.clickBody(msg)
	}
	return nil
}

// clickKey presses the key that stands in the key row.
func (m *Model) clickKey(x int) tea.Cmd {
	_, spots := m.keys()
	for _, s := range spots {
		if x >= s.x && x < s.x+s.w {
			return m.onKey(keyMsg(s.id))
		}
	}
	return nil
}

// clickDialog presses what the mouse hit in the dialog on top.
func (m *Model) clickDialog(x, y int) tea.Cmd {
	o := m.top()
	box, bx, by := m.dialogBox(o)
	if s, ok := box.Hit(x-bx, y-by); ok {
		return m.answered(o, o.d.Click(s))
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
	m.touched = true
	n := 1
	switch {
	case m.size.rects.Small:
		return nil
	case msg.Button == tea.MouseWheelUp:
		n = -1
	case msg.Button != tea.MouseWheelDown:
		return nil
	}
	switch {
	case len(m.dialogs) > 0:
		m.top().d.Wheel(n)
		return nil
	case m.input.mode == inputHelp:
		m.input.scroll += n
		return nil
	case m.input.mode == inputPalette:
		m.input.pick = max(0, min(m.input.pick+n, len(m.input.found)-1))
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
