//go:build unix

package cli

import (
	"os"
	"os/exec"
	"syscall"
)

// ownSession lets the command outlive the terminal it was started from.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// ownGroup makes the command the leader of a process group, so that what it starts
// can be reached with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends the command and what it has started.
func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// askToEnd lets the process finish what it does and end.
func askToEnd(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
