//go:build unix

package acmp

import (
	"os"
	"syscall"
)

// lockFile takes the file for this process, without waiting; the system gives it
// back when the process ends in whatever way.
func lockFile(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
