package acop

import (
	"net/http"
	"time"

	core "signalbox/model/acop"
)

// Guard lets requests through to another handler of the same owner after the
// checks that every route of the API makes: Host and Origin, the bearer token,
// the rate of the identity (D-62, B103). next gets who is calling. What is
// refused is answered in the one error shape. name stands for the handler in the
// metrics.
func (s *Server) Guard(name string, next func(http.ResponseWriter, *http.Request, Caller)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{s: s, w: &recorder{ResponseWriter: w}, r: r}
		defer func() { s.count.request(name, v.w.status) }()
		_ = http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(answerPatience))
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
		next(v.w, r, v.caller)
	})
}

// Refuse answers a request with the one error shape, for handlers behind
// [Server.Guard].
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, e *core.Error) {
	v := &visit{s: s, w: &recorder{ResponseWriter: w}, r: r}
	v.refuse(e)
}
