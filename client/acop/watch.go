package acop

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"signalbox/model/acop"
	"signalbox/model/fleet"
)

const (
	// signEvery is how often a silent but living link says "still there".
	signEvery = 5 * time.Second
	// tokenPoll is how often a refused client looks for a new token. It asks the
	// token source, not the owner: asking again with the same one is no use.
	tokenPoll = 2 * time.Second
	// provenAfter is how long a stream must have lived, or else delivered
	// something, to start the pauses from the shortest again.
	provenAfter = 5 * time.Second
)

// Watch keeps emit informed of everything at the owner until ctx ends: first a
// snapshot, then every event in order, each act as a whole, and between them how
// the link fares. It reconnects by itself with a growing pause and resumes where
// it was; where that is not possible it takes a new snapshot and says so
// (Link.Lost). A refusal (401, 403) is final until the token source has another
// token. emit is called from one goroutine and may block; it must not call back
// into Watch. Watch returns ctx's error.
func (c *Client) Watch(ctx context.Context, emit func(fleet.Fact)) error {
	w := &watcher{c: c, emit: emit}
	w.link = fleet.Link{State: fleet.LinkConnecting, Server: c.BaseURL(), Since: time.Now()}
	w.tell()
	for try := 0; ; try++ {
		started := time.Now()
		err := w.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case refused(err):
			if err := w.awaitToken(ctx, err); err != nil {
				return err
			}
			// Another token may be another identity with another role: begin anew.
			try, w.loaded = 0, false
			continue
		}
		if w.received || time.Since(started) > provenAfter {
			try, w.received = 0, false
		}
		if w.startOver(err) {
			w.loaded, w.lost = false, true
			if try == 0 {
				continue // the owner is there and told us: no need to wait
			}
		}
		if err := w.wait(ctx, try, err); err != nil {
			return err
		}
	}
}

// watcher is the state of one Watch.
type watcher struct {
	c        *Client
	emit     func(fleet.Fact)
	link     fleet.Link
	loaded   bool // a snapshot stands and cursor continues it
	lost     bool // the next snapshot replaces missed events
	received bool // events came since the last cut
	cursor   uint64
	mark     mark   // of the act at cursor, once it came over a stream
	token    string // of the connection at hand
}

func (w *watcher) tell() { w.emit(fleet.LinkChanged{Link: w.link}) }

// state moves the link; Since only moves with the state.
func (w *watcher) state(s fleet.LinkState, now time.Time) {
	if w.link.State != s {
		w.link.State, w.link.Since = s, now
	}
}

// follow takes a snapshot if one is needed and then reads events until the
// stream is cut.
func (w *watcher) follow(ctx context.Context) error {
	token, err := w.c.token(ctx)
	if err != nil {
		return fmt.Errorf("get the token: %w", err)
	}
	w.token = token
	// Where the act at the cursor is not known nothing tells the log from another one
	// with as many revisions: such a place is not resumed but read again.
	if !w.loaded || w.mark.revision != w.cursor {
		if err := w.load(ctx); err != nil {
			return err
		}
	}
	s := &streamer{c: w.c, cursor: w.cursor, mark: w.mark, learns: w.mark.revision != w.cursor, opened: w.live, seen: w.sign}
	s.deliver = func(events []acop.Event) error {
		now := time.Now()
		w.received = true
		for _, e := range events {
			w.emit(fleet.OwnerEvent{Event: e, At: now})
		}
		w.cursor = events[len(events)-1].Revision
		return nil
	}
	err = s.run(ctx)
	if errors.Is(err, ErrLost) && s.learns && s.mark.revision != s.cursor {
		s.learns = false // a log that was compacted has nothing to learn from
		err = s.run(ctx)
	}
	w.mark = s.mark
	return err
}

// load reads a snapshot in one try; the loop around it does the waiting.
func (w *watcher) load(ctx context.Context) error {
	ans, err := w.c.send(ctx, w.c.snapshotRequest())
	if err != nil {
		return err
	}
	snap, at, err := w.c.readSnapshot(ans)
	if err != nil {
		return err
	}
	missed := w.lost || w.loaded && snap.Revision != w.cursor
	w.link.LastSeen, w.link.Lost = time.Now(), w.link.Lost || missed
	w.loaded, w.lost, w.cursor, w.mark = true, false, snap.Revision, mark{}
	w.emit(fleet.SnapshotLoaded{Snapshot: snap, At: at})
	return nil
}

// live is called when the stream stands.
func (w *watcher) live() {
	now := time.Now()
	w.state(fleet.LinkLive, now)
	w.link.LastSeen, w.link.Try, w.link.NextTry, w.link.Problem = now, 0, time.Time{}, ""
	w.tell()
	w.link.Lost = false
}

// sign notes a sign of life; it is told on at a slow pace, because events speak
// for themselves.
func (w *watcher) sign() {
	now := time.Now()
	if now.Sub(w.link.LastSeen) < signEvery {
		return
	}
	w.link.LastSeen = now
	w.tell()
}

// startOver reports whether err means that the place in the log is gone.
func (w *watcher) startOver(err error) bool {
	return w.loaded && (errors.Is(err, ErrLost) || isCode(err, acop.CodeCursorAhead) || errors.Is(err, ErrProtocol))
}

// wait pauses before the next try and shows it.
func (w *watcher) wait(ctx context.Context, try int, err error) error {
	now := time.Now()
	d := pause(try, err)
	w.state(fleet.LinkDegraded, now)
	w.link.Try, w.link.NextTry, w.link.Problem = try+1, now.Add(d), plain(err)
	w.tell()
	w.c.log.Warn("the link to the owner is cut", "try", try+1, "wait", d, "error", err)
	return sleep(ctx, d)
}

// refused reports whether trying again with the same token is no use.
func refused(err error) bool {
	var e *acop.Error
	return errors.As(err, &e) && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// awaitToken shows the refusal and waits until the token source gives another
// token, or ctx ends.
func (w *watcher) awaitToken(ctx context.Context, err error) error {
	w.state(fleet.LinkRefused, time.Now())
	w.link.Try, w.link.NextTry, w.link.Problem = 0, time.Time{}, plain(err)
	w.tell()
	w.c.log.Warn("the owner refuses this client", "error", err)
	for {
		if fresh, err := w.c.token(ctx); err == nil && fresh != w.token {
			return nil
		}
		if err := sleep(ctx, tokenPoll); err != nil {
			return err
		}
	}
}

// plain words err for the link line of a screen.
func plain(err error) string {
	var e *acop.Error
	if errors.As(err, &e) {
		if info := acop.Info(e.Code); info.Plain != "" {
			return info.Plain
		}
		return e.Message
	}
	return err.Error()
}

// Events delivers the events of q, each act as a whole, until ctx ends or
// deliver fails, and returns that error. It reconnects like [Client.Watch]; a
// refusal, or a place in the log that is gone, ends it. cut, if not nil, hears
// of each broken connection and of the pause before the next try.
func (c *Client) Events(ctx context.Context, q EventQuery, deliver func([]acop.Event) error, cut func(err error, wait time.Duration)) error {
	var stop error
	received := false
	s := &streamer{c: c, query: q, cursor: q.After, opened: func() {}, seen: func() {}}
	s.deliver = func(events []acop.Event) error {
		received = true
		stop = deliver(events)
		return stop
	}
	for try := 0; ; try++ {
		started := time.Now()
		err := s.run(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case stop != nil:
			return stop
		case errors.Is(err, ErrLost):
			return fmt.Errorf("follow the events after revision %d: %w", s.cursor, err)
		case !transient(err):
			return err
		}
		if received || time.Since(started) > provenAfter {
			try, received = 0, false
		}
		d := pause(try, err)
		if cut != nil {
			cut(err, d)
		}
		if err := sleep(ctx, d); err != nil {
			return err
		}
	}
}
