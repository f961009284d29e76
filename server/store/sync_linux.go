package store

import (
	"os"
	"syscall"
)

// syncData brings what was written to a file to the disk, and of what the system
// knows about the file that which is needed to read it again (its size is). The
// time of the last change, which fsync writes as well, nobody asks for.
func syncData(f *os.File) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := c.Control(func(fd uintptr) {
		for {
			if failed = syscall.Fdatasync(int(fd)); failed != syscall.EINTR {
				return
			}
		}
	}); err != nil {
		return err
	}
	return os.NewSyscallError("fdatasync", failed)
}
