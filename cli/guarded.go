package cli

import tea "charm.land/bubbletea/v2"

// guarded is the dashboard with its panics kept off the screen: Bubble Tea would
// print a stack trace over it.
type guarded struct {
	model tea.Model
	crash *crash
}

// Init implements tea.Model.
func (m *guarded) Init() (cmd tea.Cmd) {
	defer m.crash.catch()
	return m.command(m.model.Init())
}

// Update implements tea.Model.
func (m *guarded) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	next = m // after a panic too: Bubble Tea goes on to draw what it is given
	defer m.crash.catch()
	_, cmd = m.model.Update(msg)
	return m, m.command(cmd)
}

// View implements tea.Model.
func (m *guarded) View() (v tea.View) {
	// What a panic leaves must stay on the alternate screen, else the last frame
	// would spill into the shell.
	v.AltScreen = true
	defer m.crash.catch()
	return m.model.View()
}

// command is cmd with its panics caught, those of the commands it brings forth
// included.
func (m *guarded) command(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer m.crash.catch()
		msg = cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = m.command(batch[i])
			}
		}
		return msg
	}
}
