package acop

import (
	"context"
	"net/http"
	"time"

	core "signalbox/model/acop"
)

// operation serves the pages for whoever runs the owner. They tell nothing about
// the work and need no credential.
func (s *Server) operation(w *recorder, r *http.Request) bool {
	v := &visit{s: s, w: w, r: r}
	switch r.URL.Path {
	case "/healthz", "/readyz", "/metrics", "/openapi.json":
	default:
		return false
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		v.refuse(core.Errorf(core.CodeMethodNotAllowed, "this path takes GET and HEAD"))
		return true
	}
	switch r.URL.Path {
	case "/openapi.json":
		v.write(http.StatusOK, s.openAPIDocument())
		return true
	case "/metrics":
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.WriteHeader(http.StatusOK)
		s.count.write(w, s.state(r.Context()))
		return true
	case "/readyz":
		if s.isClosing() {
			v.refuse(unavailable("the owner is shutting down"))
			return true
		}
		ctx, cancel := context.WithTimeout(r.Context(), statsPatience)
		defer cancel()
		if _, err := s.opts.Store.Stats(ctx); err != nil {
			v.refuse(unavailable("the log does not answer"))
			return true
		}
		if err := s.opts.Store.TakesWrites(); err != nil {
			v.refuse(unavailable("the log takes no writes now; reads are answered, and the owner's own log says why"))
			return true
		}
	}
	health := map[string]any{"protocol_version": core.ProtocolVersion, "status": "ok", "revision": s.opts.Store.Revision()}
	if s.opts.Version != "" {
		health["version"] = s.opts.Version
	}
	v.reply(health)
	return true
}

// statsPatience bounds asking the engine about the log.
const statsPatience = 2 * time.Second

// state reads the gauges. Without an answer of the engine, its numbers are zero.
func (s *Server) state(ctx context.Context) state {
	ctx, cancel := context.WithTimeout(ctx, statsPatience)
	defer cancel()
	writes := 0
	if s.opts.Store.TakesWrites() == nil {
		writes = 1
	}
	st, err := s.opts.Store.Stats(ctx)
	if err != nil {
		s.log.Warn("the size of the log is not known", "error", err)
		return state{revision: s.opts.Store.Revision(), writes: writes}
	}
	return state{writes: writes, leases: st.Claims, items: st.Items, entries: st.Entries, revision: st.Revision, messages: st.Messages, bytes: st.Bytes}
}
