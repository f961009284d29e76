package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// demoPrefix begins the names of the demos' folders.
const demoPrefix = "signalbox-demo-"

// demoLock is the file that a running demo keeps locked in its folder. The system
// frees the lock when the demo dies, however it dies.
const demoLock = "lock"

// demoStarting is how old a folder without a lock must be to be a dead one: a demo
// makes the folder first, and the lock right after.
const demoStarting = time.Minute

// demoFolder makes a folder for a demo and marks it as in use until leave, which
// removes it.
func demoFolder(temp string) (dir string, leave func() error, err error) {
	if dir, err = os.MkdirTemp(temp, demoPrefix); err != nil {
		return "", nil, err
	}
	lock, err := holdDemo(dir)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() error { return errors.Join(lock.Close(), os.RemoveAll(dir)) }, nil
}

// holdDemo makes the lock. It is empty until it is held, so that one with content
// that can be had belongs to nobody any more.
func holdDemo(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, demoLock), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if held, err := tryLock(f); err != nil || !held {
		return nil, errors.Join(errors.New("the demo's folder cannot be locked"), err, f.Close())
	}
	if _, err := fmt.Fprintln(f, os.Getpid()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sweepDemos removes what demos that were killed left in temp. Folders of running
// demos, and whatever cannot be told, stay.
func sweepDemos(temp string) {
	entries, err := os.ReadDir(temp)
	if err != nil {
		return
	}
	for _, e := range entries {
		number, ours := strings.CutPrefix(e.Name(), demoPrefix)
		// IsDir is false for a link: nobody else's folder is reached through one.
		if !ours || !e.IsDir() || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		sweepDemo(filepath.Join(temp, e.Name()))
	}
}

func sweepDemo(dir string) {
	f, err := os.OpenFile(filepath.Join(dir, demoLock), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > demoStarting {
			_ = os.Remove(dir) // only if it is empty: the demo died at once
		}
		return
	}
	if err != nil {
		return
	}
	held, err := tryLock(f)
	info, statErr := f.Stat()
	_ = f.Close() // before removing: an open file keeps its folder on some systems
	if err == nil && statErr == nil && held && info.Size() > 0 {
		_ = os.RemoveAll(dir)
	}
}
