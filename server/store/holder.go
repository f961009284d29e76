package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Holder tells which process has the folder of a log open: held is false when
// none has, and pid is 0 when the one that does has not said. The answer comes from
// the system's lock, so it is never the number of a process that has died.
func Holder(dir string) (pid int, held bool, err error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("look at the lock of %s: %w", dir, err)
	}
	defer f.Close() // frees the lock, if it was to be had
	err = lockFile(f)
	if errors.Is(err, errHeld) {
		return readPID(f), true, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("look at the lock of %s: %w", dir, err)
	}
	return 0, false, nil
}
