package store

import (
	"fmt"
	"log/slog"
	"time"
)

// Options say where the log lives and how it is opened.
type Options struct {
	// Dir is the folder of the log; it is created with mode 0700 when missing.
	Dir string
	// Log receives what an operator should know; nil discards it.
	Log *slog.Logger
	// AcceptLoss opens a damaged log with what is left of it. The loss is
	// written down beside the log, so that the next start does not ask again.
	AcceptLoss bool
	// Now is the owner's clock, used for how long answers are remembered; nil
	// means time.Now.
	Now func() time.Time
	// EventBuffer is how many acts a subscriber may lie behind before it is cut
	// off; 0 means 4096.
	EventBuffer int
}

// ErrCursorAhead means that a reader asked for what comes after a revision that
// this log has not reached: it belongs to another log or to one that lost its
// end. The reader must take a snapshot. It is returned as a pointer.
type ErrCursorAhead struct {
	Last uint64 // the last revision of this log
}

// Error implements error.
func (e *ErrCursorAhead) Error() string {
	return fmt.Sprintf("the revision asked for is ahead of this log, which ends at %d; take a snapshot", e.Last)
}

// ErrLost means that a subscriber fell too far behind and was cut off. All
// events up to Resume have been handed out; a new subscription after Resume
// misses nothing. It is returned as a pointer.
type ErrLost struct {
	Resume uint64
}

// Error implements error.
func (e *ErrLost) Error() string {
	return fmt.Sprintf("the reader was too slow and was cut off; resume after revision %d", e.Resume)
}
