package input

import (
	"regexp"
	"unicode/utf8"
)

// The bytes that begin and end sequences.
const (
	esc = 0x1b
	bel = 0x07
)

// Sequences that the Reader itself knows.
const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	escapeKey  = "\x1b[27u"
)

// pressed reports whether b, which came a while behind an escape, is a key of its
// own and not the rest of a report that was torn there: those come in one piece from
// the first byte on, and a bracket alone may be the start of one.
func pressed(b []byte) bool {
	switch b[0] {
	case '[':
		return false
	case ']', 'P', '_', '^', 'X', 'O':
		return len(b) == 1
	}
	return true
}

// next is the length of the first unit of b: a character or a sequence. It is 0
// when the unit is not complete.
func next(b []byte) int {
	switch {
	case b[0] == esc:
		return sequence(b)
	case b[0] < utf8.RuneSelf:
		return 1
	case !utf8.FullRune(b):
		return 0
	}
	_, n := utf8.DecodeRune(b)
	return n
}

func sequence(b []byte) int {
	if len(b) == 1 {
		return 0
	}
	switch b[1] {
	case '[':
		return csi(b)
	case ']', 'P', '_', '^', 'X':
		return text(b)
	case 'O':
		return atLeast(b, 3)
	case esc:
		return 1
	}
	if n := next(b[1:]); n > 0 {
		return 1 + n
	}
	return 0
}

func atLeast(b []byte, n int) int {
	if len(b) < n {
		return 0
	}
	return n
}

// csi is the length of a control sequence; one with a byte that cannot stand in
// it ends before that byte.
func csi(b []byte) int {
	if len(b) == 2 {
		return 0
	}
	switch b[2] {
	case 'M': // a mouse report of the oldest kind: three bytes follow
		return atLeast(b, 6)
	case '[': // function keys of the Linux console
		return atLeast(b, 4)
	}
	for i := 2; i < len(b); i++ {
		switch c := b[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x7e:
			return i
		}
	}
	return 0
}

// text is the length of a sequence that carries text up to its terminator.
func text(b []byte) int {
	for i := 2; i < len(b); i++ {
		switch {
		case b[i] == bel:
			return i + 1
		case b[i] != esc:
		case i+1 == len(b):
			return 0
		case b[i+1] == '\\':
			return i + 2
		default:
			return i
		}
	}
	return 0
}

// tail matches what is left of a report whose escape has already gone through as
// a key, with its second byte or without: mouse, device attributes, cursor position,
// colour, capabilities.
var tail = regexp.MustCompile(`^(?:\[?<\d+;\d+;\d+[Mm]|\[?\?[\d;$]+[A-Za-z]|\[?\d+;\d+R|` +
	`\]?\d+;rgb:[0-9a-fA-F/]+(?:\x07|\x1b\\)|P?[01]\+r[0-9a-fA-F=;]*(?:\x07|\x1b\\))`)

// rest is the length of what still belongs to a broken sequence of kind at the
// start of b, and whether it ends there. The byte before b was last.
func rest(kind, last byte, b []byte) (n int, ended bool) {
	if kind == '[' {
		for i, c := range b {
			switch {
			case c >= 0x40 && c <= 0x7e:
				return i + 1, true
			case c < 0x20 || c > 0x7e:
				return i, true
			}
		}
		return len(b), false
	}
	for i, c := range b {
		switch {
		case c == bel, c == '\\' && last == esc:
			return i + 1, true
		}
		last = c
	}
	return len(b), false
}
