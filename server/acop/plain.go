package acop

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"

	core "signalbox/model/acop"
)

// Listener wraps the listener that an owner is served on, so that also the
// answers which net/http gives before any handler runs (a request it cannot
// parse, headers without end) have the one error shape (H-001, H-070, B73).
func Listener(l net.Listener) net.Listener { return shapedListener{l} }

type shapedListener struct{ net.Listener }

func (l shapedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, isTCP := c.(*net.TCPConn); isTCP && err == nil {
		return shapedConn{tcp}, nil
	}
	return c, err
}

// shapedConn replaces net/http's own plain answers. They are the only ones on
// this connection that are plain text and no handler's: each is one write of
// status line, these two headers and a line of text.
type shapedConn struct{ *net.TCPConn }

var plainHeaders = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

func (c shapedConn) Write(b []byte) (int, error) { return writeShaped(c.TCPConn, b) }

func writeShaped(w io.Writer, b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte("HTTP/1.1 417 ")) { // no handler answers so
		return len(b), sendShaped(w, core.Errorf(core.CodeExpectation, "this owner meets no expectation but 100-continue"))
	}
	if !bytes.HasPrefix(b, []byte("HTTP/1.1 4")) && !bytes.HasPrefix(b, []byte("HTTP/1.1 5")) || !bytes.Contains(b, plainHeaders) {
		return w.Write(b)
	}
	e := violation("this is not a valid HTTP request")
	if bytes.HasPrefix(b, []byte("HTTP/1.1 431 ")) {
		e = core.Errorf(core.CodeTooLarge, "the headers of the request are too large")
	}
	return len(b), sendShaped(w, e)
}

func sendShaped(w io.Writer, e *core.Error) error {
	body := errorJSON(e)
	_, err := fmt.Fprintf(w, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		e.HTTPStatus(), http.StatusText(e.HTTPStatus()), len(body), body)
	return err
}
