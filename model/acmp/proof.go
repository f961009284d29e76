package acmp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"
)

// ProofResultHash is the only proof method this program knows: a hash over the
// output object {type, data} (layer 3, D-19).
const ProofResultHash = "result-hash"

// The findings of [CheckProof].
const (
	ProofNone      = ""
	ProofMatches   = "matches"
	ProofMatchesPy = "matches (python form)"
	ProofDiffers   = "does not match"
	ProofUnchecked = "cannot be checked"
	hashPrefix     = "sha256:"
	maxProofDepth  = 512
)

// ResultHash is "sha256:" and the hex digest of the canonical form (RFC 8785) of
// output as {type, data}. It fails on data that has no canonical form, such as
// numbers beyond a double or broken JSON.
func ResultHash(output Payload) (string, error) {
	raw, err := json.Marshal(output)
	if err != nil {
		return "", fmt.Errorf("the output is not JSON: %w", err)
	}
	canonical, err := jcs.Transform(raw)
	if err != nil {
		return "", fmt.Errorf("the output has no canonical form: %w", err)
	}
	return digest(canonical), nil
}

// PythonHash is the hash as the public Python reference makes it: over
// json.dumps with sorted keys, no spaces and ASCII only.
func PythonHash(output Payload) (string, error) {
	raw, err := json.Marshal(output)
	if err != nil {
		return "", fmt.Errorf("the output is not JSON: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", fmt.Errorf("the output is not JSON: %w", err)
	}
	b, err := appendPython(nil, v, 0)
	if err != nil {
		return "", err
	}
	return digest(b), nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hashPrefix + hex.EncodeToString(sum[:])
}

// CheckProof holds a result's proof against our own hash of output. requested is
// the proof_method of the invoke. Nothing requested and nothing given is
// [ProofNone]; a proof of another method than the requested one, or none where
// one was requested, does not match.
func CheckProof(p *Proof, requested string, output Payload) string {
	switch {
	case p == nil && requested == "":
		return ProofNone
	case p == nil || requested != "" && p.Method != requested:
		return ProofDiffers
	case p.Method != ProofResultHash:
		return ProofUnchecked
	case !wellFormedHash(p.Hash):
		return ProofDiffers
	}
	h, errJCS := ResultHash(output)
	if errJCS == nil && h == p.Hash {
		return ProofMatches
	}
	py, errPy := PythonHash(output)
	if errPy == nil && py == p.Hash {
		return ProofMatchesPy
	}
	if errJCS != nil {
		return ProofUnchecked
	}
	return ProofDiffers
}

func wellFormedHash(h string) bool {
	digits, ok := strings.CutPrefix(h, hashPrefix)
	if !ok || len(digits) != 2*sha256.Size {
		return false
	}
	return strings.Trim(digits, "0123456789abcdef") == ""
}

// appendPython writes v as Python's json.dumps(v, sort_keys=True,
// separators=(",", ":")) does.
func appendPython(b []byte, v any, depth int) ([]byte, error) {
	if depth > maxProofDepth {
		return nil, fmt.Errorf("the output is nested too deeply to be hashed")
	}
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return appendPythonString(b, v), nil
	case json.Number:
		return appendPythonNumber(b, v)
	case []any:
		return appendPythonList(b, v, depth)
	case map[string]any:
		return appendPythonDict(b, v, depth)
	}
	return nil, fmt.Errorf("the output holds a value of an unknown kind")
}

func appendPythonList(b []byte, v []any, depth int) ([]byte, error) {
	var err error
	b = append(b, '[')
	for i, e := range v {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendPython(b, e, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendPythonDict(b []byte, v map[string]any, depth int) ([]byte, error) {
	keys := make([]string, 0, len(v))
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys) // by UTF-8 bytes, which is Python's order by code point
	var err error
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendPythonString(b, k), ':')
		if b, err = appendPython(b, v[k], depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendPythonString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r >= 0x20 && r <= 0x7e:
			b = append(b, byte(r))
		case r >= 0x10000:
			r -= 0x10000
			b = fmt.Appendf(b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return append(b, '"')
}

// appendPythonNumber keeps integers as they are (Python's are unbounded) and
// writes floats as repr does: shortest digits, exponent form below 1e-4 and from
// 1e16, always with a point or an exponent.
func appendPythonNumber(b []byte, n json.Number) ([]byte, error) {
	s := string(n)
	if !strings.ContainsAny(s, ".eE") {
		if s == "-0" {
			s = "0"
		}
		return append(b, s...), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, fmt.Errorf("the output holds a number that is no double")
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(b, f, 'e', -1, 64), nil
	}
	at := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if !bytes.ContainsRune(b[at:], '.') {
		b = append(b, ".0"...)
	}
	return b, nil
}
