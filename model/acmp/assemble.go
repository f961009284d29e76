package acmp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
)

// ErrTooLarge is what an [Assembler] answers when its limit is reached.
var ErrTooLarge = errors.New("the assembled output is larger than allowed")

// class is how chunks of a type become one output.
type class int

const (
	classText class = iota
	classJSON
	classBytes // base64; also types that are not known
)

func classOf(t string) class {
	t, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(t)), ";")
	switch {
	case t == "text" || strings.HasPrefix(t, "text/"):
		return classText
	case t == "json" || t == "application/json" || strings.HasSuffix(t, "+json"):
		return classJSON
	}
	return classBytes
}

// IsText reports whether a payload of type t holds its text as a JSON string.
func IsText(t string) bool { return classOf(t) == classText }

// IsJSON reports whether a payload of type t holds a JSON value as itself.
func IsJSON(t string) bool { return classOf(t) == classJSON }

// Assembler puts the chunks of a stream together, in the order of seq (D-04):
//
//   - text and text/*: the strings one after the other;
//   - json: the array of the chunks' values, or the value itself of a single one;
//   - other types: the decoded base64 bytes one after the other.
//
// Chunks that do not fit the first one's type, or whose data is not what the
// type says, turn the whole into the array of values: nothing is ever lost. An
// empty text behind chunks of another type only closes the stream. The
// zero Assembler is ready; it is not safe for concurrent use.
type Assembler struct {
	// Limit bounds the bytes of chunk data that are taken; 0 means no bound.
	Limit int

	typ    string
	mixed  bool
	values []json.RawMessage
	size   int
}

// Add takes the next chunk. It fails only with [ErrTooLarge], and then changes
// nothing.
func (a *Assembler) Add(p Payload) error {
	if a.Limit > 0 && a.size+len(p.Data) > a.Limit {
		return ErrTooLarge
	}
	if len(a.values) == 0 {
		a.typ = p.Type
	} else if closesOnly(p) && !IsText(a.typ) {
		return nil
	} else if classOf(p.Type) != classOf(a.typ) {
		a.mixed = true
	}
	data := p.Data
	if len(data) == 0 {
		data = json.RawMessage("null")
	}
	a.values = append(a.values, data)
	a.size += len(data)
	return nil
}

// closesOnly reports whether p is an empty text, which senders use as the final
// chunk of a stream of another type when they learn too late which was the last.
func closesOnly(p Payload) bool {
	return IsText(p.Type) && (len(p.Data) == 0 || string(p.Data) == `""` || string(p.Data) == "null")
}

// Reset forgets everything, for a stream that starts again.
func (a *Assembler) Reset() { *a = Assembler{Limit: a.Limit} }

// Len is the number of bytes of chunk data taken.
func (a *Assembler) Len() int { return a.size }

// Payload is what has been assembled so far; the zero Payload before the first
// chunk.
func (a *Assembler) Payload() Payload {
	if len(a.values) == 0 {
		return Payload{}
	}
	if !a.mixed {
		switch classOf(a.typ) {
		case classText:
			if s, ok := joinStrings(a.values); ok {
				return Payload{Type: a.typ, Data: s}
			}
		case classBytes:
			if s, ok := joinBytes(a.values); ok {
				return Payload{Type: a.typ, Data: s}
			}
		case classJSON:
			return Payload{Type: a.typ, Data: joinValues(a.values)}
		}
	}
	if len(a.values) == 1 {
		return Payload{Type: a.typ, Data: a.values[0]}
	}
	return Payload{Type: "json", Data: joinValues(a.values)}
}

// Assemble puts chunks together in one go; see [Assembler].
func Assemble(chunks []Payload) Payload {
	var a Assembler
	for _, c := range chunks {
		_ = a.Add(c) // without a limit it cannot fail
	}
	return a.Payload()
}

// joinStrings joins JSON strings as they are written, without decoding: a
// character or an escape pair that was cut between two chunks becomes whole
// again. null is an empty string: senders close a stream with it.
func joinStrings(values []json.RawMessage) (json.RawMessage, bool) {
	out := []byte{'"'}
	for _, v := range values {
		v = bytes.TrimSpace(v)
		if string(v) == "null" {
			continue
		}
		if len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
			return nil, false
		}
		out = append(out, v[1:len(v)-1]...)
	}
	return append(out, '"'), true
}

func joinBytes(values []json.RawMessage) (json.RawMessage, bool) {
	var raw []byte
	for _, v := range values {
		b, ok := decodeBase64(v)
		if !ok {
			return nil, false
		}
		raw = append(raw, b...)
	}
	enc, err := json.Marshal(base64.StdEncoding.EncodeToString(raw))
	return enc, err == nil
}

// decodeBase64 reads a JSON string of standard base64, with or without padding;
// null is empty.
func decodeBase64(v json.RawMessage) ([]byte, bool) {
	var s *string
	if json.Unmarshal(v, &s) != nil {
		return nil, false
	}
	if s == nil {
		return nil, true
	}
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(*s, "="))
	return b, err == nil
}

func joinValues(values []json.RawMessage) json.RawMessage {
	if len(values) == 1 {
		return values[0]
	}
	return append(append([]byte{'['}, bytes.Join(rawBytes(values), []byte{','})...), ']')
}

func rawBytes(values []json.RawMessage) [][]byte {
	out := make([][]byte, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// Text makes a text payload.
func Text(s string) Payload {
	b, _ := json.Marshal(s) // a string always marshals
	return Payload{Type: "text", Data: b}
}

// Bytes makes a payload of type t that carries raw as base64.
func Bytes(t string, raw []byte) Payload {
	b, _ := json.Marshal(base64.StdEncoding.EncodeToString(raw))
	return Payload{Type: t, Data: b}
}

// Text is the payload's text where its data is a JSON string.
func (p Payload) Text() (string, bool) {
	var s *string
	if json.Unmarshal(p.Data, &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

// Raw is what the payload stands for as bytes: the text of a text payload, the
// decoded bytes of a base64 one, the JSON itself of anything else.
func (p Payload) Raw() []byte {
	switch classOf(p.Type) {
	case classText:
		if s, ok := p.Text(); ok {
			return []byte(s)
		}
	case classBytes:
		if b, ok := decodeBase64(p.Data); ok {
			return b
		}
	}
	return p.Data
}
