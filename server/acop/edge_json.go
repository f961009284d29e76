package acop

import (
	"bytes"
	stdjson "encoding/json" // the numbers that the schemas know
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	core "signalbox/model/acop"
)

// envelope is a body that was read: each member as it was sent, and the same as
// the schemas look at it.
type envelope struct {
	members map[string]jsontext.Value
	tree    map[string]any
	newer   bool // a higher minor version is asked for
}

// set puts a member in the place of what was sent.
func (e *envelope) set(name, text string) {
	raw, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		raw = []byte(`""`) // cannot happen: the callers' texts are constants
	}
	e.members[name], e.tree[name] = raw, text
}

// readJSON demands one JSON object: valid UTF-8, no duplicate names at any
// depth, no NUL, bounded depth, numbers of a size that stays harmless, and
// nothing behind it (B67..B74, B87). The body is read once; the members share
// its bytes.
func readJSON(body []byte) (*envelope, *core.Error) {
	r := &bodyReader{body: body, dec: jsontext.NewDecoder(bytes.NewBuffer(body))}
	if r.dec.PeekKind() != '{' {
		return nil, violation("the body must be a JSON object")
	}
	e := &envelope{members: map[string]jsontext.Value{}}
	tree, refused := r.value(e.members)
	if refused != nil {
		return nil, refused
	}
	if len(bytes.TrimSpace(body[r.dec.InputOffset():])) > 0 {
		return nil, violation("there is something behind the JSON object")
	}
	e.tree, _ = tree.(map[string]any)
	return e, nil
}

// bodyReader reads the values of one body.
type bodyReader struct {
	body []byte
	dec  *jsontext.Decoder
}

// value reads the next value. members, if not nil, gets the bytes of the members
// of an object.
func (r *bodyReader) value(members map[string]jsontext.Value) (any, *core.Error) {
	tok, text, refused := r.token()
	if refused != nil {
		return nil, refused
	}
	switch tok.Kind() {
	case '"':
		return text, nil
	case '0':
		return stdjson.Number(text), nil
	case 't', 'f':
		return tok.Bool(), nil
	case '{':
		return r.object(members)
	case '[':
		list := []any{}
		for r.dec.PeekKind() != ']' {
			v, refused := r.value(nil)
			if refused != nil {
				return nil, refused
			}
			list = append(list, v)
		}
		_, _, refused := r.token()
		return list, refused
	}
	return nil, nil
}

func (r *bodyReader) object(members map[string]jsontext.Value) (any, *core.Error) {
	object := map[string]any{}
	for r.dec.PeekKind() != '}' {
		_, name, refused := r.token()
		if refused != nil {
			return nil, refused
		}
		from := r.dec.InputOffset()
		v, refused := r.value(nil)
		if refused != nil {
			return nil, refused
		}
		object[name] = v
		if members != nil {
			members[name] = bytes.TrimLeft(r.body[from:r.dec.InputOffset()], ": \t\r\n")
		}
	}
	_, _, refused := r.token()
	return object, refused
}

// token reads one token and judges it by itself. text is that of a string or a
// number.
func (r *bodyReader) token() (tok jsontext.Token, text string, refused *core.Error) {
	tok, err := r.dec.ReadToken()
	if err != nil {
		return tok, "", violation("the body is not valid JSON: %s", jsonFault(err))
	}
	switch tok.Kind() {
	case '"':
		if text = tok.String(); strings.ContainsRune(text, 0) {
			return tok, "", violation("text with a NUL character is not accepted")
		}
	case '0':
		if text = tok.String(); !harmless(text) {
			return tok, "", violation("a number is out of range")
		}
	case '{', '[':
		if r.dec.StackDepth() > maxDepth {
			return tok, "", violation("the body is nested deeper than %d", maxDepth)
		}
	}
	return tok, text, nil
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

// version judges the protocol_version of a body and lifts it off.
func (e *envelope) version() *core.Error {
	newer, refused := parseVersion(e.members["protocol_version"], "protocol_version")
	if refused != nil {
		return refused
	}
	delete(e.members, "protocol_version")
	delete(e.tree, "protocol_version")
	e.newer = newer
	return nil
}

// unwrap replaces the members by those of the nested record, if that is the
// form used.
func (e *envelope) unwrap(name string) *core.Error {
	raw, nested := e.members[name]
	if !nested {
		return nil
	}
	tree, isObject := e.tree[name].(map[string]any)
	if len(e.members) != 1 || !isObject {
		return violation("with %s nothing else may stand beside protocol_version, and it must be an object", name)
	}
	e.members, e.tree = nil, tree
	if err := json.Unmarshal(raw, &e.members); err != nil {
		return violation("%s is not valid", name)
	}
	return nil
}

// check validates the members against a schema and reads them into v. For a
// newer minor version, unknown members mean that this owner is too old, not that
// the body is wrong.
func (e *envelope) check(name string, v any) *core.Error {
	if se := validate(name, e.tree); se != nil {
		if e.newer && se.onlyUnknown {
			return unsupported("the body has members of a newer version: " + se.text)
		}
		return violation("%s", se.text)
	}
	if err := json.Unmarshal(e.bytes(), v); err != nil {
		return violation("%s", fault(err))
	}
	return nil
}

// bytes is the body that the members make, in the order of their names, so that
// of several faults always the same one is told.
func (e *envelope) bytes() []byte {
	b := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(e.members)) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, name) // valid: it was read
		b = append(append(b, ':'), e.members[name]...)
	}
	return append(b, '}')
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
