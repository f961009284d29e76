package ui

import (
	"time"

	"signalbox/model/acop"
	"signalbox/ui/screen"
)

// Results are what a command found out, in the past tense, with the id of the
// request, so that a late one can be told from the one that is waited for.

// actDone answers an act of the owner's.
type actDone struct {
	id      int
	receipt *acop.Receipt
	err     error
	at      time.Time
}

// taskActDone answers an act on a task.
type taskActDone struct {
	id     int
	taskID string
	err    error
	at     time.Time
	feed   taskInput // to be sent as the task runs
}

// detailLoaded answers a sheet's request for everything about an item.
type detailLoaded struct {
	id     int
	detail *acop.Detail
	err    error
}

// transcriptLoaded answers a screen's request for a whole output.
type transcriptLoaded struct {
	room screen.ID
	msg  screen.Transcript
}

// goOn answers a screen that is at work for longer than a key may wait.
type goOn struct{ room screen.ID }

// textMade brings a text to be copied.
type textMade struct{ text, what string }

// saved answers an export.
type saved struct {
	path string
	err  error
	note string // said before it
}

// seenKept answers the keeping of a note that a person took.
type seenKept struct{ err error }

// edited brings text back from $EDITOR.
type edited struct {
	dialog *open
	field  string
	text   string
	err    error
}

// clockRead brings the time to a loop that does not tick.
type clockRead struct{ at time.Time }

// Ticks carry their purpose and an id; one whose id is not current is dropped.

// tick advances the clock.
type tick struct {
	id int
	at time.Time
}

// toastOver ends a toast.
type toastOver struct{ id int }

// quietOver ends the pause in front of a dialog that opened by itself.
type quietOver struct{ id int }

// slipOver ends the pause behind a row that left under the cursor.
type slipOver struct{ id int }

// pasteOver ends the pause after a paste.
type pasteOver struct{ id int }

// caughtUp ends the wait for the state to catch up with an overtaken act.
type caughtUp struct{ id int }

// clickOver ends the span in which a second click opens.
type clickOver struct{ id int }
