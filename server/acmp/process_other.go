//go:build !unix

package acmp

import (
	"os"
	"os/exec"
)

// Without process groups only the command itself can be stopped.

func ownGroup(*exec.Cmd) {}

func terminateGroup(p *os.Process) { _ = p.Kill() }

func killGroup(p *os.Process) { _ = p.Kill() }

func (p *process) awaitExit() {
	_ = p.cmd.Wait() // its ProcessState tells
	close(p.exited)
}

func (p *process) reap() { <-p.exited }

func (s *starter) loop() {
	for {
		select {
		case j := <-s.jobs:
			j.err <- j.cmd.Start()
		case <-s.quit:
			return
		}
	}
}

func ownSession(*exec.Cmd) {}
