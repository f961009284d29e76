package acmp

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent lets the kernel kill the command when this process is killed.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// awaitExit waits for the leader to end without reaping it, so that its number
// stays its own, and its group's, until the group is gone.
func (p *process) awaitExit() {
	defer close(p.exited)
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (p *process) reap() { _ = p.cmd.Wait() } // its ProcessState tells
