//go:build !unix

package acmp

import "time"

// cpuTime is not told here.
func cpuTime() time.Duration { return 0 }

// runUnsynced is played where a process can be left without files alone.
func runUnsynced(string) {}
