package acmp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"signalbox/model/acmp"
)

// stdioPrincipal is whoever started this process; the pipe has no other end.
const stdioPrincipal = "stdio"

// ServeStdio serves one buyer over in and out, one message a line, until in ends,
// out breaks or ctx is over. Tasks are then left to Close. A read of in that blocks
// outlives the call.
func (p *Provider) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	s := &stdio{p: p, out: bufio.NewWriterSize(out, 64<<10), calls: map[int64]*stdioCall{}, broken: make(chan struct{})}
	toSDK, fromFilter := io.Pipe()
	session, err := p.newServer().Connect(ctx, &mcp.IOTransport{
		Reader: toSDK, Writer: sdkOut{s}, MaxLineLength: -1, // the filter bounds lines
	}, nil)
	if err != nil {
		return fmt.Errorf("serve stdio: %w", err)
	}
	s.ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	ended := make(chan error, 1)
	go func() {
		ended <- s.filter(in, fromFilter)
	}()
	select {
	case err = <-ended:
		s.finish(finishTime)
	case <-s.broken:
		err = fmt.Errorf("serve stdio: the other end does not read any more: %w", s.outErr())
	case <-ctx.Done():
	}
	s.stop() // every call ends now
	fromFilter.Close()
	s.serving.Wait()
	session.Close() // waits for the calls; its error would repeat ours
	return err
}

// finishTime is how long the calls that are open when the input ends may still take:
// a script that writes its requests and closes the pipe gets its answers, and a
// buyer that leaves does not wait.
const finishTime = time.Second

// finish waits until every call is answered, at most for d.
func (s *stdio) finish(d time.Duration) {
	s.mu.Lock()
	idle := make(chan struct{})
	if len(s.calls) == 0 {
		close(idle)
	} else {
		s.idle = idle
	}
	s.mu.Unlock()
	end := time.NewTimer(d)
	defer end.Stop()
	select {
	case <-idle:
	case <-end.C:
	case <-s.broken:
	case <-s.ctx.Done():
	}
	s.mu.Lock() // the last answer is written under it
	s.idle = nil
	s.mu.Unlock()
}

// stdio is the state of one connection.
type stdio struct {
	p    *Provider
	ctx  context.Context
	stop context.CancelFunc
	// serving are the calls of ours that are not answered.
	serving sync.WaitGroup

	mu     sync.Mutex // guards all below, and the order of what is written
	out    *bufio.Writer
	err    error
	broken chan struct{}
	calls  map[int64]*stdioCall
	last   int64
	idle   chan struct{} // closed when the last call is answered; nil before the end
}

// stdioCall is one request that has no response yet.
type stdioCall struct {
	s         *stdio
	id        json.RawMessage // as the caller gave it; the SDK gets our number (B40)
	cancelled bool            // by notifications/cancelled: nothing more may be written
	gone      chan struct{}
}

// filter reads lines, keeps what the SDK must not see and hands on the rest.
func (s *stdio) filter(in io.Reader, sdk io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r, s.p.opts.Limits.MessageBytes)
		switch {
		case errors.Is(err, errLongLine):
			s.writeError(nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the message is larger than is taken here"})
			continue
		case len(bytes.TrimSpace(line)) > 0:
			if werr := s.take(line, sdk); werr != nil {
				return nil // the session is over
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("serve stdio: read: %w", err)
		}
	}
}

// take deals with one line. One bad line harms no other (B36).
func (s *stdio) take(line []byte, sdk io.Writer) error {
	env, bad := parseEnvelope(line)
	if bad != nil {
		s.writeError(nil, bad)
		return nil
	}
	if env.isNotification() {
		s.notification(env)
		return nil
	}
	if env.Method == "initialize" {
		s.writeError(env.ID, unsupportedVersion(""))
		return nil
	}
	if s.p.opts.Lenient {
		env.complete()
	}
	n, c := s.begin(env.ID)
	if s.p.ours(env.Method) {
		s.request(env, n, c)
		return nil
	}
	_, err := sdk.Write(append(env.withID(strconv.FormatInt(n, 10), env.Params), '\n'))
	return err
}

// request serves one of our requests. An invoke stands in the table when it returns,
// so that a cancel or a chunk behind it finds its task.
func (s *stdio) request(env *envelope, n int64, c *stdioCall) {
	if bad := env.checkMeta(); bad != nil {
		s.respond(n, errorMessage(env.ID, bad))
		return
	}
	if env.Method != acmp.MethodInvoke {
		s.respond(n, s.p.negotiation(env, stdioPrincipal))
		return
	}
	e := s.p.enter(env.Params, stdioPrincipal)
	s.serving.Go(func() {
		s.respond(n, s.p.serve(s.ctx, e, env.ID, call{sink: c, gone: c.gone}))
	})
}

// respond writes the response of a call of ours, nil where the caller has gone.
func (s *stdio) respond(n int64, answer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.endLocked(n); c == nil || c.cancelled || answer == nil {
		return
	}
	if s.writeLocked(append(answer, '\n')) == nil {
		s.failLocked(s.out.Flush())
	}
}

// begin enters a request under a number of ours.
func (s *stdio) begin(id json.RawMessage) (int64, *stdioCall) {
	c := &stdioCall{s: s, id: id, gone: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.calls[s.last] = c
	return s.last, c
}

func (s *stdio) notification(env *envelope) {
	switch env.Method {
	case "notifications/cancelled":
		s.cancelled(env.Params)
	case acmp.MethodCancel:
		if c, problem := parseCancel(env.Params); problem == "" {
			s.p.cancelTask(stdioPrincipal, c)
		}
	case acmp.MethodInputChunk:
		if c, problem := parseInputChunk(env.Params); problem == "" {
			s.p.inputChunk(stdioPrincipal, c)
		}
	}
}

// cancelled treats notifications/cancelled of a request as the loss of its caller
// (D-07).
func (s *stdio) cancelled(params json.RawMessage) {
	var c struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(orEmpty(params), &c) != nil || c.RequestID == nil {
		return
	}
	id := normalID(c.RequestID)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range s.calls {
		if normalID(call.id) == id && !call.cancelled {
			call.cancelled = true
			close(call.gone)
		}
	}
}

// write implements sink.
func (c *stdioCall) write(b []byte) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.cancelled {
		return errClosed
	}
	return c.s.writeLocked(b)
}

// flush implements sink.
func (c *stdioCall) flush() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.failLocked(c.s.out.Flush())
}

// until implements sink; a pipe that nobody reads stalls with its reader.
func (c *stdioCall) until(time.Time) {}

// framing implements sink.
func (c *stdioCall) framing() framing { return stdioFraming }

func (s *stdio) writeLocked(b []byte) error {
	if s.err != nil {
		return s.err
	}
	_, err := s.out.Write(b)
	s.failLocked(err)
	return err
}

func (s *stdio) failLocked(err error) {
	if err != nil && s.err == nil {
		s.err = err
		close(s.broken)
	}
}

func (s *stdio) outErr() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *stdio) writeError(id json.RawMessage, e *jsonrpc.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writeLocked(append(errorMessage(id, e), '\n')) == nil {
		s.failLocked(s.out.Flush())
	}
}

// sdkOut takes what the SDK writes: one whole message a call.
type sdkOut struct{ s *stdio }

// Write implements io.Writer. The response of a cancelled request is dropped.
func (w sdkOut) Write(b []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	out := b
	if m := responseHead.FindSubmatch(b[:min(len(b), 64)]); m != nil {
		n, _ := strconv.ParseInt(string(m[1]), 10, 64) // digits
		if c := w.s.endLocked(n); c != nil {
			if c.cancelled {
				return len(b), nil
			}
			out = spliceID(b, string(m[1]), c.id)
		}
	}
	if err := w.s.writeLocked(out); err != nil {
		return 0, err
	}
	err := w.s.out.Flush()
	w.s.failLocked(err)
	return len(b), err
}

// Close implements io.Closer; the pipe belongs to the caller of ServeStdio.
func (w sdkOut) Close() error { return nil }

// responseHead finds our number in a response of the SDK.
var responseHead = regexp.MustCompile(`^\{"jsonrpc":"2\.0","id":(\d+),`)

// endLocked takes a call off the list; nil where it is not on it.
func (s *stdio) endLocked(n int64) *stdioCall {
	c := s.calls[n]
	if c == nil {
		return nil
	}
	delete(s.calls, n)
	if len(s.calls) == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
	return c
}
