//go:build unix

package cli

import (
	"os"
	"syscall"
)

// suspendSignals are those with which a terminal suspends a program.
func suspendSignals() []os.Signal { return []os.Signal{syscall.SIGTSTP} }
