package demo

import (
	"bytes"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// falls is when the provider of a muted task falls silent.
const falls = 4 * time.Second

// muted makes the provider deaf and dumb towards one capability some seconds
// after it was invoked: the connection stays open and nothing more comes, as
// with a process that was stopped or a network that drops packets (B30).
func muted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			http.Error(w, "the body cannot be read", http.StatusBadRequest)
			return
		}
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
		if bytes.Contains(body, []byte(`"`+capResearch+`"`)) {
			mw := &muteWriter{ResponseWriter: w}
			t := time.AfterFunc(falls, func() { mw.mute.Store(true) })
			defer t.Stop()
			// What the handler has to say at its end falls silent too.
			defer func() {
				if mw.mute.Load() {
					<-r.Context().Done()
				}
			}()
			w = mw
		}
		next.ServeHTTP(w, r)
	})
}

// muteWriter swallows everything once it is muted.
type muteWriter struct {
	http.ResponseWriter
	mute atomic.Bool
}

// Write implements io.Writer.
func (m *muteWriter) Write(p []byte) (int, error) {
	if m.mute.Load() {
		return len(p), nil
	}
	return m.ResponseWriter.Write(p)
}

// Unwrap lets the provider flush.
func (m *muteWriter) Unwrap() http.ResponseWriter { return m.ResponseWriter }
