package cli

import (
	"os"
	"syscall"
)

// gone reports whether no process has the id pid; one that ended and that nobody has
// waited for still has it.
func gone(pid int) bool { return signalPID(pid, syscall.Signal(0)) != nil }

// signalPID sends sig to a process that need not be a child.
func signalPID(pid int, sig os.Signal) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer p.Release()
	return p.Signal(sig)
}
