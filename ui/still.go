package ui

import tea "charm.land/bubbletea/v2"

// TerminalReadyMsg tells that the terminal has taken all it was given, after
// Options.TerminalBehind has said otherwise.
type TerminalReadyMsg struct{}

// still is the frame that was drawn last, and for which size.
type still struct {
	view tea.View // AltScreen is false: none
	w, h int
}

// standsStill reports whether the last frame is to stay what it is: the terminal has
// not taken all it was given, and further frames would only queue up (B95). Facts and
// keys are taken in all the same. A frame for another size is drawn in any case, and
// so is the blank one at the end.
func (m *Model) standsStill() bool {
	s := &m.still
	return m.opts.TerminalBehind != nil && s.view.AltScreen && s.w == m.size.w && s.h == m.size.h && !m.end.left &&
		m.opts.TerminalBehind()
}
