//go:build unix

package cli

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes an exclusive lock that ends with the file or the process, and
// reports whether it could be had.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
