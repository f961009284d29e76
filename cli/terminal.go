package cli

import (
	"os"

	"github.com/charmbracelet/x/term"
)

// requireTerminal refuses to start the dashboard where it could not be drawn or
// typed at (B92, B93), naming what works there instead.
func (g *globals) requireTerminal() error {
	const instead = "without one, use `signalbox serve`, `signalbox work list` or `signalbox invoke`"
	in, inOK := g.sys.Stdin.(*os.File)
	out, outOK := g.sys.Stdout.(*os.File)
	switch {
	case !inOK || !term.IsTerminal(in.Fd()):
		return failf(exitUsage, "the dashboard needs a terminal and standard input is none; %s", instead)
	case !outOK || !term.IsTerminal(out.Fd()):
		return failf(exitUsage, "the dashboard needs a terminal and standard output is none; %s", instead)
	}
	if t := g.sys.Env("TERM"); t == "" || t == "dumb" {
		return failf(exitUsage, "the dashboard needs a terminal that can place text, and TERM is %q; set TERM, for example to xterm-256color; %s", t, instead)
	}
	return nil
}
