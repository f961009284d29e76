package acmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"signalbox/model/acmp"
)

// front is the handler before the SDK's: who may call, what is a message at all,
// and the notifications that the SDK does not know (D-05).
type front struct {
	p   *Provider
	sdk http.Handler
}

// anonymous is the principal of everybody where no token is asked for.
const anonymous = "anonymous"

// bodyTime is how long a caller may take to send one message.
const bodyTime = 30 * time.Second

func (p *Provider) newFront() http.Handler {
	sdk := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return p.server },
		&mcp.StreamableHTTPOptions{
			Stateless:           true,
			JSONResponse:        p.opts.NoStreaming,
			MaxRequestBodyBytes: int64(p.opts.Limits.MessageBytes),
			Logger:              slog.New(slog.DiscardHandler), // the SDK logs whole messages
			// The front has checked Host already, with the hosts that are allowed.
			DisableLocalhostProtection: true,
		})
	return &front{p: p, sdk: sdk}
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 { // also for what is refused before its body is read
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // not every server can
	}
	if problem := f.p.foreign(r); problem != "" { // before token and body (B103)
		refuseHTTP(w, http.StatusForbidden, codeForbidden, problem)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuseHTTP(w, http.StatusMethodNotAllowed, jsonrpc.CodeInvalidRequest, "only POST is served here")
		return
	}
	principal, ok := f.p.authenticate(r)
	if !ok { // D-20
		w.Header().Set("WWW-Authenticate", `Bearer realm="signalbox"`)
		refuseHTTP(w, http.StatusUnauthorized, codeUnauthorized, "a valid bearer token is needed")
		return
	}
	body, err := f.readBody(w, r)
	if err != nil {
		var tooBig *http.MaxBytesError
		if errors.As(err, &tooBig) {
			refuseHTTP(w, http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest, "the message is larger than is taken here")
			return
		}
		refuseHTTP(w, http.StatusBadRequest, jsonrpc.CodeParseError, "the message did not arrive whole")
		return
	}
	env, bad := parseEnvelope(body)
	if bad != nil {
		writeHTTPError(w, http.StatusBadRequest, nil, bad)
		return
	}
	if env.isNotification() {
		f.notification(w, r, principal, env)
		return
	}
	f.request(w, r, principal, env)
}

func (f *front) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // not every server can
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(f.p.opts.Limits.MessageBytes)))
	if err == nil { // else it stays: net/http would wait for the rest of the body without end
		_ = rc.SetReadDeadline(time.Time{})
	}
	return body, err
}

// notification takes the two notifications of a buyer; any other is ignored
// . It never gets a JSON-RPC answer.
func (f *front) notification(w http.ResponseWriter, r *http.Request, principal string, env *envelope) {
	if bad := env.checkMirrored(r.Header); bad != nil {
		writeHTTPError(w, http.StatusBadRequest, nil, bad)
		return
	}
	var problem string
	switch env.Method {
	case acmp.MethodCancel:
		var c acmp.Cancel
		if c, problem = parseCancel(env.Params); problem == "" {
			f.p.cancelTask(principal, c)
		}
	case acmp.MethodInputChunk:
		var c acmp.InputChunk
		if c, problem = parseInputChunk(env.Params); problem == "" {
			if t := f.p.inputChunk(principal, c); t != nil {
				t.input.wait(f.p.opts.Limits.InputBytes, t.ctx.Done(), r.Context().Done())
			}
		}
	}
	if problem != "" {
		refuseHTTP(w, http.StatusBadRequest, jsonrpc.CodeInvalidParams, problem)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// request serves one request: ours here, any other by the SDK.
func (f *front) request(w http.ResponseWriter, r *http.Request, principal string, env *envelope) {
	if f.p.opts.Lenient {
		env.complete()
		for name, value := range map[string]string{headerVersion: protocolVersion, headerMethod: env.Method} {
			if r.Header.Get(name) == "" {
				r.Header.Set(name, value)
			}
		}
	}
	if bad := env.checkVersion(r.Header.Get(headerVersion)); bad != nil {
		writeHTTPError(w, http.StatusBadRequest, env.ID, bad)
		return
	}
	if f.p.ours(env.Method) {
		f.acmpRequest(w, r, principal, env)
		return
	}
	g := newGuarded(r.Context(), w)
	defer g.close()
	id := string(env.ID)
	if lossyID(env.ID) {
		g.id, id = env.ID, idForSDK
	}
	body := env.withID(id, env.Params) // what we have read is what the SDK reads
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	for _, h := range []string{"Last-Event-Id", "Mcp-Session-Id"} {
		r.Header.Del(h)
	}
	w.Header().Set("X-Accel-Buffering", "no")
	f.sdk.ServeHTTP(g, r)
}

// authenticate gives the principal of a request.
func (p *Provider) authenticate(r *http.Request) (string, bool) {
	if p.opts.Authenticate == nil {
		return anonymous, true
	}
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", false
	}
	return p.opts.Authenticate(token)
}

// Codes of answers that belong to no ACMP or MCP code; they stand in JSON-RPC's
// range for servers.
const (
	codeUnauthorized = -32001
	codeForbidden    = -32003
)

func refuseHTTP(w http.ResponseWriter, status int, code int64, message string) {
	writeHTTPError(w, status, nil, &jsonrpc.Error{Code: code, Message: message})
}

// writeHTTPError answers with a JSON-RPC error; id is left out where it could not
// be read.
func writeHTTPError(w http.ResponseWriter, status int, id json.RawMessage, e *jsonrpc.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(errorMessage(id, e))
}
