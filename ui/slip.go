package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/ui/dialog"
)

// slip notes that the selected row left by itself, so that another one stands under
// the cursor. A key pressed right then was meant for the row that was there (promise 2).
type slip struct {
	id    int // of the pause that ends it
	under bool
}

// row is the selected row by its key, and whether it may leave unremarked: nothing is
// selected, or the person acted on it and waits for it to go.
func (m *Model) row() (key string, mayLeave bool) {
	key = m.target().Key()
	return key, key == "" || key == m.acts.recent || m.acts.words[key] != ""
}

// watchRow begins the pause in which nothing is done to the selected row, where it is
// not the one called was any more.
func (m *Model) watchRow(was string, mayLeave bool) tea.Cmd {
	if mayLeave || m.target().Key() == was {
		return nil
	}
	m.slip.under = true
	return m.waitSlip()
}

func (m *Model) waitSlip() tea.Cmd {
	m.slip.id++
	id := m.slip.id
	return tea.Tick(dialog.Quiet, func(time.Time) tea.Msg { return slipOver{id} })
}

// onSlipOver ends the pause once the row that is selected now can be seen.
func (m *Model) onSlipOver(msg slipOver) tea.Cmd {
	switch {
	case msg.id != m.slip.id || !m.slip.under:
		return nil
	case m.opts.TerminalBehind != nil && m.opts.TerminalBehind():
		return m.waitSlip()
	}
	m.slip.under = false
	return nil
}

// endSlip ends the pause, because a key came: what is pressed from then on is meant for
// the row that is there. It reports whether the pause was under way.
func (m *Model) endSlip() bool {
	under := m.slip.under
	m.slip.under = false
	return under
}

// actsOnRow reports whether a would act on the selected row.
func (m *Model) actsOnRow(a *action) bool {
	onMarks := a.bulk && len(m.marks) > 0
	return !onMarks && a.on&(onItem|onTask|onRow) != 0
}
