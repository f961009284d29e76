//go:build unix

package cli

import (
	"os"
	"os/exec"
	"syscall"
)

// ownSession lets the command outlive the terminal it was started from.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// askToEnd lets the process finish what it does and end.
func askToEnd(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
