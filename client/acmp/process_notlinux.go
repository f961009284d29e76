//go:build !linux

package acmp

import "os/exec"

// awaitExit waits for the child to end. Here that gives its number back at once; what
// is left of its group keeps the group's number.
func awaitExit(cmd *exec.Cmd) (reap func() error) {
	err := cmd.Wait()
	return func() error { return err }
}
