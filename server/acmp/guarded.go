package acmp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
)

// guarded is the response writer of one request. The SDK writes the response
// through it, we write chunks and heartbeats, all under one mutex, so that messages
// never mix. Once the caller has gone nothing is written any more.
type guarded struct {
	ctx context.Context // of the HTTP request
	// id is the caller's request id where the SDK was given idForSDK instead.
	id json.RawMessage

	mu     sync.Mutex
	w      http.ResponseWriter
	rc     *http.ResponseController
	closed bool
}

var errClosed = errors.New("the response is closed")

func newGuarded(ctx context.Context, w http.ResponseWriter) *guarded {
	return &guarded{ctx: ctx, w: w, rc: http.NewResponseController(w)}
}

// Header implements http.ResponseWriter. Only the SDK calls it, before the request
// reaches its handler.
func (g *guarded) Header() http.Header { return g.w.Header() }

// WriteHeader implements http.ResponseWriter.
func (g *guarded) WriteHeader(status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open() {
		g.w.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter, for the SDK: a whole message each.
func (g *guarded) Write(b []byte) (int, error) {
	out := b
	if g.id != nil {
		out = spliceID(b, idForSDK, g.id)
	}
	if err := g.write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// FlushError implements what http.ResponseController looks for.
func (g *guarded) FlushError() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open() {
		return errClosed
	}
	return g.rc.Flush()
}

func (g *guarded) open() bool { return !g.closed && g.ctx.Err() == nil }

// close ends the use of the response, before the server takes it back.
func (g *guarded) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	_ = g.rc.SetWriteDeadline(time.Time{}) // the connection may serve others
}

// until implements sink.
func (g *guarded) until(t time.Time) { _ = g.rc.SetWriteDeadline(t) } // not every server can

// write implements sink.
func (g *guarded) write(b []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open() {
		return errClosed
	}
	_, err := g.w.Write(b)
	return err
}

// flush implements sink. A failure shows at the next write.
func (g *guarded) flush() { _ = g.FlushError() }

// framing implements sink.
func (g *guarded) framing() framing { return sseFraming }
