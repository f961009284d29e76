package acop

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"

	core "signalbox/model/acop"
)

const (
	maxDepth     = 64
	bodyPatience = 10 * time.Second // for a sender to finish its body (B87)
)

// readBody reads a request body of bounded size. Spaces behind the value do not
// count, within reason (B69).
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *core.Error) {
	tooLarge := core.Errorf(core.CodeTooLarge, "the body is larger than %d bytes", limit)
	if r.ContentLength > 2*limit {
		w.Header().Set("Connection", "close")
		return nil, tooLarge
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, core.Errorf(core.CodeMediaType, "the body must not be compressed")
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyPatience)) // not every writer has one
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 2*limit))
	_ = rc.SetReadDeadline(time.Time{})
	var mbe *http.MaxBytesError
	switch {
	case errors.As(err, &mbe):
		return nil, tooLarge
	case err != nil:
		w.Header().Set("Connection", "close")
		return nil, violation("the body could not be read to its end")
	}
	body = bytes.TrimRight(body, " \t\r\n")
	if int64(len(body)) > limit {
		return nil, tooLarge
	}
	if len(body) == 0 {
		return nil, violation("the body is empty; it must be a JSON object")
	}
	mt, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mt != "application/json" {
		return nil, core.Errorf(core.CodeMediaType, "Content-Type must be application/json")
	}
	return body, nil
}

// checkJSON demands one JSON object: valid UTF-8, no duplicate names at any
// depth, no NUL, bounded depth, numbers of a size that stays harmless, and
// nothing behind it (B67..B74, B87).
func checkJSON(body []byte) *core.Error {
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	if dec.PeekKind() != '{' {
		return violation("the body must be a JSON object")
	}
	for {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return violation("the body is not valid JSON: %s", jsonFault(err))
		}
		switch tok.Kind() {
		case '"':
			if strings.ContainsRune(tok.String(), 0) {
				return violation("text with a NUL character is not accepted")
			}
		case '0':
			if !harmless(tok.String()) {
				return violation("a number is out of range")
			}
		case '{', '[':
			if dec.StackDepth() > maxDepth {
				return violation("the body is nested deeper than %d", maxDepth)
			}
		case '}':
			if dec.StackDepth() == 0 {
				if len(bytes.TrimSpace(body[dec.InputOffset():])) > 0 {
					return violation("there is something behind the JSON object")
				}
				return nil
			}
		}
	}
}

// jsonFault names the kind of fault without quoting the body.
func jsonFault(err error) string {
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "a name occurs twice in one object"
	case strings.Contains(err.Error(), "UTF-8"), strings.Contains(err.Error(), "surrogate"):
		return "text is not valid UTF-8"
	}
	var se *jsontext.SyntacticError
	if errors.As(err, &se) {
		return "at byte " + strconv.FormatInt(se.ByteOffset, 10)
	}
	return "it ends too early"
}

// harmless tells whether a number literal can be computed with cheaply.
func harmless(lit string) bool {
	if len(lit) > 100 {
		return false
	}
	if i := strings.IndexAny(lit, "eE"); i >= 0 && len(strings.TrimLeft(lit[i+1:], "+-0")) > 3 {
		return false
	}
	_, err := strconv.ParseFloat(lit, 64)
	return err == nil
}

var versionForm = regexp.MustCompile(`^acop/(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$`)

func unsupported(msg string) *core.Error {
	return core.Errorf(core.CodeUnsupportedVersion, "%s", msg).With("max_supported_version", core.ProtocolVersion)
}

// parseVersion judges one protocol_version member (D-26). newer tells that a
// higher minor version is asked for.
func parseVersion(raw jsontext.Value, where string) (newer bool, refused *core.Error) {
	var v string
	if raw == nil {
		return false, violation("%s is missing", where)
	}
	if raw.Kind() != '"' || json.Unmarshal(raw, &v) != nil {
		return false, violation("%s must be a string", where)
	}
	m := versionForm.FindStringSubmatch(v)
	if m == nil || m[1] != "1" {
		return false, unsupported(where + " is not supported; this owner speaks " + core.ProtocolVersion)
	}
	return m[2] != "0", nil
}

// envelope is a body with the version judged and lifted off.
type envelope struct {
	members map[string]jsontext.Value
	newer   bool
}

// open judges the version of a checked body.
func openEnvelope(body []byte) (*envelope, *core.Error) {
	env := &envelope{}
	if err := json.Unmarshal(body, &env.members); err != nil {
		return nil, violation("the body is not valid JSON")
	}
	newer, refused := parseVersion(env.members["protocol_version"], "protocol_version")
	if refused != nil {
		return nil, refused
	}
	delete(env.members, "protocol_version")
	env.newer = newer
	return env, nil
}

// check validates the members against a schema. For a newer minor version,
// unknown members mean that this owner is too old, not that the body is wrong.
func (e *envelope) check(name string, v any) *core.Error {
	body, err := json.Marshal(e.members, json.Deterministic(true))
	if err != nil {
		return violation("the body is not valid JSON")
	}
	if se := validate(name, body); se != nil {
		if e.newer && se.onlyUnknown {
			return unsupported("the body has members of a newer version: " + se.text)
		}
		return violation("%s", se.text)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return violation("%s", fault(err))
	}
	return nil
}

// fault names the place of a value that has the right type and still cannot be
// taken, such as 30.0 seconds or a date with an offset.
func fault(err error) string {
	var se *json.SemanticError
	if errors.As(err, &se) && se.JSONPointer != "" {
		return clip(strings.ReplaceAll(strings.Trim(string(se.JSONPointer), "/"), "/", "."), 80) + " has a form that is not accepted"
	}
	return "a value has a form that is not accepted"
}

// fingerprint hashes the canonical form of a body (RFC 8785).
func fingerprint(body []byte) string {
	canon, err := jcs.Transform(body)
	if err != nil {
		canon = body
	}
	h := sha256.Sum256(canon)
	return hex.EncodeToString(h[:])
}
