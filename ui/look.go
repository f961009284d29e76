package ui

import (
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"signalbox/ui/theme"
)

// look is the theme in use and what decided on it.
type look struct {
	opts   theme.Options
	styles *theme.Styles
	forced bool // colours were turned off by the user
}

func newLook(o Options) look {
	l := look{forced: o.NoColor}
	// Many terminals never say whether they are dark; begin dark.
	l.opts = theme.Options{Name: o.Theme, Dark: o.Theme != theme.Light, ASCII: o.ASCII}
	if o.NoColor {
		l.opts.Depth = theme.NoColor
	}
	l.build()
	return l
}

func (l *look) build() { l.styles = theme.New(l.opts) }

func (m *Model) onBackground(msg tea.BackgroundColorMsg) tea.Cmd {
	m.look.opts.Dark = msg.IsDark()
	m.look.build()
	return nil
}

func (m *Model) onProfile(msg tea.ColorProfileMsg) tea.Cmd {
	if m.look.forced {
		return nil
	}
	switch {
	case msg.Profile <= colorprofile.ASCII:
		m.look.opts.Depth = theme.NoColor
	case msg.Profile == colorprofile.ANSI:
		m.look.opts.Depth = theme.Basic16
	default:
		m.look.opts.Depth = theme.TrueColor
	}
	m.look.build()
	return nil
}
