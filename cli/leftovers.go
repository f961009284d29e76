package cli

import (
	"time"

	"signalbox/model/fleet"
)

// leftoversTold is how many unfinished tasks of earlier runs the Log names one by
// one.
const leftoversTold = 20

// leftovers tells of the unfinished tasks of earlier runs that are not taken up.
// There may be any number of them, so the Log names the first. The buyer calls note
// from one goroutine.
type leftovers struct {
	put  func(fleet.Fact) bool
	told int
}

func (l *leftovers) note(taskID, why string) {
	if l.told > leftoversTold {
		return // the program's log has them all
	}
	text := "task " + taskID + " of an earlier run is left alone: " + why
	if l.told == leftoversTold {
		text = "so are more tasks of earlier runs; --log-file keeps the name of each"
	}
	l.told++
	l.put(fleet.Noted{At: time.Now(), Text: text})
}
