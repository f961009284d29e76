package acmp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"time"
)

// Program is a command that is run for its own sake, guarded as a provider guards
// the commands of its tasks: it leads a process group of its own, and nothing that
// it starts outlives it, the context it runs under, or this process, however that
// ends.
type Program struct {
	Argv []string
	// Env is its environment; nil is that of this process.
	Env []string
	// Stdin is what it reads; nil is nothing. It must not be a terminal: whoever
	// reads one from outside its foreground group is stopped.
	Stdin *os.File
	// Stdout and Stderr receive what it prints, from a goroutine each. An error of
	// theirs ends the passing on, not the program. One that takes its time is waited
	// for, until the context ends; a Write that never returns may outlast Run then.
	Stdout, Stderr io.Writer
	// StopGrace is the time between SIGTERM and SIGKILL; 0 is DefaultStopGrace.
	StopGrace time.Duration
	// Watchdog is the argv of a process that runs [Watchdog]; empty is none, and
	// then only the system ends the program with this process, where it can.
	Watchdog []string
	// Log receives what goes wrong beside the program; nil discards it.
	Log *slog.Logger
}

// ErrNotStarted is in the chain of the error of a program that never ran.
var ErrNotStarted = errors.New("cannot be started")

// Run starts the program and returns when it and all that it started have ended.
// When ctx ends first, its group is asked to stop and killed after StopGrace. How it
// ended tells the state; an error means that it never ran.
func (p *Program) Run(ctx context.Context) (*os.ProcessState, error) {
	log := p.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return nil, fmt.Errorf("the program %w: it has no name", ErrNotStarted)
	}
	r := newRunner(p.Watchdog, log)
	defer r.close()
	cmd := exec.Command(p.Argv[0], p.Argv[1:]...)
	if cmd.Env = p.Env; cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	if p.Stdin != nil { // a nil *os.File in the interface would not be nil
		cmd.Stdin = p.Stdin
	}
	run, err := r.start(cmd, false, false)
	if err != nil {
		return nil, fmt.Errorf("%s %w: %w", p.Argv[0], ErrNotStarted, err)
	}
	grace := p.StopGrace
	if grace == 0 {
		grace = DefaultStopGrace
	}
	go passOn(ctx, grace, p.Stdout, run.stdout, run.outDrained)
	go passOn(ctx, grace, p.Stderr, run.stderr, run.errDrained)
	run.supervise(ctx, grace)
	return cmd.ProcessState, nil
}

// passOn copies from to w until from ends. Nobody waits for a w that takes nothing any
// more once ctx has ended and the program's time to stop is over.
func passOn(ctx context.Context, grace time.Duration, w io.Writer, from *os.File, drained chan<- struct{}) {
	defer close(drained)
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		copyAll(w, from)
	}()
	select {
	case <-copied:
	case <-ctx.Done():
		within(grace+drainTime, copied)
	}
}

// copyAll copies from to w. What w does not take is read all the same: a program whose
// reader has gone works on. The supervisor ends reading by a deadline, where others
// hold the pipe or w was slow: what stands in the pipe then still counts.
func copyAll(w io.Writer, from *os.File) {
	buf := make([]byte, 32<<10)
	left := 0 // bytes to take behind the deadline; 0 before it
	for {
		n, err := from.Read(buf)
		if w != nil && n > 0 {
			if _, failed := w.Write(buf[:n]); failed != nil {
				w = nil
			}
		}
		switch {
		case err == nil && left == 0:
			continue
		case err == nil && left > n:
			left -= n
		case errors.Is(err, os.ErrDeadlineExceeded) && left == 0:
			left = maxLeft
		default: // the end
			return
		}
		_ = from.SetReadDeadline(time.Now().Add(forceTime))
	}
}
