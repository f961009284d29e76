//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// ownSession lets the command outlive the terminal it was started from.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
