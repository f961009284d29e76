package acop

import (
	"context"
	"net/http"
	"runtime/debug"

	core "signalbox/model/acop"
)

type callerKey struct{}

// CallerOf is who sent a request that passed [Server.Guard].
func CallerOf(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

// Guard lets requests through to another handler of the same owner after the
// checks that every route of the API makes: Host and Origin, the bearer token,
// the rate of the identity (D-62, B103). Who is calling stands in the context of
// the request ([CallerOf]). What is refused is answered in the one error shape.
// name stands for the handler in the metrics.
func (s *Server) Guard(name string, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{s: s, w: &recorder{ResponseWriter: w}, r: r}
		defer func() { v.end(name, recover()) }()
		s.bound(v.w, r)
		refused := s.checkOrigin(r)
		if refused == nil {
			refused = v.enter()
		}
		if refused == nil && s.isClosing() {
			refused = unavailable("the owner is shutting down")
		}
		if refused != nil {
			v.refuse(refused)
			return
		}
		next(v.w, r.WithContext(context.WithValue(r.Context(), callerKey{}, v.caller)))
	})
}

// end counts a request that is over, under the name of its route, and answers one
// whose handler panicked with p. Where an answer had begun nothing can be said any
// more: the connection is cut, so that nobody takes what came for the whole.
func (v *visit) end(name string, p any) {
	cut := p == http.ErrAbortHandler
	if p != nil && !cut {
		v.s.log.Error("a request failed unexpectedly", "route", name, "panic", p, "stack", string(debug.Stack()))
		cut = v.w.status != 0
		v.refuse(core.Errorf(core.CodeInternal, "something unexpected went wrong at the owner"))
	}
	v.s.count.request(name, v.w.status)
	if cut {
		panic(http.ErrAbortHandler)
	}
}

// Refuse answers a request with the one error shape, for handlers behind
// [Server.Guard].
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, e *core.Error) {
	v := &visit{s: s, w: &recorder{ResponseWriter: w}, r: r}
	v.refuse(e)
}
