//go:build unix

package acmp

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes the file for this process, without waiting; the system gives it
// back when the process ends in whatever way.
func lockFile(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// syncDir has the system write down which files the folder holds.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
