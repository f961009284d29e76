package acop

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

// framePatience bounds one write to one reader; whoever does not take it in
// that time is gone or too slow (B77, B79).
const framePatience = 20 * time.Second

// readEvents serves the log as server-sent events: what came after the cursor,
// then live. Without a cursor it begins at the beginning. The events of one act
// come together and only the last one carries the id, so that a cut in between
// resumes before the act.
func readEvents(v *visit) {
	after, filter, refused := eventQuery(v.r)
	if refused != nil {
		v.refuse(refused)
		return
	}
	ctx, cancel := context.WithCancel(v.r.Context())
	defer cancel()
	sub, err := v.s.opts.Store.Subscribe(ctx, after, filter)
	var ahead *store.ErrCursorAhead
	var gone *store.ErrLost
	switch {
	case errors.As(err, &gone):
		if st := v.startStream(); st != nil {
			st.send(lostFrame(gone.Resume))
		}
		return
	case errors.As(err, &ahead):
		v.refuse(core.Errorf(core.CodeCursorAhead, "the log ends at revision %d; take a snapshot", ahead.Last).With("revision", ahead.Last))
		return
	case err != nil:
		v.s.log.Error("subscribe", "error", err)
		v.refuse(unavailable("the owner cannot read its log now; ask again"))
		return
	}
	defer sub.Close()
	v.s.count.streams.Add(1)
	defer v.s.count.streams.Add(-1)

	if st := v.startStream(); st != nil {
		render := frames
		if len(filter.WorkItems)+len(filter.Families) == 0 {
			render = v.s.frames.of
		}
		v.pump(ctx, st, sub, render)
	}
}

// startStream sends the head of the answer at once, so that a client knows that
// it is connected. It returns nil when there is nothing to stream to.
func (v *visit) startStream() *stream {
	h := v.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	v.w.WriteHeader(http.StatusOK)
	st := &stream{w: v.w, rc: http.NewResponseController(v.w), patience: v.s.opts.frameIn, lost: &v.s.count.lost}
	if v.r.Method == http.MethodHead || !st.send([]byte(": following\n\n")) {
		return nil
	}
	_ = st.rc.SetReadDeadline(time.Time{}) // a body that came along had its time
	return st
}

// pump writes until the reader, the owner or the subscription is done.
func (v *visit) pump(ctx context.Context, st *stream, sub *store.Subscription, render func([]core.Event) []byte) {
	type act struct {
		events []core.Event
		err    error
	}
	acts := make(chan act)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for {
			evs, err := sub.Next(ctx)
			select {
			case acts <- act{evs, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	live := v.s.service.clock.stamp()
	idle := time.NewTicker(v.s.opts.KeepAlive)
	defer idle.Stop()
	still := time.NewTicker(credentialEvery)
	defer still.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-still.C:
			// A token may be revoked or run out while the stream is open.
			if _, refused := v.s.authenticate(v.r); refused != nil {
				return
			}
		case <-v.s.closing:
			return
		case <-idle.C:
			if !st.send([]byte(": still here\n\n")) {
				return
			}
		case a := <-acts:
			var lost *store.ErrLost
			switch {
			case errors.As(a.err, &lost):
				v.s.count.lost.Add(1)
				st.send(lostFrame(lost.Resume))
				return
			case a.err != nil:
				return
			}
			if !st.send(render(a.events)) {
				return
			}
			if last := a.events[len(a.events)-1].AtUTC; live.Before(last) {
				v.s.count.delivered.add(v.s.service.clock.stamp().Sub(last))
			}
		}
	}
}

// credentialEvery is how often an open stream's credential is judged again.
const credentialEvery = time.Second

// stream writes frames, each within its own deadline.
type stream struct {
	w        http.ResponseWriter
	rc       *http.ResponseController
	patience time.Duration
	lost     *atomic.Int64 // readers that did not take what was sent
}

// send is false when the reader is gone, or has not taken what was sent to it for
// so long that the connection is given up.
func (s *stream) send(b []byte) bool {
	started := time.Now()
	_ = s.rc.SetWriteDeadline(started.Add(s.patience)) // not every writer has one
	_, err := s.w.Write(b)
	if err == nil {
		// A write after the deadline reports no error, only the flush does.
		err = s.rc.Flush()
	}
	if err != nil && time.Since(started) >= s.patience {
		s.lost.Add(1)
	}
	return err == nil
}

// frames renders the events of one act.
func frames(events []core.Event) []byte {
	var b bytes.Buffer
	for i := range events {
		data, err := json.Marshal(&events[i])
		if err != nil {
			continue // cannot happen: events came out of the log as JSON
		}
		if i == len(events)-1 {
			b.WriteString("id: " + strconv.FormatUint(events[i].Revision, 10) + "\n")
		}
		b.WriteString("event: " + string(events[i].Family) + "\ndata: ")
		b.Write(data)
		b.WriteString("\n\n")
	}
	return b.Bytes()
}

func lostFrame(resume uint64) []byte {
	return []byte("event: lost\ndata: {\"protocol_version\":\"" + core.ProtocolVersion + "\",\"revision\":" +
		strconv.FormatUint(resume, 10) + "}\n\n")
}

// eventQuery reads cursor and filters. The header wins: it is where a client
// that reconnects by itself has got to.
func eventQuery(r *http.Request) (after uint64, f store.EventFilter, refused *core.Error) {
	p := r.URL.Query()
	cursor := r.Header.Get("Last-Event-ID")
	if cursor == "" {
		cursor = p.Get("after")
	}
	if cursor != "" {
		n, err := strconv.ParseUint(cursor, 10, 64)
		if err != nil {
			return 0, f, violation("the event cursor must be a revision")
		}
		after = n
	}
	f.WorkItems = p["work_item"]
	for _, name := range p["family"] {
		if !core.Family(name).Valid() {
			return 0, f, violation("family is none of the event families")
		}
		f.Families = append(f.Families, core.Family(name))
	}
	return after, f, nil
}
