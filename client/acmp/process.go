package acmp

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	// stderrTail is how much of the end of stderr is kept, in bytes.
	stderrTail = 16 << 10
	// maxQueuedInput bounds what waits to be written to a provider that does not
	// read, in bytes.
	maxQueuedInput = 64 << 20
)

// stopGrace is how long a provider on stdio may take after its stdin was closed
// and again after SIGTERM.
const stopGrace = 2 * time.Second

// tokenVars are never inherited by a child: each token goes to its own provider.
var tokenVars = []string{"ACMP_BEARER_TOKEN=", "SIGNALBOX_", "ACOP_BACKEND_"}

// process is a provider on stdio: the child, its pipes, and the end of both.
type process struct {
	cmd    *exec.Cmd
	dog    *watchdog
	token  Secret // the child knows it, and may say it
	stdout *os.File

	mu      sync.Mutex
	stdin   *os.File
	queue   [][]byte
	queued  int
	wake    chan struct{}
	stderr  tail
	stopErr error

	group  sync.Mutex // guards reaped, also while a signal is sent
	reaped bool       // the number of the child, and of its group, may be another's now

	gone chan struct{} // closed when the child has ended and its group is gone
	once sync.Once
}

func startProcess(s ProviderSpec, o *env) (*process, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		closeAll(inR, inW)
		return nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		closeAll(inR, inW, outR, outW)
		return nil, err
	}
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	mark := rand.Text()
	cmd.Dir, cmd.Env = s.Dir, append(childEnv(os.Environ(), s), markName+"="+mark)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	ownGroup(cmd)
	defer o.dog.starting(mark)()
	err = cmd.Start()
	closeAll(inR, outW, errW)
	if err != nil {
		closeAll(inW, outR, errR)
		return nil, fmt.Errorf("start %s: %w", s.Command[0], err)
	}
	p := &process{
		cmd: cmd, dog: o.dog, token: s.Token, stdout: outR, stdin: inW,
		wake: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	p.dog.watch(cmd.Process.Pid, mark)
	drained := make(chan struct{})
	go func() { defer close(drained); p.drain(errR) }()
	go p.feed()
	go p.reap(errR, drained)
	return p, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
}

func childEnv(env []string, s ProviderSpec) []string {
	var out []string
	for _, kv := range env {
		if !hasAnyPrefix(kv, tokenVars) {
			out = append(out, kv)
		}
	}
	out = append(out, s.Env...)
	if !s.Token.IsZero() {
		out = append(out, "ACMP_BEARER_TOKEN="+s.Token.value())
	}
	return out
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// reap waits for the child, then ends what is left of its group and the pipes
// that an escaped grandchild may still hold.
func (p *process) reap(errR *os.File, drained <-chan struct{}) {
	reap := awaitExit(p.cmd)
	p.signal(killGroup)
	err := p.reaping(reap)
	p.dog.forget(p.cmd.Process.Pid)
	deadline := time.Now().Add(time.Second)
	_ = p.stdout.SetReadDeadline(deadline)
	_ = errR.SetReadDeadline(deadline)
	<-drained
	errR.Close()
	p.mu.Lock()
	p.stopErr = err
	p.stdin.Close()
	p.mu.Unlock()
	close(p.gone)
}

// signal reaches the child and its group while their number is their own.
func (p *process) signal(send func(*exec.Cmd)) {
	p.group.Lock()
	defer p.group.Unlock()
	if !p.reaped {
		send(p.cmd)
	}
}

// reaping gives the child's number back to the system.
func (p *process) reaping(reap func() error) error {
	p.group.Lock()
	defer p.group.Unlock()
	p.reaped = true
	return reap()
}

// drain reads stderr to its end whatever it holds (B38).
func (p *process) drain(r io.Reader) {
	buf := make([]byte, 8<<10)
	for {
		n, err := r.Read(buf)
		p.mu.Lock()
		p.stderr.add(buf[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Write queues one message for the child; it never blocks on a child that does
// not read (B35).
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gone:
		return 0, &transportError{errors.New("the provider's process has ended")}
	default:
	}
	if p.queued+len(b) > maxQueuedInput {
		return 0, &transportError{errors.New("the provider does not read its input")}
	}
	p.queue = append(p.queue, bytes.Clone(b))
	p.queued += len(b)
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (p *process) feed() {
	for {
		select {
		case <-p.gone:
			return
		case <-p.wake:
		}
		for {
			p.mu.Lock()
			if len(p.queue) == 0 {
				p.mu.Unlock()
				break
			}
			b := p.queue[0]
			p.queue[0] = nil // not held any longer
			p.queue = p.queue[1:]
			p.queued -= len(b)
			p.mu.Unlock()
			if _, err := p.stdin.Write(b); err != nil {
				return // reap tells why
			}
		}
	}
}

const (
	// leftTime and maxLeft bound the reading of what stands in the pipe of a child that
	// has ended, while others may write to it for ever: per read, and in bytes.
	leftTime = 250 * time.Millisecond
	maxLeft  = 1 << 20
)

// pipeEnd reads a pipe until its deadline, and then what stands in it still: it is our
// own consumer that may have kept us from reading.
type pipeEnd struct {
	f     *os.File
	late  bool // the deadline has passed
	taken int  // bytes since
}

// Read implements io.Reader.
func (p *pipeEnd) Read(b []byte) (int, error) {
	if p.late {
		return p.rest(b)
	}
	n, err := p.f.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.late = true
		return p.rest(b)
	}
	return n, err
}

func (p *pipeEnd) rest(b []byte) (int, error) {
	if p.taken >= maxLeft {
		return 0, io.EOF
	}
	_ = p.f.SetReadDeadline(time.Now().Add(leftTime))
	n, err := p.f.Read(b)
	p.taken += n
	return n, err
}

// stop closes stdin, then sends SIGTERM, then SIGKILL. It returns when
// the child is gone; kill, when closed, skips the waiting.
func (p *process) stop(kill <-chan struct{}) {
	p.once.Do(func() {
		p.stdin.Close()
		if p.waitGone(kill) {
			return
		}
		p.signal(termGroup)
		if p.waitGone(kill) {
			return
		}
		p.signal(killGroup)
	})
	<-p.gone
}

func (p *process) waitGone(kill <-chan struct{}) bool {
	t := time.NewTimer(stopGrace)
	defer t.Stop()
	select {
	case <-p.gone:
		return true
	case <-kill:
	case <-t.C:
	}
	return false
}

// why tells how the child ended and the last line it wrote to stderr.
func (p *process) why() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	msg := "the provider's process has ended"
	var ee *exec.ExitError
	if errors.As(p.stopErr, &ee) {
		msg += " (" + ee.String() + ")"
	}
	if last := p.stderr.lastLine(p.token); last != "" {
		msg += ": " + last
	}
	return msg
}

// tail keeps the last bytes of a stream.
type tail struct{ b []byte }

func (t *tail) add(b []byte) {
	t.b = append(t.b, b...)
	if over := len(t.b) - stderrTail; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
}

func (t *tail) lastLine(token Secret) string {
	s := bytes.TrimSpace(t.b)
	if i := bytes.LastIndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	return quoteStray(s, token)
}
