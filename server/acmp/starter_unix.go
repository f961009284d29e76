//go:build unix

package acmp

import "runtime"

func (s *starter) loop() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread() // a locked thread would end here, and children with it
	for {
		select {
		case j := <-s.jobs:
			j.err <- j.cmd.Start()
		case <-s.quit:
			return
		}
	}
}
