package acmp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"signalbox/model/acmp"
)

// ErrUnknownTask is returned for a task_id this buyer does not know.
var ErrUnknownTask = errors.New("no such task here")

// ErrEnded is returned for an act on a task that has its outcome.
var ErrEnded = errors.New("the task has ended already")

// Refusal is a failure before anything was sent. It unwraps to an *acmp.Error
// with Local set.
type Refusal struct {
	Err *acmp.Error
	// Unreachable is true where nobody answers, or not with what is needed: no
	// ACMP extension, another version, a refused token.
	Unreachable bool
}

// Error implements error with the plain message.
func (r *Refusal) Error() string { return r.Err.Message }

// Unwrap gives the *acmp.Error.
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(code int, format string, args ...any) *Refusal {
	return &Refusal{Err: localError(code, format, args...)}
}

func unreachable(format string, args ...any) *Refusal {
	r := refuse(acmp.CodeInternal, format, args...)
	r.Unreachable = true
	return r
}

func localError(code int, format string, args ...any) *acmp.Error {
	return &acmp.Error{Code: code, Message: fmt.Sprintf(format, args...), Local: true}
}

// protocolError is the verdict on a provider that broke the protocol.
func protocolError(taskID, format string, args ...any) *acmp.Error {
	e := localError(acmp.CodeInternal, "protocol error: "+format, args...)
	e.Data = map[string]any{"task_id": taskID, "protocol_error": true}
	return e
}

// transportError is a failure of the network beneath a request.
type transportError struct{ err error }

func (e *transportError) Error() string { return plainNetError(e.err) }
func (e *transportError) Unwrap() error { return e.err }

// statusError is an HTTP status that is no success; rpc is the JSON-RPC error of
// its body, if there was one.
type statusError struct {
	status   int
	rpc      *jsonrpc.Error
	noToken  bool // none was sent
	pathless bool // the URL names no path
}

func (e *statusError) Error() string {
	switch e.status {
	case http.StatusUnauthorized:
		if e.noToken {
			return "the provider wants a bearer token and none was given (401); set ACMP_BEARER_TOKEN, or token_file in the configuration"
		}
		return "the provider refused the bearer token (401)"
	case http.StatusForbidden:
		return "the provider forbids this (403)"
	case http.StatusNotFound:
		if e.pathless {
			return "nothing is served at the bare address (404); a provider's URL ends with its path, mostly /mcp"
		}
		return "nothing is served at this path (404)"
	}
	if e.status >= 300 && e.status < 400 {
		return fmt.Sprintf("the provider redirects (%d); give the final URL", e.status)
	}
	return fmt.Sprintf("the provider answered HTTP %d %s", e.status, http.StatusText(e.status))
}

// transient reports whether sending again may help.
func (e *statusError) transient() bool {
	return e.status >= 500 || e.status == http.StatusTooManyRequests || e.status == http.StatusRequestTimeout
}

// answerError is an answer that is not what the protocol demands.
type answerError struct{ msg string }

func (e *answerError) Error() string { return e.msg }

func plainNetError(err error) string {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return "host " + dns.Name + " is not known"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET):
		return "connection reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended before the answer"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no answer in time"
	}
	if msg := tlsProblem(err); msg != "" {
		return msg
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	msg := err.Error()
	if strings.Contains(msg, "malformed") { // net/http has no type for it
		return "what answers there does not speak HTTP as it must be"
	}
	for _, of := range []string{"net/http: ", "http: ", "tls: "} {
		msg = strings.TrimPrefix(msg, of)
	}
	return msg
}

// plainError gives the part of an SDK error that means something to a person.
func plainError(err error) string {
	var (
		se *statusError
		te *transportError
		ae *answerError
	)
	switch {
	case errors.As(err, &se):
		return se.Error()
	case errors.As(err, &ae):
		return ae.Error()
	case errors.As(err, &te):
		return te.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return err.Error()
}
