package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"
)

// Check reads the whole log of a stopped owner as a start would, and leaves it as it
// is. It gives the last revision. *[ErrInUse] says that an owner runs, which has
// checked the log itself; [ErrNoLog] that there is none yet; *[DamageError] what is
// wrong and what can be done. A log that was opened with a loss accepted is not
// judged again.
func Check(ctx context.Context, dir string) (last uint64, err error) {
	if err := hasLog(dir); err != nil {
		return 0, err
	}
	s := &Store{dir: dir, log: slog.New(slog.DiscardHandler), now: time.Now, p: newProjection()}
	defer func() { err = errors.Join(err, s.release()) }()
	c := &compaction{old: s}
	err = c.open(ctx)
	if c.found != nil {
		last = c.found.last
	}
	var damage *DamageError
	if s.lost != nil && len(s.lost.list) > 0 && errors.As(err, &damage) {
		err = nil
	}
	return last, err
}

// hasLog is nil when the folder holds a log, of whatever worth, [ErrNoLog] when
// it holds none, and another error when it cannot be read.
func hasLog(dir string) error {
	there, err := generations(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(there) == 0 {
		return fmt.Errorf("%w: %s", ErrNoLog, dir)
	}
	return err
}
