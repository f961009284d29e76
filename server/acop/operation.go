package acop

import (
	"net/http"

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
		s.count.write(w, len(s.opts.Store.LiveLeases()), s.opts.Store.Revision())
		return true
	case "/readyz":
		if s.isClosing() {
			v.refuse(unavailable("the owner is shutting down"))
			return true
		}
	}
	v.reply(map[string]any{"protocol_version": core.ProtocolVersion, "status": "ok", "revision": s.opts.Store.Revision()})
	return true
}
