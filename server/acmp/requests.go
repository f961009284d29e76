package acmp

import (
	"bytes"
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"signalbox/model/acmp"
)

// The requests of ACMP are served here, at the front of both transports, under the
// same rules of the envelope as the SDK's: an invoke is two decodings of a small
// message, and has its place in the task table before the next message is read.
// All else of MCP is left to the SDK.

// ours reports whether a request is ACMP's.
func (p *Provider) ours(method string) bool {
	switch method {
	case acmp.MethodInvoke:
		return true
	case acmp.MethodOfferRequest, acmp.MethodAccept:
		return p.offers != nil // a provider without them answers -32601
	}
	return false
}

// acmpRequest serves one of our requests over HTTP: an invoke by an event stream,
// the others, and all of them where nothing can be streamed, by one JSON object
//
func (f *front) acmpRequest(w http.ResponseWriter, r *http.Request, principal string, env *envelope) {
	if bad := f.negotiate(w, r); bad {
		return
	}
	switch m := r.Header.Get(headerMethod); {
	case m == "":
		writeHTTPError(w, http.StatusBadRequest, env.ID, &jsonrpc.Error{Code: codeHeaderMismatch, Message: "the Mcp-Method header is missing"})
		return
	case m != env.Method:
		writeHTTPError(w, http.StatusBadRequest, env.ID, &jsonrpc.Error{Code: codeHeaderMismatch, Message: "the Mcp-Method header and the message name different methods"})
		return
	}
	if bad := env.checkMeta(); bad != nil {
		writeHTTPError(w, http.StatusBadRequest, env.ID, bad)
		return
	}
	h := w.Header()
	h.Set("X-Accel-Buffering", "no")
	h.Set("Cache-Control", "no-cache, no-transform")
	if env.Method != acmp.MethodInvoke {
		h.Set("Content-Type", "application/json")
		_, _ = w.Write(f.p.negotiation(env, principal))
		return
	}
	f.invoke(w, r, principal, env)
}

// invoke answers one acmp/invoke over HTTP.
func (f *front) invoke(w http.ResponseWriter, r *http.Request, principal string, env *envelope) {
	if f.p.opts.NoStreaming {
		w.Header().Set("Content-Type", "application/json")
	} else {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	g := newGuarded(r.Context(), w)
	defer g.close()
	answer := f.p.serve(r.Context(), f.p.enter(env.Params, principal), env.ID, call{sink: g, gone: r.Context().Done()})
	if answer == nil {
		return // the caller has gone
	}
	if !f.p.opts.NoStreaming {
		answer = append(append([]byte(sseFraming.before), answer...), sseFraming.after...)
	}
	_ = g.write(answer) // fails only when the caller has gone
}

// negotiate sees that the caller sends JSON and takes both forms of answer;
// it reports whether it has refused.
func (f *front) negotiate(w http.ResponseWriter, r *http.Request) (refused bool) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		refuseHTTP(w, http.StatusUnsupportedMediaType, jsonrpc.CodeInvalidRequest, "Content-Type must be application/json")
		return true
	}
	var asJSON, asEvents bool
	for _, line := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			t, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(t)) {
			case "*/*":
				asJSON, asEvents = true, true
			case "application/json", "application/*":
				asJSON = true
			case "text/event-stream", "text/*":
				asEvents = true
			}
		}
	}
	if !asJSON || !asEvents {
		refuseHTTP(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "Accept must name both application/json and text/event-stream")
		return true
	}
	return false
}

// entered is an invoke that has its place in the task table, or was turned away.
type entered struct {
	task   *Task
	stream bool
	place  admitted // of a task that is new
	bad    *acmp.Error
}

// enter finds the task of an invoke or makes it (D-09 up to idempotency). It does
// not block, so that what follows on the same pipe finds the task.
func (p *Provider) enter(params json.RawMessage, principal string) entered {
	ip, bad := parseInvoke(params)
	if bad != nil {
		return entered{bad: bad}
	}
	e := entered{stream: ip.Stream && !p.opts.NoStreaming}
	e.task, e.place, e.bad = p.find(ip, principal)
	return e
}

// serve sees an invoke through to its response, nil when the caller has gone.
func (p *Provider) serve(ctx context.Context, e entered, id json.RawMessage, c call) []byte {
	if e.bad != nil {
		return response(id, nil, e.bad)
	}
	if e.place.fresh {
		p.launch(e.task, e.place)
	}
	o, err := p.follow(ctx, e.task, e.stream, c)
	if err != nil {
		return nil
	}
	select {
	case <-e.task.recorded:
	case <-c.gone:
		return nil
	}
	res, bad := p.answer(e.task, o, e.stream)
	return response(id, res, bad)
}

// response is a JSON-RPC response on one line.
func response(id json.RawMessage, result any, bad *acmp.Error) []byte {
	if bad != nil {
		return errorMessage(id, toWire(bad))
	}
	body, err := json.Marshal(result)
	if err != nil { // values of ours and checked JSON
		return errorMessage(id, toWire(internalErrorValue("", "")))
	}
	out := make([]byte, 0, len(body)+len(id)+64)
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = append(out, id...)
	out = append(out, `,"result":`...)
	out = append(out, body...)
	return append(out, '}')
}

// requestMeta is what MCP wants to see in the _meta of a request.
type requestMeta struct {
	Version      string          `json:"io.modelcontextprotocol/protocolVersion"`
	Capabilities json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
}

// meta is the _meta of the message; what cannot be read is absent.
func (e *envelope) meta() requestMeta {
	var p struct {
		Meta requestMeta `json:"_meta"`
	}
	_ = acmp.Decode(orEmpty(e.Params), &p) // up to the member that cannot be read
	return p.Meta
}

// checkMeta demands the members that MCP wants in the _meta of every request
// and a revision that is spoken here.
func (e *envelope) checkMeta() *jsonrpc.Error {
	m := e.meta()
	missing := func(name string) *jsonrpc.Error {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: `missing or invalid _meta member "io.modelcontextprotocol/` + name + `"`}
	}
	switch caps := bytes.TrimSpace(m.Capabilities); {
	case m.Version == "":
		return missing("protocolVersion")
	case m.Version != protocolVersion:
		return unsupportedVersion(m.Version)
	case len(caps) == 0 || caps[0] != '{':
		return missing("clientCapabilities")
	}
	return nil
}
