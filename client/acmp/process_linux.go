package acmp

import (
	"errors"
	"os/exec"

	"golang.org/x/sys/unix"
)

// awaitExit waits for the child to end without reaping it, so that its number stays
// its own, and its group's, until the group is gone; reap, which returns at once,
// tells how it ended.
func awaitExit(cmd *exec.Cmd) (reap func() error) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return cmd.Wait
		}
	}
}
