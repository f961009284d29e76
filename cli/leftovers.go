package cli

import (
	"strconv"
	"time"

	"signalbox/model/fleet"
)

// leftoversTold is how many unfinished tasks of earlier runs the Log names one by
// one.
const leftoversTold = 20

// leftovers gathers the unfinished tasks of earlier runs that are not taken up.
// They are told of while the buyer starts, when nobody takes facts yet, and there
// may be any number of them. The buyer's New alone calls note, from one goroutine.
type leftovers struct {
	first []fleet.Fact
	more  int
}

func (l *leftovers) note(taskID, why string) {
	if len(l.first) == leftoversTold {
		l.more++
		return
	}
	l.first = append(l.first, fleet.Noted{At: time.Now(), Text: "task " + taskID + " of an earlier run is left alone: " + why})
}

// facts is what there is to say about them.
func (l *leftovers) facts() []fleet.Fact {
	if l.more == 0 {
		return l.first
	}
	return append(l.first, fleet.Noted{At: time.Now(), Text: "so are " + strconv.Itoa(l.more) + " more tasks of earlier runs"})
}
