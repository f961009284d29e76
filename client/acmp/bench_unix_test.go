//go:build unix

package acmp

import (
	"syscall"
	"time"
)

// cpuTime is what this process has used of the processors: unlike the time on the wall
// it does not depend on who else runs.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // on failure the figure is 0 and plain to see
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
