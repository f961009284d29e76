package acmp

import (
	"bytes"
	"encoding/json"

	"signalbox/model/acmp"
)

// chunkScan reads acmp/streamChunk in its usual form in one pass over the bytes:
// the decoder that reads every message costs four times as much, and chunks are
// nearly all there is to read. What is not plainly of that form (other members,
// escapes in names, a member twice, numbers with a fraction, bad syntax) is left
// to the decoder, which decides what it is worth.
type chunkScan struct {
	b []byte
	i int

	taskID, typ, data []byte // parts of b
	seq               int64
	final             bool
	have              members
}

// members are the parts of a message that were seen.
type members uint16

const (
	hasVersion members = 1 << iota
	hasMethod
	hasParams
	hasTaskID
	hasSeq
	hasChunk
	hasFinal
	hasType
	hasData
	hasAll = hasData<<1 - 1
)

// scan reports whether b, which must be valid UTF-8, is a chunk of the usual
// form; the parts are then set and share its memory.
func (s *chunkScan) scan(b []byte) bool {
	*s = chunkScan{b: b}
	s.space()
	if !s.object((*chunkScan).message) || s.have != hasAll {
		return false
	}
	s.space()
	return s.i == len(b)
}

func (s *chunkScan) message(key []byte) bool {
	switch string(key) {
	case "jsonrpc":
		v, ok := s.word()
		return ok && string(v) == "2.0" && s.once(hasVersion)
	case "method":
		v, ok := s.word()
		return ok && string(v) == acmp.MethodStreamChunk && s.once(hasMethod)
	case "params":
		return s.object((*chunkScan).params) && s.once(hasParams)
	}
	return false
}

func (s *chunkScan) params(key []byte) (ok bool) {
	switch string(key) {
	case "task_id":
		s.taskID, ok = s.word()
		return ok && s.once(hasTaskID)
	case "seq":
		return s.number() && s.once(hasSeq)
	case "chunk":
		return s.object((*chunkScan).payload) && s.once(hasChunk)
	case "final":
		return s.boolean() && s.once(hasFinal)
	}
	return false
}

func (s *chunkScan) payload(key []byte) (ok bool) {
	switch string(key) {
	case "type":
		s.typ, ok = s.word()
		return ok && len(s.typ) > 0 && s.once(hasType)
	case "data":
		return s.value() && s.once(hasData)
	}
	return false
}

func (s *chunkScan) once(m members) bool {
	if s.have&m != 0 {
		return false
	}
	s.have |= m
	return true
}

// object reads an object of at least one member.
func (s *chunkScan) object(member func(s *chunkScan, key []byte) bool) bool {
	if !s.eat('{') {
		return false
	}
	for {
		s.space()
		key, ok := s.word()
		if !ok {
			return false
		}
		s.space()
		if !s.eat(':') {
			return false
		}
		s.space()
		if !member(s, key) {
			return false
		}
		s.space()
		switch {
		case s.eat(','):
		case s.eat('}'):
			return true
		default:
			return false
		}
	}
}

func (s *chunkScan) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

func (s *chunkScan) eat(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// word reads a string without escapes and gives what is between the quotes.
func (s *chunkScan) word() ([]byte, bool) {
	if !s.eat('"') {
		return nil, false
	}
	start := s.i
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.b[start : s.i-1], true
		case c == '\\' || c < ' ':
			return nil, false
		}
	}
	return nil, false
}

// number reads a whole number of at most 18 digits.
func (s *chunkScan) number() bool {
	start, n := s.i, int64(0)
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		n = 10*n + int64(s.b[s.i]-'0')
		s.i++
	}
	digits := s.i - start
	s.seq = n
	return digits > 0 && digits <= 18 && (s.b[start] != '0' || digits == 1)
}

func (s *chunkScan) boolean() bool {
	rest := s.b[s.i:]
	switch {
	case len(rest) >= 4 && string(rest[:4]) == "true":
		s.final = true
		s.i += 4
		return true
	case len(rest) >= 5 && string(rest[:5]) == "false":
		s.i += 5
		return true
	}
	return false
}

// value reads any JSON value.
func (s *chunkScan) value() bool {
	start := s.i
	if s.i < len(s.b) && s.b[s.i] == '"' {
		if !s.text() {
			return false
		}
		s.data = s.b[start:s.i]
		return true
	}
	if !s.extent() {
		return false
	}
	s.data = bytes.TrimSpace(s.b[start:s.i])
	return json.Valid(s.data)
}

// text reads a string with all that JSON allows in it.
func (s *chunkScan) text() bool {
	for s.i++; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return true
		case c < ' ':
			return false
		case c == '\\':
			if !s.escape() {
				return false
			}
		}
	}
	return false
}

// escape reads what follows a backslash and stays on its last byte.
func (s *chunkScan) escape() bool {
	s.i++
	if s.i >= len(s.b) {
		return false
	}
	switch s.b[s.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		if s.i+4 >= len(s.b) {
			return false
		}
		for range 4 {
			s.i++
			switch c := s.b[s.i]; {
			case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
			default:
				return false
			}
		}
		return true
	}
	return false
}

// extent finds the end of a value that is no string; whether it is well formed
// is not judged.
func (s *chunkScan) extent() bool {
	for depth := 0; s.i < len(s.b); {
		switch s.b[s.i] {
		case '"':
			if !s.text() {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return true // of the object around it
			}
		case ',':
			if depth == 0 {
				return true
			}
		}
		s.i++
	}
	return false
}
