package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/fleet"
)

// The paces of the clock. Nothing moves faster than what a bar of eight cells
// can show, and an idle box does not tick at all between two minutes.
const (
	paceBars  = 250 * time.Millisecond // a task's sign of life
	paceClock = time.Second            // leases and ages in seconds
	paceIdle  = time.Minute            // ages in minutes
)

// clock is the time as of the last tick and the tick that is under way.
type clock struct {
	now  time.Time
	id   int       // of the tick under way
	due  time.Time // its instant; zero: none
	pace time.Duration
}

// schedule starts the next tick if one is needed earlier than the one under
// way.
func (m *Model) schedule() tea.Cmd {
	next := m.nextTick()
	if !m.clock.due.IsZero() && !next.Before(m.clock.due) {
		return nil
	}
	m.clock.id++
	m.clock.due = next
	id, now := m.clock.id, m.opts.Now
	return tea.Tick(max(time.Millisecond, next.Sub(m.clock.now)), func(time.Time) tea.Msg {
		return tick{id, now()}
	})
}

// nextTick is the next instant at which the screen changes by time alone.
func (m *Model) nextTick() time.Time {
	now := m.clock.now
	m.clock.pace = m.pace()
	next := now.Add(m.clock.pace)
	if m.clock.pace == paceIdle {
		// The wall clock in the header changes with the minute.
		next = now.Truncate(time.Minute).Add(time.Minute)
	}
	if c := m.state.NextChange(now); c.After(now) && c.Before(next) {
		next = c
	}
	return next
}

// pace is how fast what is known changes on the screen.
func (m *Model) pace() time.Duration {
	switch {
	case m.size.rects.Small:
		return paceIdle
	case m.running() > 0 && m.pointer.focused:
		return paceBars
	case m.running() > 0, m.held() > 0, m.clock.now.Sub(m.lastFact()) < time.Minute,
		m.state.Link.State == fleet.LinkDegraded, m.state.Link.State == fleet.LinkConnecting:
		return paceClock
	}
	return paceIdle
}

func (m *Model) onTick(t tick) tea.Cmd {
	if t.id != m.clock.id {
		return nil
	}
	m.clock.due = time.Time{}
	return m.advance(t.at)
}

// advance moves the clock, never backwards, and lets what time alone changes
// take place.
func (m *Model) advance(at time.Time) tea.Cmd {
	if at.After(m.clock.now) {
		m.clock.now = at
	}
	m.wakeSnoozed()
	return m.watchQueue()
}

// readClock brings the time when the clock ticks too slowly for a key to be
// answered with the right ages.
func (m *Model) readClock() tea.Cmd {
	if m.clock.pace < paceIdle {
		return nil
	}
	return m.readTime()
}

func (m *Model) readTime() tea.Cmd {
	now := m.opts.Now
	return func() tea.Msg { return clockRead{now()} }
}
