package acmp

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// A command can leave its process group (setsid, a daemon's double fork), but not
// easily the environment it was given: the mark in it finds what the group does not.

// huntPasses bounds how often the list of processes is read again while it yields
// something: what is being killed may have just forked.
const huntPasses = 5

// signalMarked sends sig to every process that carries mark, and reports how many
// there were.
func signalMarked(mark string, sig syscall.Signal) int {
	needle := []byte(markName + "=" + mark)
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0
	}
	n := 0
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if carries(dir, needle) && signalIfStill(pid, dir, needle, sig) {
			n++
		}
	}
	return n
}

// carries reports whether the environment of the process holds the mark. That of
// another user's process, or of one that is gone, cannot be read.
func carries(dir string, needle []byte) bool {
	env, err := os.ReadFile(dir + "/environ")
	if err != nil {
		return false
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(kv, needle) {
			return true
		}
	}
	return false
}

// signalIfStill holds the process before it looks again, so that its number cannot
// have become another's.
func signalIfStill(pid int, dir string, needle []byte, sig syscall.Signal) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	return carries(dir, needle) && p.Signal(sig) == nil
}

// killMarked ends every process that carries mark.
func killMarked(mark string) {
	for range huntPasses {
		if signalMarked(mark, syscall.SIGKILL) == 0 {
			return
		}
	}
}
