package acop

import (
	"time"

	"golang.org/x/sys/unix"
)

// asleep is how long this machine has been suspended since its start. Go's
// monotonic clock and its timers stand still meanwhile, and leases go on ending.
func asleep() time.Duration {
	var least time.Duration
	for i := range 4 { // the two clocks are not read at once; the least is the truest
		var boot, awake unix.Timespec
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &awake) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil {
			return 0
		}
		if d := time.Duration(boot.Nano() - awake.Nano()); i == 0 || d < least {
			least = d
		}
	}
	return least
}
