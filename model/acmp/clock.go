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
