package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

const (
	// commitWait bounds one act at the engine.
	commitWait = 2 * engineWait
	// mostWriting is how many acts of one record may be under way. The engine's
	// answers wait in a channel of this size, so that none is ever dropped.
	mostWriting = 4096
)

// writing is an act on its way into the log. What the follower will apply is
// made before it is sent, from the bytes that are sent.
type writing struct {
	msgs  []*nats.Msg
	parts []message // the same, to be placed once their place is known
	recs  []*Record // as they were read back from the bytes of msgs
	rev   uint64    // of the last record; 0 until the engine has answered
	done  chan error
	line  <-chan struct{} // closed when the engine's answer was lost with its connection
}

// add takes one more record into the act.
func (w *writing) add(m *nats.Msg, sl seal, rec *Record) {
	w.msgs = append(w.msgs, m)
	w.parts = append(w.parts, message{subject: m.Subject, seal: sl})
	w.recs = append(w.recs, rec)
}

// first is the revision of the act's first record.
func (w *writing) first() uint64 { return w.rev - uint64(len(w.msgs)) + 1 }

// end tells the writer what became of its act; only the first word counts.
func (w *writing) end(err error) {
	select {
	case w.done <- err:
	default:
	}
}

// act gives the records their place and puts the act together.
func (w *writing) act() *act {
	a := &act{first: w.first(), rev: w.rev}
	for i, m := range w.parts {
		m.seq = a.first + uint64(i)
		m.rev = m.seq
		r := settle(m, w.recs[i])
		a.records = append(a.records, r)
		a.sum = m.seal.sum
		if len(w.parts) == 1 {
			a.events = r.rec.Events
			break
		}
		a.events = append(a.events, r.rec.Events...)
	}
	return a
}

// writings are the acts under way. The engine's answers to those of one record
// come in the order of the log.
type writings struct {
	prefix  string // of the subjects of the answers; a number follows
	sub     *nats.Subscription
	answers chan *nats.Msg // to acts of one record
	groups  chan *writing  // acts of several records, answered
	look    chan struct{}  // asks the follower to look at the log itself
	slots   chan struct{}  // one for each act whose answer may stand in answers

	mu   sync.Mutex
	n    uint64
	open map[uint64]*writing
}

func newWritings(nc *nats.Conn) (*writings, error) {
	ws := &writings{
		prefix:  nc.NewInbox() + ".",
		answers: make(chan *nats.Msg, mostWriting), groups: make(chan *writing),
		look: make(chan struct{}, 1), slots: make(chan struct{}, mostWriting), open: map[uint64]*writing{},
	}
	var err error
	ws.sub, err = nc.ChanSubscribe(ws.prefix+"*", ws.answers)
	return ws, err
}

// ask lets the follower look at the log itself, because an answer may be missing.
func (ws *writings) ask() {
	select {
	case ws.look <- struct{}{}:
	default:
	}
}

// enter gives an act the subject that its answer comes to.
func (ws *writings) enter(w *writing) (reply string, n uint64) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.n++
	ws.open[ws.n] = w
	return ws.prefix + strconv.FormatUint(ws.n, 10), ws.n
}

// leave takes an act out, and nil if it is not there.
func (ws *writings) leave(n uint64) *writing {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.open[n]
	delete(ws.open, n)
	if w != nil {
		<-ws.slots
	}
	return w
}

// ackBody is what the engine answers to a message.
type ackBody struct {
	Error    *jetstream.APIError `json:"error"`
	Stream   string              `json:"stream"`
	Sequence uint64              `json:"seq"`
}

// answered finds the act that an answer belongs to, and its place or why it was
// refused. Without an act the answer says nothing.
func (ws *writings) answered(m *nats.Msg) (w *writing, err error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(m.Subject, ws.prefix), 10, 64)
	if err != nil {
		return nil, nil
	}
	if w = ws.leave(n); w == nil {
		ws.ask() // its writer has given up, and the act may be in the log
		return nil, nil
	}
	if len(m.Data) == 0 && m.Header.Get("Status") != "" { // nobody is there to write it
		return w, fmt.Errorf("%w: the engine does not answer", ErrUnavailable)
	}
	var ack ackBody
	if err := decodeInto(m.Data, &ack); err != nil {
		return w, fmt.Errorf("%w: the engine's answer is not readable: %w", ErrUnavailable, err)
	}
	if ack.Error != nil {
		return w, writeError(ack.Error)
	}
	if ack.Stream != streamName || ack.Sequence == 0 {
		return w, fmt.Errorf("%w: the engine's answer names no place in the log", ErrUnavailable)
	}
	w.rev = ack.Sequence
	return w, nil
}

// write brings an act into the log and returns its revision once the projection
// shows it.
func (s *Store) write(ctx context.Context, w *writing) (uint64, error) {
	rev, err := s.writeTo(ctx, s.engine(), w)
	switch {
	case err == nil:
		s.refused.Store(nil)
	case errors.Is(err, ErrUnavailable):
		s.refused.Store(&refusedWrite{time.Now(), err})
	}
	return rev, err
}

func (s *Store) writeTo(ctx context.Context, e *engine, w *writing) (uint64, error) {
	if e.isBroken() {
		return 0, errNoDisk
	}
	w.done, w.line = make(chan error, 1), e.line.now().Done()
	late := time.NewTimer(commitWait)
	defer late.Stop()
	var err error
	if len(w.msgs) == 1 {
		err = s.writeOne(e, w, late.C)
	} else if err = s.sendGroup(ctx, e, w); err == nil {
		err = s.await(e, w, late.C)
	}
	if err != nil {
		return 0, err
	}
	return w.rev, nil
}

// errNoDisk means that the engine is broken; see [Store.mend].
var errNoDisk = fmt.Errorf("%w: the disk took no more", ErrUnavailable)

// writeOne brings an act of one record into the log. Its place among the acts under
// way is free afterwards, also when the answer never came: the engine's connection
// may have been cut, and each lost answer would cost a place for good.
func (s *Store) writeOne(e *engine, w *writing, late <-chan time.Time) error {
	n, err := s.send(e, w, late)
	if err != nil {
		return err
	}
	defer e.writings.leave(n)
	return s.await(e, w, late)
}

// await returns once the projection shows an act that the engine was given, or when
// nobody can say any longer what became of it.
func (s *Store) await(e *engine, w *writing, late <-chan time.Time) error {
	select {
	case err := <-w.done:
		return err
	case <-late:
		e.writings.ask()
		return s.known(w, errors.New("the engine took too long"))
	case <-w.line:
		return s.known(w, errCut)
	case <-e.broken:
		return s.known(w, errors.New("the disk took no more"))
	case <-s.done:
		return s.known(w, ErrClosed)
	case <-s.failed:
		return s.known(w, s.failure)
	}
}

// errCut means that an answer of the engine was lost on its way.
var errCut = errors.New("the connection to the engine was cut")

// known is what became of an act that nobody waits for any longer: the follower
// may just have said it. A retry decides on the log as it then is.
func (s *Store) known(w *writing, why error) error {
	select {
	case err := <-w.done:
		return err
	default:
		return fmt.Errorf("%w: it is not known whether the act was written: %w", ErrUnavailable, why)
	}
}

// send hands an act of one record to the engine and returns the number that it is
// under way by.
func (s *Store) send(e *engine, w *writing, late <-chan time.Time) (n uint64, err error) {
	ws := e.writings
	select {
	case ws.slots <- struct{}{}:
	default:
		select {
		case ws.slots <- struct{}{}:
		case <-late:
			return 0, fmt.Errorf("%w: too many writes are under way", ErrUnavailable)
		case <-e.broken:
			return 0, errNoDisk
		case <-s.done:
			return 0, ErrClosed
		}
	}
	reply, n := ws.enter(w)
	m := w.msgs[0]
	m.Reply = reply
	if err := e.nc.PublishMsg(m); err != nil {
		ws.leave(n)
		return 0, writeError(err)
	}
	return n, nil
}

// sendGroup writes an act of several records as the engine's atomic batch. The
// engine takes 50 at a time; the 51st is asked again a moment later.
func (s *Store) sendGroup(ctx context.Context, e *engine, w *writing) error {
	ctx, cancel := context.WithTimeout(ctx, commitWait)
	defer cancel()
	ctx, free := e.bound(ctx)
	defer free()
	defer context.AfterFunc(e.line.now(), cancel)()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		ack, err := jetstreamext.PublishMsgBatch(ctx, e.js, w.msgs)
		if err == nil {
			w.rev = ack.Sequence
			select {
			case e.writings.groups <- w:
			case <-ctx.Done(): // the engine broke, or the follower hangs for too long
			case <-s.failed:
			case <-s.done:
			}
			return nil
		}
		if !isTooManyBatches(err) {
			if !errors.As(err, new(*jetstream.APIError)) {
				e.writings.ask()
			}
			return writeError(err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return writeError(err)
		}
	}
}
