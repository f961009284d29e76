package acmp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"signalbox/model/acmp"
)

// notifyTimeout bounds one acmp/cancel.
const notifyTimeout = 5 * time.Second

// runner carries one task through its life:
//
//	connect --> send --> wait --> outcome
//	   ^                  | broken
//	   +---- back off <---+
//
// One goroutine; the first of result, error, deadline, lost liveness and
// unanswered cancel is the outcome (A.18).
type runner struct {
	t   *task
	ctx context.Context

	sends    int
	interval time.Duration
	memory   bool // advertised: tasks survive the provider's own end
	wait     backoff
	reached  int64 // chunks of the attempt that got furthest

	conn       chan connected // nil unless connecting
	connCancel context.CancelFunc

	att        *attempt // nil unless sent
	sess       *session
	call       chan answer
	callCancel context.CancelFunc
	shared     *stdioConn // the pipe of the last attempt

	cancelled bool
	reason    string // of the cancel
	deadline  *time.Timer
	retry     *time.Timer
	quiet     *time.Timer
	ack       *time.Timer
}

type connected struct {
	sess *session
	set  *acmp.Settings
	err  error
}

type answer struct {
	raw json.RawMessage
	err error
}

func newRunner(t *task) *runner {
	stopped := func() *time.Timer {
		tm := time.NewTimer(time.Hour)
		tm.Stop()
		return tm
	}
	return &runner{
		t: t, wait: backoff{first: 100 * time.Millisecond, most: 5 * time.Second},
		deadline: stopped(), retry: stopped(), quiet: stopped(), ack: stopped(),
	}
}

// run works until the task has its outcome or ctx, the buyer's life, ends.
func (r *runner) run(ctx context.Context) {
	r.ctx = ctx
	defer r.quit()
	if r.t.reattach {
		r.begin()
		r.sends = 1
	} else {
		// Until the first send, from which the deadline counts, the task may take as
		// long to reach its provider.
		r.deadline.Reset(timeoutOf(&r.t.inv.Params))
	}
	r.connect()
	for !r.step() {
	}
}

// step handles one thing that happens and reports whether the task is over.
func (r *runner) step() (over bool) {
	var fault chan string
	if r.att != nil {
		fault = r.att.fault
	}
	select {
	case <-r.ctx.Done():
		r.detach()
		return true
	case <-r.deadline.C:
		return r.onDeadline()
	case reason := <-r.t.cancelC:
		return r.onCancel(reason)
	case <-r.ack.C:
		return r.onNoAck()
	case <-r.t.resendC:
		r.onResend()
	case c := <-r.conn:
		return r.onConnected(c)
	case a := <-r.call:
		return r.onAnswer(a)
	case msg := <-fault:
		return r.fail(protocolError(r.t.id, "%s", msg), "protocol error: "+msg)
	case <-r.retry.C:
		r.connect()
	case <-r.quiet.C:
		return r.onQuiet()
	}
	return false
}

func (r *runner) quit() {
	for _, t := range []*time.Timer{r.deadline, r.retry, r.quiet, r.ack} {
		t.Stop()
	}
	r.dropConnect()
}

func (r *runner) connect() {
	ctx, cancel := context.WithCancel(r.ctx)
	r.connCancel = cancel
	ch := make(chan connected, 1)
	r.conn = ch
	r.t.b.runners.Go(func() {
		var c connected
		c.sess, c.set, c.err = r.t.l.acquire(ctx)
		ch <- c
	})
}

// dropConnect gives up a connecting under way.
func (r *runner) dropConnect() {
	if r.conn == nil {
		return
	}
	r.connCancel()
	ch, l := r.conn, r.t.l
	r.conn = nil
	r.t.b.runners.Go(func() {
		if c := <-ch; c.sess != nil {
			l.release(c.sess)
		}
	})
}

func (r *runner) onConnected(c connected) bool {
	r.conn = nil
	r.connCancel()
	var refusal *Refusal
	switch {
	case c.err == nil:
	case errors.As(c.err, &refusal):
		return r.fail(refusal.Err, "")
	case r.t.inv.NoRetry:
		return r.fail(localError(acmp.CodeInternal, "%s", plainError(c.err)), "")
	default:
		r.retry.Reset(r.wait.next())
		return false
	}
	if e := c.set.Refuse(&r.t.inv.Params); e != nil {
		r.t.l.release(c.sess)
		return r.fail(e, "")
	}
	r.interval, r.memory = c.set.Interval(), c.set.Features.TaskMemory
	if r.t.reattach && r.sends == 1 && c.sess.conn != nil && !r.mayRunTwice() {
		r.t.l.release(c.sess)
		return r.providerEnded("it ended with the program that ran it")
	}
	if r.sends > 0 && c.sess.conn != nil && r.shared != c.sess.conn && !r.memory && r.t.in != nil && !r.t.in.whole() {
		r.t.l.release(c.sess)
		return r.providerEnded("its next life would lack the first part of the input, which is no longer held")
	}
	r.send(c.sess)
	return false
}

// begin fixes the deadline at the first send and tells it.
func (r *runner) begin() {
	t := r.t
	t.mu.Lock()
	if t.first.IsZero() {
		t.first = time.Now()
	}
	t.mu.Unlock()
	r.deadline.Reset(time.Until(t.deadline()))
	r.tellSend(acmp.EventSent, t.first, 1)
}

func (r *runner) tellSend(kind acmp.EventKind, at time.Time, n int) {
	p := r.t.inv.Params
	r.t.tell(acmp.TaskEvent{
		Kind: kind, At: at, Params: &p, HeartbeatInterval: r.interval,
		Deadline: r.t.deadline(), Attempt: n,
	})
}

func (r *runner) send(s *session) {
	r.sends++
	if r.sends == 1 {
		r.begin()
	} else {
		r.tellSend(acmp.EventResent, time.Now(), r.sends)
	}
	// On a pipe the chunks of the send before may still arrive.
	r.att = newAttempt(r.t, s.conn != nil && r.shared == s.conn)
	r.sess, r.shared = s, s.conn
	ctx, cancel := context.WithCancel(r.ctx)
	r.callCancel = cancel
	ch := make(chan answer, 1)
	r.call = ch
	l, p, att := r.t.l, r.t.inv.Params, r.att
	r.t.b.runners.Go(func() {
		raw, err := s.invoke(ctx, p, att)
		l.release(s)
		ch <- answer{raw, err}
	})
	if r.cancelled {
		r.notifyCancel(r.reason)
	}
	r.watchSilence()
}

// watchSilence sets the timer for the next thing that silence can mean: at two
// intervals it is told, beyond three it ends the task.
func (r *runner) watchSilence() {
	if r.interval <= 0 || r.att == nil {
		r.quiet.Stop()
		return
	}
	silent, told := r.att.silence(time.Now())
	next := 2 * r.interval
	if told {
		next = acmp.Window(r.interval) + time.Millisecond
	}
	r.quiet.Reset(max(next-silent, time.Millisecond))
}

func (r *runner) onQuiet() bool {
	if r.att == nil {
		return false
	}
	silent, told := r.att.silence(time.Now())
	switch {
	case silent >= 2*r.interval && !told:
		r.att.setStalled()
		r.t.tell(acmp.TaskEvent{Kind: acmp.EventStalled, Detail: fmt.Sprintf("no sign of life for %s", silent.Round(time.Millisecond))})
	case silent > acmp.Window(r.interval) && told && r.cancelled:
		return false // the cancel has a timer of its own
	case silent > acmp.Window(r.interval) && told:
		if r.t.b.env.KeepSilent {
			r.quiet.Reset(r.interval)
			return false
		}
		e := localError(acmp.CodeTimeout, "no sign of life for %s, three heartbeat intervals", silent.Round(time.Millisecond))
		e.Data = map[string]any{"task_id": r.t.id, "liveness": true}
		return r.fail(e, "liveness lost")
	}
	r.watchSilence()
	return false
}

func (r *runner) onResend() {
	if r.att == nil {
		return // on the way already
	}
	r.broken("sent again on request", 0)
}

// broken gives up the present stream and sends again after a wait (7.1).
func (r *runner) broken(cause string, wait time.Duration) {
	r.att.end()
	r.callCancel()
	if r.t.in != nil {
		r.t.in.pause()
	}
	r.att, r.sess, r.call = nil, nil, nil
	r.quiet.Stop()
	r.t.tell(acmp.TaskEvent{Kind: acmp.EventStreamBroken, Detail: cause})
	r.retry.Reset(wait)
}

func (r *runner) onAnswer(a answer) bool {
	d, rpcError := r.att.delivered()
	if a.err == nil {
		return r.onResult(a.raw, d)
	}
	if e := peerError(a.err, rpcError); e != nil {
		return r.fail(receivedError(e, r.t.l.spec.Token), "")
	}
	if final := hopeless(a.err); final != "" {
		return r.fail(localError(acmp.CodeInternal, "%s", final), "")
	}
	cause := r.why(a.err)
	if r.t.inv.NoRetry {
		return r.fail(localError(acmp.CodeInternal, "the stream broke: %s", cause), "")
	}
	if r.sess.conn != nil && r.att.wasWritten() && !r.mayRunTwice() {
		r.t.l.retire(r.sess)
		return r.providerEnded(cause)
	}
	if d.chunks > r.reached { // else each attempt says the same and breaks off
		r.reached = d.chunks
		r.wait.reset()
	}
	// On HTTP one failed request leaves the session whole, and its request ids
	// count on.
	if r.sess.conn != nil || errors.Is(a.err, mcp.ErrConnectionClosed) {
		r.t.l.retire(r.sess)
	}
	r.broken(cause, r.wait.next())
	return false
}

func (r *runner) why(err error) string {
	if r.sess.conn != nil {
		// The end of its stdout comes just before the end of the process.
		if sleepUnless(r.sess.conn.proc.gone, 200*time.Millisecond) {
			return r.sess.conn.proc.why()
		}
	}
	var te *transportError
	var se *statusError
	if errors.As(err, &te) || errors.As(err, &se) {
		return plainError(err)
	}
	return "the stream ended without a response"
}

// hopeless says why sending again is no use, or "".
func hopeless(err error) string {
	var se *statusError
	var ae *answerError
	switch {
	case errors.As(err, &se) && !se.transient():
		return se.Error()
	case errors.As(err, &ae):
		return "protocol error: " + ae.Error()
	}
	return ""
}
