//go:build !linux

package acop

import "time"

// asleep is how long this machine has been suspended, as far as Go's monotonic
// clock does not tell.
func asleep() time.Duration { return 0 }
