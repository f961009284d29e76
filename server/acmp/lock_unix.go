//go:build unix

package acmp

import (
	"fmt"
	"os"
	"syscall"
)

// lockFile takes path for this process until the file is closed.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another provider uses the data folder (%s is locked); stop it or name another folder", path)
	}
	return f, nil
}
