package acop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	core "signalbox/model/acop"
	"signalbox/model/acop/schema"
)

// checked demands JSON and the schemas of every answer (H-001, H-002, H-008,
// H-061, H-065, C-088).
func (b *box) checked(method, path string, resp *http.Response, raw []byte) (reply, error) {
	r := reply{status: resp.StatusCode, header: resp.Header, raw: raw}
	where := fmt.Sprintf("%s %s: %d %s", method, path, resp.StatusCode, raw)
	if ct := resp.Header.Get("Content-Type"); ct != "application/json" {
		return r, fmt.Errorf("%s: Content-Type %q", where, ct)
	}
	if method == http.MethodHead {
		return r, nil
	}
	for who, token := range b.tokens { // H-064, B105
		if bytes.Contains(raw, []byte(token)) || bytes.Contains(raw, []byte("goroutine ")) {
			return r, fmt.Errorf("%s: shows the token of %s or a stack", where, who)
		}
	}
	if err := json.Unmarshal(raw, &r.body); err != nil {
		return r, fmt.Errorf("%s: %w", where, err)
	}
	if r.body["protocol_version"] != core.ProtocolVersion {
		return r, fmt.Errorf("%s: no protocol_version", where)
	}
	if odd := oddTime("$", r.body); odd != "" {
		return r, fmt.Errorf("%s: %s", where, odd)
	}
	var err error
	switch {
	case r.status >= 300:
		err = checkShape(answerSchemas()["error"], r.body)
		if info := core.Info(core.Code(r.code())); err == nil && info.Status != r.status { // H-062, H-063
			err = fmt.Errorf("code %q belongs to status %d", r.code(), info.Status)
		}
		if after, given := r.at("error.retry_after_seconds").(float64); given != (resp.Header.Get("Retry-After") != "") ||
			given && fmt.Sprint(after) != resp.Header.Get("Retry-After") {
			err = fmt.Errorf("Retry-After %q and body differ", resp.Header.Get("Retry-After"))
		}
	default:
		for member, name := range map[string]string{"claim": "claim", "work_item": "work_item", "entry": "blackboard_entry"} {
			if v, given := r.body[member]; given && err == nil {
				err = checkShape(answerSchemas()[name], v)
			}
		}
		if _, given := r.body["revision"]; !given {
			err = fmt.Errorf("no revision")
		}
	}
	if err == nil {
		err = b.described(method, path, r)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", where, err)
	}
	return r, nil
}

func checkShape(s *jsonschema.Schema, v any) error { return s.Validate(v) }

var answerSchemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for id, raw := range map[string][]byte{schema.CoreID: schema.Core, schema.ErrorsID: schema.Errors} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			panic(err)
		}
		if err := c.AddResource(id, doc); err != nil {
			panic(err)
		}
	}
	out := map[string]*jsonschema.Schema{"error": c.MustCompile(schema.ErrorsID)}
	for _, n := range []string{"claim", "work_item", "blackboard_entry"} {
		out[n] = c.MustCompile(schema.CoreID + "#/$defs/" + n)
	}
	return out
})

// wireTime is the one form in which times leave the owner (D-54).
var wireTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

// oddTime names a time in an answer that has another form, "" if there is none.
func oddTime(at string, v any) string {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if s, isText := e.(string); isText && strings.HasSuffix(k, "_utc") && !wireTime.MatchString(s) {
				return at + "." + k + " is " + s
			}
			if odd := oddTime(at+"."+k, e); odd != "" {
				return odd
			}
		}
	case []any:
		for _, e := range v {
			if odd := oddTime(at+"[]", e); odd != "" {
				return odd
			}
		}
	}
	return ""
}
