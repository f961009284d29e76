package acmp

import (
	"bufio"
	"bytes"
	"cmp"
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
// out breaks, is not read at all, or ctx is over. Invokes that are open a second after the end of in are
// ended and told so (-33004); other tasks are left to Close. A read of in that blocks
// outlives the call, and so does a write to out that nobody takes.
func (p *Provider) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	s := &stdio{p: p, out: bufio.NewWriterSize(out, 64<<10), calls: map[int64]*stdioCall{},
		broken: make(chan struct{}), unread: make(chan struct{}), own: make(chan ownAnswer, maxOwnAnswers)}
	toSDK, fromFilter := io.Pipe()
	session, err := p.newServer().Connect(ctx, &mcp.IOTransport{
		Reader: toSDK, Writer: sdkOut{s}, MaxLineLength: -1, // the filter bounds lines
	}, nil)
	if err != nil {
		return fmt.Errorf("serve stdio: %w", err)
	}
	s.ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	s.serving.Go(s.writeOwn)
	ended := make(chan error, 1)
	go func() {
		ended <- s.filter(in, fromFilter)
	}()
	select {
	case err = <-ended:
		if !s.finish(finishTime) {
			s.giveUp()
			s.finish(stopTime)
		}
	case <-s.broken:
		err = fmt.Errorf("serve stdio: the other end does not read any more: %w", s.err)
	case <-s.unread:
		err = errNotRead
	case <-ctx.Done():
	}
	s.stop() // every call ends now
	fromFilter.Close()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.serving.Wait()
		session.Close() // waits for the calls; its error would repeat ours
	}()
	select {
	case <-stopped:
		return err
	case <-time.After(stopTime):
		return cmp.Or(err, errNotRead)
	}
}

// stdio is the state of one connection. A write blocks for as long as the other end
// does not read, so that what the reader of the input needs has a lock of its own.
type stdio struct {
	p    *Provider
	ctx  context.Context
	stop context.CancelFunc
	// serving are the calls of ours that are not answered, and writeOwn.
	serving sync.WaitGroup
	own     chan ownAnswer
	unread  chan struct{} // closed by the reader of the input, when own stays full
	broken  chan struct{}

	writing sync.Mutex // the order of what is written; taken before mu
	out     *bufio.Writer
	err     error // set once, before broken is closed

	mu    sync.Mutex // guards all below, and is never held over a write
	calls map[int64]*stdioCall
	last  int64
	idle  chan struct{} // closed when the last call is answered; nil before the end
}

// ownAnswer is an answer that the reader of the input has made itself.
type ownAnswer struct {
	n    int64
	line []byte
}

// stdioCall is one request that has no response yet.
type stdioCall struct {
	s         *stdio
	id        json.RawMessage // as the caller gave it; the SDK gets our number (B40)
	task      *Task           // of an invoke; nil before it is known
	cancelled bool            // by notifications/cancelled: nothing more may be written
	gone      chan struct{}
}

// filter reads lines, keeps what the SDK must not see and hands on the rest.
func (s *stdio) filter(in io.Reader, sdk io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for s.ctx.Err() == nil {
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
	return nil
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
		s.say(n, errorMessage(env.ID, bad))
		return
	}
	if env.Method != acmp.MethodInvoke {
		s.say(n, s.p.negotiation(env, stdioPrincipal))
		return
	}
	e := s.p.enter(env.Params, stdioPrincipal)
	s.mu.Lock()
	c.task = e.task
	s.mu.Unlock()
	s.serving.Go(func() {
		s.respond(n, s.p.serve(s.ctx, e, env.ID, call{sink: c, gone: c.gone}))
	})
}

// respond writes the response of a call of ours, nil where the caller has gone.
func (s *stdio) respond(n int64, answer []byte) {
	s.writing.Lock()
	defer s.writing.Unlock()
	defer s.end(n)
	if c := s.call(n); c == nil || answer == nil || c.isCancelled() {
		return
	}
	if s.writeLocked(append(answer, '\n')) == nil {
		s.failLocked(s.out.Flush())
	}
}

// say has an answer written that the reader of the input has made: it must not wait
// for the other end to read, or it would not see the end of the input.
func (s *stdio) say(n int64, answer []byte) {
	select {
	case s.own <- ownAnswer{n, answer}:
		return
	default:
	}
	full := time.NewTimer(unreadTime)
	defer full.Stop()
	select {
	case s.own <- ownAnswer{n, answer}:
	case <-full.C:
		close(s.unread)
		<-s.ctx.Done()
	case <-s.ctx.Done():
	}
}

// writeOwn writes what was said, in its order.
func (s *stdio) writeOwn() {
	for {
		select {
		case a := <-s.own:
			s.respond(a.n, a.line)
		case <-s.ctx.Done():
			return
		}
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
		// Nothing holds the sender up, as [input.wait] does over HTTP: behind this chunk
		// come the cancels, and the input of other tasks. What is not read is held up to
		// [Limits.TaskBytes]; then the task fails.
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
	if acmp.Decode(orEmpty(params), &c) != nil || c.RequestID == nil {
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
	c.s.writing.Lock()
	defer c.s.writing.Unlock()
	if c.isCancelled() {
		return errClosed
	}
	return c.s.writeLocked(b)
}

func (c *stdioCall) isCancelled() bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.cancelled
}

// flush implements sink.
func (c *stdioCall) flush() {
	c.s.writing.Lock()
	defer c.s.writing.Unlock()
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

func (s *stdio) writeError(id json.RawMessage, e *jsonrpc.Error) {
	n, _ := s.begin(id)
	s.say(n, errorMessage(id, e))
}

// sdkOut takes what the SDK writes: one whole message a call.
type sdkOut struct{ s *stdio }

// Write implements io.Writer. The response of a cancelled request is dropped.
func (w sdkOut) Write(b []byte) (int, error) {
	w.s.writing.Lock()
	defer w.s.writing.Unlock()
	out := b
	if m := responseHead.FindSubmatch(b[:min(len(b), 64)]); m != nil {
		n, _ := strconv.ParseInt(string(m[1]), 10, 64) // digits
		defer w.s.end(n)
		if c := w.s.call(n); c != nil {
			if c.isCancelled() {
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

// call gives an open call; nil where there is none.
func (s *stdio) call(n int64) *stdioCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[n]
}

// end takes a call off the list, once it is answered.
func (s *stdio) end(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, n)
	if len(s.calls) == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}
