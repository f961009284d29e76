package fleet

import (
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
)

// barSteps is how many different states a bar of eight cells with eighth blocks
// can show.
const barSteps = 64

// minStep keeps a dashboard with fast bars from drawing all the time.
const minStep = 200 * time.Millisecond

// soonest keeps the earliest of the instants after now it is given.
type soonest struct {
	now time.Time
	at  time.Time
}

func (m *soonest) add(t time.Time) {
	if t.After(m.now) && (m.at.IsZero() || t.Before(m.at)) {
		m.at = t
	}
}

// nextAskChange is the next instant at which an ask comes, goes or changes its
// reason by time alone; zero for none.
func nextAskChange(s *State, now time.Time) time.Time {
	m := soonest{now: now}
	for id := range s.ix.live {
		l := s.Items[id].Lease
		m.add(s.local(LeaseWarning(l)))
		m.add(s.FromOwner(l.Claim.ExpiresAtUTC))
	}
	for id := range s.ix.waiting {
		for i := range s.Items[id].Intents {
			if in := &s.Items[id].Intents[i]; in.State == acop.IntentWaiting {
				m.add(s.FromOwner(in.ExpiresUTC))
			}
		}
	}
	for id := range s.ix.liveTasks {
		t := s.Tasks[id]
		if t.State != acmp.StateRunning {
			continue
		}
		if !t.CancelRequestedAt.IsZero() {
			m.add(t.CancelRequestedAt.Add(CancelPatience))
		}
		m.add(acmp.NextLife(t.LastSign, now, t.Interval))
		m.add(deadlineNear(t))
		m.add(t.Deadline)
	}
	return m.at
}

// nextChange adds the steps of bars and countdowns to [nextAskChange].
func nextChange(s *State, now time.Time) time.Time {
	m := soonest{now: now, at: nextAskChange(s, now)}
	for id := range s.ix.live {
		l := s.Items[id].Lease
		if left := s.FromOwner(l.Claim.ExpiresAtUTC).Sub(now); left > 0 {
			m.add(now.Add(countdownStep(left, leaseTerm(l))))
		}
	}
	for id := range s.ix.liveTasks {
		t := s.Tasks[id]
		if w := acmp.Window(t.Interval); w > 0 && now.Sub(t.LastSign) <= w {
			m.add(now.Add(max(w/barSteps, minStep)))
		}
		if left := t.Deadline.Sub(now); left > 0 {
			m.add(now.Add(countdownStep(left, t.Deadline.Sub(t.SentAt))))
		}
	}
	return m.at
}

// countdownStep is how long a countdown with its bar looks the same: its text
// changes every second in the last minutes and every minute before.
func countdownStep(left, whole time.Duration) time.Duration {
	text := time.Second
	if left > 10*time.Minute {
		text = time.Minute
	}
	return max(min(text, whole/barSteps), minStep)
}
