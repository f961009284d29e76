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
	session, err := p.newServer(s.invoke).Connect(ctx, &mcp.IOTransport{
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
	taskID    string          // of an invoke
	cancelled bool            // by notifications/cancelled: nothing more may be written
	gone      chan struct{}
	admitted  chan struct{} // the task of the invoke stands in the table
	once      sync.Once
}

func (c *stdioCall) admit() { c.once.Do(func() { close(c.admitted) }) }

// callMember is put into the params of an invoke so that the method handler finds
// its call; the SDK does not tell it the request's id.
const callMember = "signalbox.call"

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
	_, err := sdk.Write(s.begin(env))
	return err
}

// begin enters a request and gives the line for the SDK.
func (s *stdio) begin(env *envelope) []byte {
	c := &stdioCall{s: s, id: env.ID, gone: make(chan struct{}), admitted: make(chan struct{})}
	params := env.Params
	s.mu.Lock()
	s.last++
	n := s.last
	s.calls[n] = c
	if env.Method == acmp.MethodInvoke {
		c.taskID = taskIDOf(params)
		params = withMember(params, callMember, strconv.FormatInt(n, 10))
	}
	s.mu.Unlock()
	return append(env.withID(strconv.FormatInt(n, 10), params), '\n')
}

func (s *stdio) notification(env *envelope) {
	switch env.Method {
	case "notifications/cancelled":
		s.cancelled(env.Params)
	case acmp.MethodCancel:
		if c, problem := parseCancel(env.Params); problem == "" {
			s.awaitAdmission(c.TaskID)
			s.p.cancelTask(stdioPrincipal, c)
		}
	case acmp.MethodInputChunk:
		if c, problem := parseInputChunk(env.Params); problem == "" {
			s.awaitAdmission(c.TaskID)
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

// admissionTime bounds the wait for an invoke that the SDK may yet refuse.
const admissionTime = time.Second

// awaitAdmission keeps the order of the pipe: an invoke of taskID that was handed
// to the SDK must stand in the table before what follows it.
func (s *stdio) awaitAdmission(taskID string) {
	s.mu.Lock()
	var waits []<-chan struct{}
	for _, c := range s.calls {
		if c.taskID == taskID {
			waits = append(waits, c.admitted)
		}
	}
	s.mu.Unlock()
	if len(waits) > 0 {
		within(admissionTime, waits...)
	}
}

// invoke is the method handler of acmp/invoke on this connection.
func (s *stdio) invoke(ctx context.Context, _ *mcp.ServerSession, params *invokeParams) (*invokeResult, error) {
	if params == nil {
		params = &invokeParams{}
	}
	var member struct {
		Call int64 `json:"signalbox.call"`
	}
	_ = json.Unmarshal(orEmpty(params.raw), &member) // absent in params that are no object
	s.mu.Lock()
	c := s.calls[member.Call]
	s.mu.Unlock()
	if c == nil {
		_, bad := parseInvoke(params.raw)
		if bad == nil {
			bad = internalErrorValue("", "")
		}
		return nil, toWire(bad)
	}
	defer c.admit()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	return s.p.invoke(ctx, params, call{principal: stdioPrincipal, sink: c, gone: c.gone,
		onAdmit: func(string) { c.admit() }})
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
	n, id, drop := w.s.endLocked(b)
	if drop {
		return len(b), nil
	}
	if err := w.s.writeLocked(spliceID(b, n, id)); err != nil {
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

// endLocked takes the call that a response belongs to off the list. It gives the id
// the SDK knows and the caller's, and whether the response must not be written.
func (s *stdio) endLocked(response []byte) (ours string, theirs json.RawMessage, drop bool) {
	m := responseHead.FindSubmatch(response[:min(len(response), 64)])
	if m == nil {
		return "", nil, false
	}
	n, _ := strconv.ParseInt(string(m[1]), 10, 64) // digits
	c := s.calls[n]
	if c == nil {
		return "", nil, false
	}
	delete(s.calls, n)
	c.admit()
	if len(s.calls) == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
	return string(m[1]), c.id, c.cancelled
}
