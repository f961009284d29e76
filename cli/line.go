package cli

import (
	"strconv"
	"time"

	"signalbox/ui/input"
	"signalbox/ui/tty"
)

const (
	// drainPatience is how long a terminal that takes nothing is waited for before it
	// is left; a line of 9600 baud takes something every two seconds.
	drainPatience = 3 * time.Second
	// drainWithin is how long a slow one may take in all.
	drainWithin = 30 * time.Second
)

// signsAreWide reports whether the terminal is said to draw signs of ambiguous width,
// lines and arrows among them, in two cells, as some do for CJK languages. Then only
// ASCII stays in its column (B03).
func (g *globals) signsAreWide() bool {
	wide, err := strconv.ParseBool(g.sys.Env("RUNEWIDTH_EASTASIAN"))
	return err == nil && wide
}

// line is the input of the dashboard. Bubble Tea asks for its descriptor when it
// changes the settings of the line, at the start and at each end: before quitting,
// stopping and leaving the terminal to an editor. What was written until then was
// meant for the old settings and has to be out first, as with TCSADRAIN.
type line struct {
	*input.Reader
	screen *tty.Writer
}

// Fd is the descriptor on which raw mode is set. It waits until the terminal has taken
// what it was given, unless that takes nothing any more.
func (l line) Fd() uintptr {
	l.screen.Drain(drainPatience, drainWithin)
	return l.Reader.Fd()
}
