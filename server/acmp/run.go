package acmp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strings"
	"time"

	"signalbox/model/acmp"
)

// handler runs the command once per task.
func (c *Command) handler(r *runner) Handler {
	return func(ctx context.Context, t *Task) (Output, error) {
		if c.Timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errRunTime)
			defer cancel()
		}
		argv, err := c.args(ctx, t)
		if err != nil {
			return Output{}, err
		}
		p, err := r.spawn(argv, c)
		if err != nil {
			r.log.Warn("a command cannot be started", "capability", t.cap.Info.Name, "err", err)
			return Output{}, internalErrorValue(t.id, "the command cannot be started: "+startProblem(err))
		}
		return c.serve(ctx, t, p)
	}
}

// errRunTime ends a command that runs longer than its configuration allows.
var errRunTime = errors.New("the command ran longer than it may")

// args is the argument list of one run.
func (c *Command) args(ctx context.Context, t *Task) ([]string, error) {
	if c.Input != InputArg {
		return c.Argv, nil
	}
	whole := acmp.Assembler{Limit: maxArgBytes}
	for {
		p, err := t.ReadInput(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := whole.Add(p); err != nil {
			return nil, internalErrorValue(t.id, fmt.Sprintf("the input is longer than the %d bytes an argument may have", maxArgBytes))
		}
	}
	arg := whole.Payload().Raw()
	if bytes.IndexByte(arg, 0) >= 0 {
		return nil, internalErrorValue(t.id, "the input holds a NUL byte, which no argument can")
	}
	return append(c.Argv[:len(c.Argv):len(c.Argv)], string(arg)), nil
}

// maxArgBytes is what Linux takes in one argument, less its end.
const maxArgBytes = 128<<10 - 1

// serve sees one process through: its input, its output, its end. Everything it
// starts is over when it returns, the whole process group included.
func (c *Command) serve(ctx context.Context, t *Task, p *process) (Output, error) {
	go p.supervise(ctx, c.StopGrace)
	if p.stdin != nil {
		go p.feed(ctx, t)
	}
	tail := newTail()
	out := &output{t: t, cmd: c, p: p}
	if p.stderr == nil {
		out.tail = tail
	} else {
		go func() {
			defer close(p.errDrained)
			drain(p.stderr, func(b []byte) { tail.Write(b); c.watchProgress(t, b) })
		}()
	}
	outErr := out.read()
	close(p.outDrained)
	<-p.done
	<-p.errDrained
	switch {
	case errors.Is(context.Cause(ctx), errRunTime):
		o := timeoutError(t.id, t.params.TimeoutMS)
		o.err.Data["detail"] = fmt.Sprintf("the command ran longer than the %v it may", c.Timeout)
		return Output{}, o.err
	case ctx.Err() != nil:
		return Output{}, context.Cause(ctx)
	case outErr != nil:
		return Output{}, outErr
	case p.exitCode() != 0:
		return Output{}, c.exitError(t, p, tail)
	}
	return out.end()
}

// exitError tells of a command that failed: its code and the end of its standard
// error, or of both outputs where they are one.
func (c *Command) exitError(t *Task, p *process, tail *tail) *acmp.Error {
	text := p.exitText()
	if lines := tail.String(); lines != "" {
		text += "\n" + lines
	}
	e := internalErrorValue(t.id, text)
	e.Data["exit_code"] = p.exitCode()
	return e
}

// startProblem says why a program did not start, without the paths of this host.
func startProblem(err error) string {
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "the program, or the folder to run it in, does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "the program may not be run"
	}
	return "the system refused it"
}

// feed writes the task's input to the command as it comes, and closes it where it is
// whole: a command must not take what a cancel has cut off for all there is.
func (p *process) feed(ctx context.Context, t *Task) {
	for {
		in, err := t.ReadInput(ctx)
		if err != nil {
			if errors.Is(err, io.EOF) {
				p.stdin.Close()
			}
			return
		}
		raw := in.Raw()
		if acmp.IsJSON(in.Type) { // one value a line
			raw = append(raw[:len(raw):len(raw)], '\n')
		}
		if _, err := p.stdin.Write(raw); err != nil {
			break // it does not read its input
		}
	}
	for { // the rest is of no use, but must not fill the memory
		if _, err := t.ReadInput(ctx); err != nil {
			return
		}
	}
}

// drain reads all of r, whatever it is (B38).
func drain(r io.Reader, use func([]byte)) {
	buf := make([]byte, 16<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			use(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// tail keeps the last lines of an output.
type tail struct{ b []byte }

const (
	tailBytes = 4 << 10
	tailLines = 20
)

func newTail() *tail { return &tail{} }

func (t *tail) Write(b []byte) {
	t.b = append(t.b, b...)
	if len(t.b) > 4*tailBytes {
		t.b = append(t.b[:0], t.b[len(t.b)-tailBytes:]...)
	}
}

func (t *tail) String() string {
	b := t.b
	if len(b) > tailBytes {
		b = b[len(b)-tailBytes:]
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		}
	}
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(b), "\uFFFD")), "\n")
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return strings.Join(lines, "\n")
}

// partialAfter is how long a line without an end is kept back.
const partialAfter = 100 * time.Millisecond
