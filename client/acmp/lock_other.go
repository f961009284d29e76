//go:build !unix

package acmp

import "os"

// lockFile always succeeds: programs on this system must not share a folder.
func lockFile(*os.File) bool { return true }

// syncDir does nothing: folders cannot be synced on such systems.
func syncDir(string) error { return nil }
