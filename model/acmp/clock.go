package acmp

import "time"

// LivenessFactor is how many heartbeat intervals of silence the buyer waits
// before it takes a provider for dead (3.6, recommended).
const LivenessFactor = 3

// Deadline is the instant at which a task first sent at t fails with timeout.
// Retries and heartbeats never move it. timeoutMS is in ms; 0 or
// less means [DefaultTimeoutMS].
func Deadline(t time.Time, timeoutMS int64) time.Time {
	if timeoutMS <= 0 {
		timeoutMS = DefaultTimeoutMS
	}
	return t.Add(time.Duration(timeoutMS) * time.Millisecond)
}

// Window is the span of silence after which a provider that advertised interval
// counts as dead; 0 where no interval was advertised (no verdict, A-133).
func Window(interval time.Duration) time.Duration {
	if interval <= 0 {
		return 0
	}
	return LivenessFactor * interval
}

// Life is the verdict on a running task's signs of life.
type Life string

// The verdicts, by how many intervals have passed since the last sign: at most
// one, two, three, more. Unknown where no interval was advertised.
const (
	LifeAlive   Life = "alive"
	LifeLate    Life = "late"
	LifeSilent  Life = "silent"
	LifeDead    Life = "dead"
	LifeUnknown Life = "unknown"
)

// Liveness judges the silence since lastSign: ratio is its share of the window
// of [Window], at least 0 and above 1 once dead. Without an interval there is no
// verdict and the ratio is 0.
func Liveness(lastSign, now time.Time, interval time.Duration) (ratio float64, life Life) {
	if interval <= 0 {
		return 0, LifeUnknown
	}
	silence := max(now.Sub(lastSign), 0)
	ratio = float64(silence) / float64(Window(interval))
	switch {
	case silence > Window(interval):
		return ratio, LifeDead
	case silence > 2*interval:
		return ratio, LifeSilent
	case silence > interval:
		return ratio, LifeLate
	}
	return ratio, LifeAlive
}

// NextLife is the next instant after now at which [Liveness] changes its verdict
// without a new sign; zero when it will not.
func NextLife(lastSign, now time.Time, interval time.Duration) time.Time {
	if interval <= 0 {
		return time.Time{}
	}
	for n := time.Duration(1); n <= LivenessFactor; n++ {
		// A verdict holds up to and including its last instant.
		if t := lastSign.Add(n*interval + 1); t.After(now) {
			return t
		}
	}
	return time.Time{}
}

// DeadlineLeft is what is left until deadline; 0 once it has passed or when
// there is none.
func DeadlineLeft(deadline, now time.Time) time.Duration {
	if deadline.IsZero() {
		return 0
	}
	return max(deadline.Sub(now), 0)
}
