package acop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/tmaxmax/go-sse"

	"signalbox/model/acop"
)

// ErrLost means that the stream cannot be continued from where it was: the
// owner said so, or an event was too large to read. A snapshot is the cure.
var ErrLost = errors.New("events were missed")

// EventQuery selects what a stream delivers.
type EventQuery struct {
	After    uint64 // only events after this revision; 0 = from the oldest kept
	WorkItem string
	Family   acop.Family
}

func (q *EventQuery) filtered() bool { return q.WorkItem != "" || q.Family != "" }

// streamer reads one connection to GET events.
//
// github.com/tmaxmax/go-sse does the parsing: it was checked against split
// CRLFs, byte order marks, multi-line data, unfinished last events and long
// lines. Its connection handling is not used, because it can neither bound
// silence nor tell about its attempts.
type streamer struct {
	c *Client
	// cursor is the revision of the last whole act that was delivered.
	cursor uint64
	// mark is what the act at cursor is known by, once it came over a stream. A new
	// connection then begins with that act, and goes on only behind the same one: a
	// log that was put back from a copy and has grown since counts other acts with
	// the same revisions.
	mark mark
	// learns asks for the act at cursor as well, to know it when the stream is cut.
	learns  bool
	query   EventQuery
	pending []acop.Event // of an act whose last event has not come yet
	// unproven: the act at cursor has not come again yet; overdue gives it up.
	unproven bool
	overdue  *time.Timer
	// lastRev and lastIndex are the place of the last event of a filtered stream.
	lastRev   uint64
	lastIndex int
	// opened is called once the owner has answered 200; seen at each sign of
	// life, comments included; deliver gets the events of one act, in order.
	opened  func()
	seen    func()
	deliver func([]acop.Event) error
}

// mark tells an act from another one that has its revision in another log.
type mark struct {
	revision           uint64
	ms                 int64
	verb, actor        string
	item, claim, entry string
}

// markOf is the mark of the act that ends with e.
func markOf(e *acop.Event) mark {
	m := mark{revision: e.Revision, ms: e.AtUTC.Std().UnixMilli(), verb: e.Verb, actor: e.Actor, item: e.WorkItemID, claim: e.ClaimID}
	if e.Entry != nil {
		m.entry = e.Entry.EntryID
	}
	return m
}

// proves reports whether the stream is to begin with the act at the cursor.
func (s *streamer) proves() bool { return s.cursor > 0 && s.mark.revision == s.cursor }

// run follows the stream until it is cut, and says why. It never returns nil.
func (s *streamer) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	token, err := s.c.token(ctx)
	if err != nil {
		return fmt.Errorf("get the token: %w", err)
	}
	resp, err := s.open(ctx, cancel, token)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	s.pending = nil
	if s.unproven = s.proves(); s.unproven {
		s.overdue = time.AfterFunc(tryTimeout, func() { cancel(ErrLost) })
		defer s.overdue.Stop()
	} else {
		s.opened()
	}
	body := newLiveReader(resp.Body, s.c.idle, s.seen, func() {
		cancel(fmt.Errorf("%w: silence for %s", ErrUnreachable, s.c.idle))
	})
	defer body.stop()
	return s.read(ctx, body)
}

// open connects with the header time bounded, the stream itself unbounded.
func (s *streamer) open(ctx context.Context, cancel context.CancelCauseFunc, token string) (*http.Response, error) {
	q := url.Values{}
	if s.query.WorkItem != "" {
		q.Set("work_item", s.query.WorkItem)
	}
	if s.query.Family != "" {
		q.Set("family", string(s.query.Family))
	}
	h := http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-store"}}
	after := s.cursor
	if after > 0 && (s.learns || s.proves()) {
		after--
	}
	if after > 0 {
		h.Set("Last-Event-ID", strconv.FormatUint(after, 10))
	}
	slow := time.AfterFunc(tryTimeout, func() {
		cancel(fmt.Errorf("%w: no answer in time", ErrUnreachable))
	})
	defer slow.Stop()
	resp, err := s.c.open(ctx, &request{method: http.MethodGet, url: s.c.endpoint(q, "events"), header: h}, token)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && cause != context.Canceled {
			return nil, cause
		}
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, readError(resp, time.Now())
	}
	if mt, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); mt != "text/event-stream" {
		resp.Body.Close()
		return nil, fmt.Errorf("follow the events: %w: the answer is %q, not an event stream", ErrProtocol, mt)
	}
	return resp, nil
}

// read parses until the stream ends.
func (s *streamer) read(ctx context.Context, body io.Reader) error {
	for ev, err := range sse.Read(body, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if err != nil {
			return s.cut(ctx, err)
		}
		if ev.Type == "lost" {
			return ErrLost
		}
		if ev.Data == "" {
			continue // a ping of some proxy
		}
		if err := s.take(ev.Data); err != nil {
			return err
		}
	}
	return s.cut(ctx, io.EOF)
}

// cut words the end of a stream.
func (s *streamer) cut(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return cause
	case errors.Is(err, bufio.ErrTooLong):
		s.c.log.Warn("an event is larger than this program reads", "limit_bytes", maxEvent, "after_revision", s.cursor)
		return ErrLost
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the stream ended", ErrUnreachable)
	}
	return fmt.Errorf("%w: the stream broke: %w", ErrUnreachable, err)
}

// take collects the events of one act and delivers them with the last: a cut in
// between resumes before the act, and nothing is then seen twice.
func (s *streamer) take(data string) error {
	var e acop.Event
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return fmt.Errorf("read an event: %w: %w", ErrProtocol, err)
	}
	if err := checkEvent(&e); err != nil {
		return fmt.Errorf("read event %d: %w: %w", e.Revision, ErrProtocol, err)
	}
	if s.unproven {
		return s.prove(&e)
	}
	if e.Revision <= s.cursor {
		if s.learns && e.Revision == s.cursor && e.Last {
			s.mark = markOf(&e)
		}
		return nil // delivered before the cut
	}
	if s.query.filtered() {
		return s.takeAlone(e)
	}
	if e.Index == 0 {
		s.pending = nil
	}
	s.pending = append(s.pending, e)
	if !e.Last {
		return nil
	}
	whole := s.pending
	s.pending = nil
	if err := s.deliver(whole); err != nil {
		return err
	}
	s.cursor, s.mark = e.Revision, markOf(&e)
	return nil
}

// prove holds the first act of a resumed stream against the one that was delivered
// last. An owner with another log, or without that act, is another truth: [ErrLost].
func (s *streamer) prove(e *acop.Event) error {
	if e.Revision == s.cursor && !e.Last {
		return nil // the mark is of the last event of the act
	}
	if e.Revision < s.cursor {
		return nil // a log that kept nothing older begins further back
	}
	if markOf(e) != s.mark {
		s.c.log.Warn("the owner's log is another one than before", "revision", s.cursor)
		return ErrLost
	}
	s.unproven = false
	s.overdue.Stop()
	s.opened()
	return nil
}

// takeAlone delivers an event at once: a filter may have taken the last one of
// its act out. What comes twice after a cut is told by its place.
func (s *streamer) takeAlone(e acop.Event) error {
	if e.Revision < s.lastRev || e.Revision == s.lastRev && e.Index <= s.lastIndex {
		return nil
	}
	if err := s.deliver([]acop.Event{e}); err != nil {
		return err
	}
	s.lastRev, s.lastIndex = e.Revision, e.Index
	if e.Last {
		s.cursor = e.Revision
	}
	return nil
}

// liveReader reports every read and calls expired after a silence.
type liveReader struct {
	r       io.Reader
	idle    time.Duration
	timer   *time.Timer
	seen    func()
	stopped atomic.Bool
}

func newLiveReader(r io.Reader, idle time.Duration, seen, expired func()) *liveReader {
	l := &liveReader{r: r, idle: idle, seen: seen}
	l.timer = time.AfterFunc(idle, expired)
	return l
}

// Read implements io.Reader. The clock stands still while the consumer works,
// so that a slow consumer is not taken for a silent owner.
func (l *liveReader) Read(p []byte) (int, error) {
	if !l.stopped.Load() {
		l.timer.Reset(l.idle)
	}
	n, err := l.r.Read(p)
	l.timer.Stop()
	if n > 0 {
		l.seen()
	}
	return n, err
}

func (l *liveReader) stop() {
	l.stopped.Store(true)
	l.timer.Stop()
}
