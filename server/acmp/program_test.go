//go:build unix

package acmp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A program has its input, its environment and two outputs of its own, and how it
// ended is told.
func TestProgramRuns(t *testing.T) {
	t.Parallel()
	needShell(t)
	in, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := io.WriteString(feed, "from outside"); err != nil || feed.Close() != nil {
		t.Fatal("the input cannot be written")
	}
	var out, errs bytes.Buffer
	p := &Program{Argv: []string{"sh", "-c", `cat; echo " $WORD"; echo trouble >&2; exit 3`},
		Env: append(os.Environ(), "WORD=and env"), Stdin: in, Stdout: &out, Stderr: &errs}
	state, err := p.Run(t.Context())
	if err != nil || state.ExitCode() != 3 || out.String() != "from outside and env\n" || errs.String() != "trouble\n" {
		t.Errorf("%v, %v, out %q, err %q", err, state, out.String(), errs.String())
	}
}

// What cannot be started is an error that names it, and leaves nothing behind.
func TestProgramThatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{nil, {""}, {"/nonexistent/program"}} {
		if state, err := (&Program{Argv: argv}).Run(t.Context()); !errors.Is(err, ErrNotStarted) || state != nil {
			t.Errorf("%q: %v, %v", argv, state, err)
		}
	}
}

// gatedWriter takes nothing before its gate is open.
type gatedWriter struct {
	bytes.Buffer
	first   chan struct{} // closed when it was asked to take something
	gate    chan struct{}
	touched sync.Once
}

func newGatedWriter() *gatedWriter {
	return &gatedWriter{first: make(chan struct{}), gate: make(chan struct{})}
}

func (w *gatedWriter) Write(b []byte) (int, error) {
	w.touched.Do(func() { close(w.first) })
	<-w.gate
	return w.Buffer.Write(b)
}

// A reader that takes its time gets all of what was printed, also what stood in the
// pipe when the program had long ended.
func TestProgramWithASlowReader(t *testing.T) {
	t.Parallel()
	needShell(t)
	const size = 90_000 // more than is read at once, and the rest less than a pipe holds
	out := newGatedWriter()
	go func() {
		<-out.first
		time.Sleep(drainTime + 2*forceTime) // until its end is forced
		close(out.gate)
	}()
	p := &Program{Argv: []string{"sh", "-c", "head -c " + strconv.Itoa(size) + " /dev/zero"}, Stdout: out}
	state, err := p.Run(t.Context())
	if err != nil || !state.Success() || out.Len() != size {
		t.Errorf("%v, %v, %d bytes of %d", err, state, out.Len(), size)
	}
}

// A reader that takes nothing any more, as a terminal that was stopped, does not keep a
// program from being ended; nor, once it has ended, those who wait for it from leaving.
func TestProgramWithAStalledReader(t *testing.T) {
	t.Parallel()
	needShell(t)
	for name, script := range map[string]string{"runs": "yes", "ended": "echo last words"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := newGatedWriter()
			defer close(out.gate)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := (&Program{Argv: []string{"sh", "-c", script}, Stdout: out, StopGrace: 50 * time.Millisecond}).Run(ctx)
				ended <- err
			}()
			<-out.first
			cancel()
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Fatal("it does not end")
			}
		})
	}
}

// lineWriter hands on the lines that are written to it.
type lineWriter struct {
	mu    sync.Mutex
	rest  string
	lines chan string
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest += string(b)
	for {
		line, rest, whole := strings.Cut(w.rest, "\n")
		if !whole {
			return len(b), nil
		}
		w.rest = rest
		w.lines <- line
	}
}

// The context's end is SIGTERM and then SIGKILL for all of the group, the deaf
// child included.
func TestProgramEndsWithItsContext(t *testing.T) {
	t.Parallel()
	needShell(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &lineWriter{lines: make(chan string, 16)}
	p := &Program{Argv: []string{"sh", "-c", familyScript}, Stdout: w, StopGrace: 300 * time.Millisecond}
	type ended struct {
		state *os.ProcessState
		err   error
	}
	done := make(chan ended, 1)
	go func() {
		state, err := p.Run(ctx)
		done <- ended{state, err}
	}()
	var pids []int
	for range 2 {
		pid, err := strconv.Atoi(<-w.lines)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	cancel()
	e := <-done
	if e.err != nil || e.state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("%v, %v", e.err, e.state)
	}
	for _, pid := range pids {
		eventually(t, "process "+strconv.Itoa(pid)+" is gone", func() bool { return !alive(pid) })
	}
}

// brokenWriter is a reader that has gone.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Nobody reading on is no reason to lose the work.
func TestProgramWorksOnWithoutReader(t *testing.T) {
	t.Parallel()
	needShell(t)
	p := &Program{Argv: []string{"sh", "-c", `i=0; while [ $i -lt 3000 ]; do echo "a line that nobody reads, so that the pipe fills"; i=$((i+1)); done`},
		Stdout: brokenWriter{}}
	if state, err := p.Run(t.Context()); err != nil || !state.Success() {
		t.Errorf("%v, %v", err, state)
	}
}
