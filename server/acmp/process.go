package acmp

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// runner starts the processes of one provider and sees that none outlives it.
type runner struct {
	log     *slog.Logger
	dog     *dog
	starter *starter
}

func newRunner(watchdog []string, log *slog.Logger) *runner {
	return &runner{log: log, dog: newDog(watchdog, log), starter: newStarter()}
}

// close ends what the runner has started for itself. No command may run any more.
func (r *runner) close() {
	r.starter.close()
	r.dog.close()
}

// process is one running command with its group.
type process struct {
	cmd    *exec.Cmd
	mark   string   // stands in the environment of all that it starts
	stdin  *os.File // nil where it has none
	stdout *os.File
	stderr *os.File // nil where it goes into stdout
	dog    *dog

	outDrained chan struct{} // stdout is read to its end
	errDrained chan struct{}
	exited     chan struct{} // the leader of the group has ended
	done       chan struct{} // nothing of the group is left
	forced     atomic.Bool   // reading must end although the pipes are open
}

// markName is the variable that marks the processes of one run.
const markName = "SIGNALBOX_RUN"

// spawn starts argv in a process group of its own, wired as c says.
func (r *runner) spawn(argv []string, c *Command) (*process, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = childEnv(os.Environ())
	return r.start(cmd, c.Input == InputStdin, c.Stderr == StderrMerge)
}

// start starts cmd in a process group of its own, with a pipe for each output, or
// one for both.
func (r *runner) start(cmd *exec.Cmd, withInput, merge bool) (*process, error) {
	p := &process{cmd: cmd, mark: rand.Text(), dog: r.dog,
		outDrained: make(chan struct{}), errDrained: make(chan struct{}),
		exited: make(chan struct{}), done: make(chan struct{})}
	cmd.Env = append(cmd.Env, markName+"="+p.mark)
	ownGroup(cmd)
	theirs, err := p.openPipes(withInput, merge)
	if err == nil {
		defer r.dog.starting(p.mark)()
		err = r.starter.start(cmd)
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		p.closePipes()
		return nil, err
	}
	r.dog.watch(cmd.Process.Pid, p.mark)
	return p, nil
}

// openPipes connects the command's standard files; theirs are the ends to close
// here once it runs.
func (p *process) openPipes(withInput, merge bool) (theirs []*os.File, err error) {
	if p.stdout, p.cmd.Stdout, theirs, err = outPipe(theirs); err != nil {
		return theirs, err
	}
	if merge { // one pipe for both: no other way keeps their order
		p.cmd.Stderr = p.cmd.Stdout
		close(p.errDrained)
	} else if p.stderr, p.cmd.Stderr, theirs, err = outPipe(theirs); err != nil {
		return theirs, err
	}
	if withInput {
		in, mine, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		p.stdin, p.cmd.Stdin = mine, in
		theirs = append(theirs, in)
	}
	return theirs, nil
}

func outPipe(theirs []*os.File) (mine, their *os.File, all []*os.File, err error) {
	mine, their, err = os.Pipe()
	if err != nil {
		return nil, nil, theirs, err
	}
	return mine, their, append(theirs, their), nil
}

func (p *process) closePipes() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			f.Close()
		}
	}
}

const (
	drainTime = time.Second            // for output of others in the group
	forceTime = 250 * time.Millisecond // for a pipe held from outside the group
)

// supervise sees the process to its end: asked to stop when ctx ends, killed after
// grace, and nothing of its group, nor of what left it, alive in any case.
func (p *process) supervise(ctx context.Context, grace time.Duration) {
	go p.awaitExit()
	rest := drainTime
	select {
	case <-p.exited:
	case <-ctx.Done():
		begin := time.Now()
		terminateGroup(p.cmd.Process)
		if !within(grace, p.exited) {
			killGroup(p.cmd.Process)
			<-p.exited
		}
		rest = max(grace-time.Since(begin), 0)
	}
	within(rest, p.outDrained, p.errDrained)
	killGroup(p.cmd.Process)
	killMarked(p.mark)
	if !within(forceTime, p.outDrained, p.errDrained) {
		p.forced.Store(true)
		_ = p.stdout.SetReadDeadline(time.Unix(1, 0))
		if p.stderr != nil {
			_ = p.stderr.SetReadDeadline(time.Unix(1, 0))
		}
		<-p.outDrained
		<-p.errDrained
	}
	p.reap()
	p.dog.forget(p.cmd.Process.Pid)
	p.closePipes()
	close(p.done)
}

// within reports whether all of the channels were closed before d was over.
func within(d time.Duration, chans ...<-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	for _, c := range chans {
		select {
		case <-c:
		case <-t.C:
			return false
		}
	}
	return true
}

// exitCode is the command's exit code, -1 when a signal ended it.
func (p *process) exitCode() int { return p.cmd.ProcessState.ExitCode() }

func (p *process) exitText() string {
	if code := p.exitCode(); code >= 0 {
		return p.cmd.ProcessState.String() // "exit status N"
	}
	return "ended by a " + p.cmd.ProcessState.String() // "signal: NAME"
}

// starter starts commands from one thread that lives as long as the runner: where
// the system ties a child to its parent, it ties it to the parent's thread.
type starter struct {
	once sync.Once
	jobs chan startJob
	quit chan struct{}
}

type startJob struct {
	cmd *exec.Cmd
	err chan error
}

var errRunnerClosed = errors.New("the provider is stopping")

func newStarter() *starter {
	return &starter{jobs: make(chan startJob), quit: make(chan struct{})}
}

func (s *starter) start(cmd *exec.Cmd) error {
	s.once.Do(func() { go s.loop() })
	j := startJob{cmd: cmd, err: make(chan error, 1)}
	select {
	case s.jobs <- j:
		return <-j.err
	case <-s.quit:
		return errRunnerClosed
	}
}

func (s *starter) close() { close(s.quit) }
