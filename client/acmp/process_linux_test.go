package acmp

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestSignalsReachNobodyElse ends a child and sees to it that its number is its own
// for as long as signals are sent to it, and that none is sent afterwards: the system
// gives numbers out again.
func TestSignalsReachNobodyElse(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spec := ProviderSpec{Command: []string{exe}, Env: []string{childVar + "=stubborn", "PID_FILE=" + t.TempDir() + "/pid"}}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childVar+"=fails")
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reap := awaitExit(cmd)
	if err := syscall.Kill(cmd.Process.Pid, 0); err != nil {
		t.Errorf("the number of a child that has ended is free before its group is gone: %v", err)
	}
	var ended *exec.ExitError
	if err := reap(); !errors.As(err, &ended) || ended.ExitCode() != 4 {
		t.Errorf("how the child ended: %v", err)
	}

	p, err := startProcess(spec, &env{})
	if err != nil {
		t.Fatal(err)
	}
	p.signal(killGroup)
	select {
	case <-p.gone:
	case <-time.After(20 * time.Second):
		t.Fatal("the child does not end")
	}
	other := exec.Command("sleep", "1000")
	ownGroup(other)
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- other.Wait() }()
	p.cmd.Process = other.Process // who has the number now
	p.signal(termGroup)
	p.signal(killGroup)
	if err := syscall.Kill(other.Process.Pid, syscall.SIGCONT); err != nil {
		t.Errorf("a stranger was killed: %v", err)
	}
	select {
	case err := <-over:
		t.Errorf("a stranger was killed: %v", err)
	case <-time.After(50 * time.Millisecond): // SIGKILL needs none of it
		_ = other.Process.Kill()
		<-over
	}
}
