//go:build !linux

package acop

import "time"

// systemClock reads the machine.
type systemClock struct{}

func (systemClock) Wall() time.Time { return time.Now() }

func (systemClock) Elapsed() time.Duration { return time.Since(processStart) }

var processStart = time.Now()
