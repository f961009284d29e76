package acop

import (
	"time"

	"golang.org/x/sys/unix"
)

// systemClock reads the machine. Go's own monotonic clock stands still while a
// laptop sleeps; the boot time does not, and leases go on ending meanwhile.
type systemClock struct{}

func (systemClock) Wall() time.Time { return time.Now() }

func (systemClock) Elapsed() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return time.Since(processStart)
	}
	return time.Duration(ts.Nano())
}

var processStart = time.Now()
