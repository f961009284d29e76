//go:build unix

package cli

import "golang.org/x/sys/unix"

// mayWrite says why this user may not make files in dir, or nil. Nothing is made to
// find out.
func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
