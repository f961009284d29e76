package fleet

import (
	"time"

	"signalbox/model/acop"
)

// log appends one line and drops the oldest beyond the bound, many at a time.
func (s *State) log(l LogLine) {
	s.Log = append(s.Log, l)
	s.Version++
	if len(s.Log) < maxLog+maxLog/8 {
		return
	}
	drop := len(s.Log) - maxLog
	s.Log = append([]LogLine(nil), s.Log[drop:]...)
	s.LogBase += drop
	for id, line := range s.ix.ownLines {
		if line < s.LogBase {
			delete(s.ix.ownLines, id)
		}
	}
}

// logEvent keeps an event without the objects it carried: they live elsewhere
// and would be kept for as long as the line.
func (s *State) logEvent(ev *acop.Event, at time.Time) {
	e := *ev
	e.Item, e.Settings, e.Intent = nil, nil, nil
	if at.IsZero() {
		at = e.AtUTC.Std()
	}
	s.log(LogLine{At: at, Event: &e})
}

// applyOwnAct shows an act of this program as one line: asked for, then with its
// outcome in the same place.
func (s *State) applyOwnAct(f OwnAct) {
	if line, ok := s.ix.ownLines[f.ID]; ok && line >= s.LogBase {
		s.Log[line-s.LogBase].Own = &f
		s.LogEdits++
		s.Version++
	} else {
		if !f.Done && f.Err == nil {
			s.ix.ownLines[f.ID] = s.LogBase + len(s.Log)
		}
		s.log(LogLine{At: f.At, Own: &f})
	}
	if f.Done || f.Err != nil {
		delete(s.ix.ownLines, f.ID)
	}
}
