//go:build unix && !linux

package acmp

import "syscall"

// dieWithParent does nothing here: the watchdog ends the group.
func dieWithParent(*syscall.SysProcAttr) {}

func (p *process) awaitExit() {
	_ = p.cmd.Wait() // its ProcessState tells
	close(p.exited)
}

func (p *process) reap() { <-p.exited }
