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
	// theirs ends the passing on, not the program.
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
	go passOn(p.Stdout, run.stdout, run.outDrained)
	go passOn(p.Stderr, run.stderr, run.errDrained)
	grace := p.StopGrace
	if grace == 0 {
		grace = DefaultStopGrace
	}
	run.supervise(ctx, grace)
	return cmd.ProcessState, nil
}

// passOn copies from to w until from ends. What w does not take is read all the
// same: a program whose reader has gone works on.
func passOn(w io.Writer, from io.Reader, drained chan<- struct{}) {
	defer close(drained)
	if w != nil {
		if _, err := io.Copy(w, from); err == nil {
			return
		}
	}
	_, _ = io.Copy(io.Discard, from) // its end is all that matters
}
