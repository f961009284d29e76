package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	lockName = "lock"
	// lockPatience is how long a lock that is held is asked for again: who only
	// looks whether somebody holds it ([Holder]) has it for a moment.
	lockPatience = 250 * time.Millisecond
	lockAgain    = 10 * time.Millisecond
)

// errHeld is what the system's lock says when another process holds it.
var errHeld = errors.New("held by another process")

// ErrInUse means that another owner has the folder open.
type ErrInUse struct {
	Dir string
	PID int // of the process that holds it; 0 when it did not say
}

// Error implements error.
func (e *ErrInUse) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = "process " + strconv.Itoa(e.PID)
	}
	return fmt.Sprintf("the folder %s is in use by %s; stop that one first, or choose another folder", e.Dir, who)
}

// lockDir takes the folder for this process. The system frees the lock when the
// process dies, however it dies. The caller closes the file to free it.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of %s: %w", dir, err)
	}
	err = lockFile(f)
	for end := time.Now().Add(lockPatience); errors.Is(err, errHeld) && time.Now().Before(end); err = lockFile(f) {
		time.Sleep(lockAgain)
	}
	if err != nil {
		defer f.Close()
		if errors.Is(err, errHeld) {
			return nil, &ErrInUse{Dir: dir, PID: readPID(f)}
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	pid := strconv.Itoa(os.Getpid()) + "\n"
	if err := errors.Join(f.Truncate(0), writeAt(f, pid)); err != nil {
		return nil, errors.Join(fmt.Errorf("write the lock of %s: %w", dir, err), f.Close())
	}
	return f, nil
}

func writeAt(f *os.File, s string) error {
	_, err := f.WriteAt([]byte(s), 0)
	return err
}

func readPID(f *os.File) int {
	b, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}
