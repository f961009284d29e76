package acmp

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// guarded is the response writer of one request. The SDK writes the response
// through it, we write chunks and heartbeats, all under one mutex, so that messages
// never mix. Once the caller has gone nothing is written any more.
type guarded struct {
	ctx context.Context // of the HTTP request

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

// Write implements http.ResponseWriter.
func (g *guarded) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open() {
		return 0, errClosed
	}
	return g.w.Write(b)
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
}

// write implements sink.
func (g *guarded) write(b []byte) error {
	_, err := g.Write(b)
	return err
}

// flush implements sink. A failure shows at the next write.
func (g *guarded) flush() { _ = g.FlushError() }

// framing implements sink.
func (g *guarded) framing() framing { return sseFraming }
