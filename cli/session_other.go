//go:build !unix

package cli

import (
	"os"
	"os/exec"
)

// ownSession does nothing where there are no sessions.
func ownSession(*exec.Cmd) {}

// ownGroup does nothing where there are no process groups.
func ownGroup(*exec.Cmd) {}

// killGroup ends the command alone.
func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// askToEnd ends the process at once: there is no way to ask, and the owner's log
// bears it.
func askToEnd(p *os.Process) error { return p.Kill() }
