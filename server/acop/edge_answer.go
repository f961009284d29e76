package acop

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	core "signalbox/model/acop"
)

// act carries out one mutating request from its body on.
func (v *visit) act(ep *endpoint) {
	began := time.Now()
	defer func() { v.s.count.acts.add(time.Since(began)) }()
	out, refused := v.actOutcome(ep)
	if refused != nil {
		v.refuse(refused)
		return
	}
	v.finish(out)
}

func (v *visit) actOutcome(ep *endpoint) (*outcome, *core.Error) {
	s := v.s
	if s.isClosing() {
		return nil, unavailable("the owner is shutting down")
	}
	body, refused := readBody(v.w, v.r, s.opts.Config.MaxBodyBytes)
	if refused != nil {
		return nil, refused
	}
	env, refused := readJSON(body)
	if refused != nil {
		return nil, refused
	}
	apply := func(*request) {}
	sent := body
	if v.compat {
		if body, apply, refused = v.translate(sent); refused != nil {
			return nil, refused
		}
		if env, refused = readJSON(body); refused != nil {
			return nil, refused
		}
	}
	if refused := env.version(); refused != nil {
		return nil, refused
	}
	key, refused := v.idempotencyKey(sent)
	if refused != nil {
		return nil, refused
	}
	if key != nil {
		leave, err := s.service.flights.enter(v.r.Context(), key.scope)
		if err != nil {
			return nil, unavailable("the request was given up while it waited")
		}
		defer leave()
		out, refused := s.service.replay(v.r.Context(), key)
		if out != nil {
			s.count.replays.Add(1)
		}
		if out != nil || refused != nil {
			return out, refused
		}
	}
	req, refused := ep.parse(env, v.id)
	if refused != nil {
		return nil, refused
	}
	if refused := v.ifMatch(req); refused != nil {
		return nil, refused
	}
	apply(req)
	return s.service.do(v.r.Context(), v.caller, req, key)
}

// idempotencyKey reads the key and scopes it to identity, method and path, so
// that nobody reads another's answer (H-015, D-56).
func (v *visit) idempotencyKey(body []byte) (*idemKey, *core.Error) {
	keys := v.r.Header.Values("Idempotency-Key")
	switch {
	case len(keys) == 0:
		return nil, nil
	case len(keys) > 1 || strings.TrimSpace(keys[0]) == "":
		return nil, violation("Idempotency-Key must be given once and must not be empty")
	}
	h := sha256.New()
	parts := append([]string{v.caller.Identity, v.r.Method, keys[0]}, v.segs...)
	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	scope := hex.EncodeToString(h.Sum(nil))
	return &idemKey{scope: scope, fingerprint: fingerprint(body), seed: scope}, nil
}

// ifMatch reads the revision that the caller saw.
func (v *visit) ifMatch(r *request) *core.Error {
	h := strings.TrimSpace(v.r.Header.Get("If-Match"))
	if h == "" {
		return nil
	}
	if h == "*" {
		r.ifAny = true
		return nil
	}
	rev, err := strconv.ParseUint(strings.Trim(h, `"`), 10, 64)
	if err != nil || rev == 0 {
		return violation(`If-Match must be one revision in quotes, such as "42"`)
	}
	r.IfRevision = rev
	return nil
}

// finish writes the answer to an act.
func (v *visit) finish(out *outcome) {
	h := v.w.Header()
	if out.claimID != "" {
		h.Set("Location", v.s.base+"claims/"+url.PathEscape(out.claimID))
	}
	if out.object > 0 {
		h.Set("ETag", etag(out.object))
	}
	if out.replayed {
		h.Set("Idempotency-Replayed", "true")
	}
	v.write(out.status, withRevision(out.body, out.revision))
}

func etag(revision uint64) string { return `"` + strconv.FormatUint(revision, 10) + `"` }

// withRevision puts the revision, which was not known when the body was made,
// into an object that has at least one member.
func withRevision(body []byte, revision uint64) []byte {
	var b bytes.Buffer
	b.WriteString(`{"revision":`)
	b.WriteString(strconv.FormatUint(revision, 10))
	b.WriteByte(',')
	b.Write(body[1:])
	return b.Bytes()
}

func (v *visit) write(status int, body []byte) {
	h := v.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	v.w.WriteHeader(status)
	_, _ = v.w.Write(body) // a client that hung up is no fault of ours
}

// reply writes a read's answer.
func (v *visit) reply(body any) {
	b, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		v.s.log.Error("an answer could not be written", "path", v.r.URL.Path, "error", err)
		v.refuse(core.Errorf(core.CodeInternal, "the answer could not be made"))
		return
	}
	v.write(http.StatusOK, b)
}

type errorBody struct {
	ProtocolVersion string      `json:"protocol_version"`
	Error           errorMember `json:"error"`
}

type errorMember struct {
	Code       core.Code      `json:"code"`
	Message    string         `json:"message"`
	RetryAfter int64          `json:"retry_after_seconds,omitzero"`
	Details    map[string]any `json:"details,omitzero"`
}

// refuse writes the one error shape (H-061..H-066).
func (v *visit) refuse(e *core.Error) {
	if v.w.status != 0 {
		return // the answer has begun already
	}
	b := errorJSON(e)
	if e.RetryAfterSeconds > 0 {
		v.w.Header().Set("Retry-After", strconv.FormatInt(e.RetryAfterSeconds, 10))
	}
	v.write(e.HTTPStatus(), b)
}

// errorJSON is the body of a refusal.
func errorJSON(e *core.Error) []byte {
	b, err := json.Marshal(errorBody{core.ProtocolVersion, errorMember{e.Code, e.Message, e.RetryAfterSeconds, e.Details}}, json.Deterministic(true))
	if err != nil {
		return []byte(`{"protocol_version":"acop/1.0","error":{"code":"internal_error","message":"the answer could not be made"}}`)
	}
	return b
}
