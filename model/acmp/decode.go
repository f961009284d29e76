package acmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var errNotNumber = errors.New("a number is needed")

// decoding takes the bytes of payloads as they are, and a price as a number alone
// (3.1, 3.2), with the digits it was written with.
var decoding = jsonv2.JoinOptions(
	jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true),
	jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, n *json.Number) error {
		v, err := d.ReadValue()
		switch {
		case err != nil:
			return err
		case v.Kind() == 'n':
			*n = ""
		case v.Kind() == '0':
			*n = json.Number(v)
		default:
			return errNotNumber
		}
		return nil
	})),
)

// Decode reads a part of a message of a peer into v. Names match to the letter, so
// that no two readers of a message take it for different things; members that v does
// not have are ignored, of a member that comes twice the last counts, and null counts
// as absent. [DecodeProblem] says what an error means.
func Decode(raw []byte, v any) error {
	return jsonv2.Unmarshal(raw, v, decoding)
}

// DecodeProblem says in plain words why params could not be read, without the
// decoder's types.
func DecodeProblem(err error) string {
	var se *jsonv2.SemanticError
	if errors.As(err, &se) {
		field := strings.ReplaceAll(strings.TrimPrefix(string(se.JSONPointer), "/"), "/", ".")
		if field != "" && len(field) < 80 {
			return field + " has the wrong type"
		}
	}
	return "params cannot be read"
}

// decodeObject is [Decode] for params, which must be an object; the problem is "" where
// they could be read.
func decodeObject(raw []byte, v any) (problem string) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return "params must be an object"
	}
	if err := Decode(raw, v); err != nil {
		return DecodeProblem(err)
	}
	return ""
}
