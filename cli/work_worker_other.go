//go:build !unix

package cli

import "os"

// suspendSignals are none where no terminal suspends programs.
func suspendSignals() []os.Signal { return nil }
