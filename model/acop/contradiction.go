package acop

import "strings"

// StatusSessionEnded is the progress_status with which a worker's program tells
// that its session is over although it holds a claim.
const StatusSessionEnded = "session_ended"

// atOdds are words for the state of the work, as workers choose them freely, that
// do not go with a claim that is held: it is done, or nobody works on it.
var atOdds = map[string]bool{
	StatusSessionEnded: true, "done": true, "completed": true, "complete": true, "finished": true,
	"released": true, "cancelled": true, "canceled": true, "abandoned": true, "failed": true, "stopped": true,
}

// Contradiction is the holder's last progress_status when it cannot be true while
// the holder has the claim, as after a session that ended without a word to the
// owner; "" otherwise. It is a hint for people and decides nothing.
func (l *Lease) Contradiction() string {
	if l == nil || l.LastHeartbeat == nil {
		return ""
	}
	s := l.LastHeartbeat.ProgressStatus
	if atOdds[strings.ToLower(strings.TrimSpace(s))] {
		return s
	}
	return ""
}
