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
	body, err := readAll(http.MaxBytesReader(w, r.Body, 2*limit), r.ContentLength)
	if err == nil { // else it stays: net/http would wait for the rest of the body without end
		_ = rc.SetReadDeadline(time.Time{})
	}
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
	if !isJSON(r.Header.Get("Content-Type")) {
		return nil, core.Errorf(core.CodeMediaType, "Content-Type must be application/json")
	}
	return body, nil
}

// readAll reads to the end into room for a body of the announced size, which may
// be wrong; -1 means that none was announced.
func readAll(r io.Reader, announced int64) ([]byte, error) {
	const usual = 512 // and for the read that finds the end
	b := bytes.NewBuffer(make([]byte, 0, usual+min(max(announced, 0), 64<<10)))
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}

func isJSON(contentType string) bool {
	const want = "application/json"
	if contentType == want {
		return true
	}
	mt, _, err := mime.ParseMediaType(contentType)
	return err == nil && mt == want
}

var versionForm = regexp.MustCompile(`^acop/(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$`)

func unsupported(msg string) *core.Error {
	return core.Errorf(core.CodeUnsupportedVersion, "%s", msg).With("max_supported_version", core.ProtocolVersion)
}

// parseVersion judges one protocol_version member (D-26). newer tells that a
// higher minor version is asked for.
func parseVersion(raw jsontext.Value, where string) (newer bool, refused *core.Error) {
	if string(raw) == `"`+core.ProtocolVersion+`"` { // as nearly everybody says it
		return false, nil
	}
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

// fingerprint hashes the canonical form of a body (RFC 8785).
func fingerprint(body []byte) string {
	canon, err := jcs.Transform(body)
	if err != nil {
		canon = body
	}
	h := sha256.Sum256(canon)
	return hex.EncodeToString(h[:])
}
