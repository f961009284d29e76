package text

import "unicode/utf8"

const esc = '\x1b'

// seqState says what a byte position that may begin a terminal sequence holds.
type seqState int

const (
	seqNone    seqState = iota // not the start of a sequence that can be finished
	seqWhole                   // a whole sequence of n bytes
	seqPartial                 // the text ends inside the sequence
)

// introducer reads the start of a terminal sequence at s[0]: ESC and a byte, or
// its one-character C1 form in UTF-8. It returns the 7-bit second byte and the
// length of the introducer; n is 0 when s does not begin one, and kind is 0 when
// s ends before it is known.
func introducer(s string) (kind byte, n int) {
	if s[0] == esc {
		if len(s) == 1 {
			return 0, 1
		}
		return s[1], 2
	}
	if s[0] == 0xc2 && len(s) > 1 && s[1] >= 0x80 && s[1] <= 0x9f {
		return s[1] - 0x40, 2
	}
	return 0, 0
}

// sequence measures the terminal sequence that s begins with, by ECMA-48 with
// what terminals add to it: CSI, the string sequences (OSC, DCS, SOS, PM, APC)
// and plain escapes. sgr reports a CSI ending in m without intermediates.
func sequence(s string) (state seqState, n int, sgr bool) {
	kind, n := introducer(s)
	switch {
	case n == 0:
		return seqNone, 0, false
	case kind == 0:
		return seqPartial, n, false
	case kind == '[':
		return csi(s, n)
	case stringKind(kind):
		state, n = stringSequence(s, n)
		return state, n, false
	case s[0] != esc:
		return seqNone, 0, false // a lone C1 control such as NEL
	}
	return plainEscape(s)
}

// stringKind reports the introducers of OSC, DCS, SOS, PM and APC.
func stringKind(kind byte) bool {
	return kind == ']' || kind == 'P' || kind == 'X' || kind == '^' || kind == '_'
}

func stringStart(s string) bool {
	kind, n := introducer(s)
	return n > 0 && stringKind(kind)
}

func csi(s string, i int) (seqState, int, bool) {
	start := i
	for i < len(s) && s[i] >= 0x30 && s[i] <= 0x3f {
		i++
	}
	params := i
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i == len(s) {
		return seqPartial, i, false
	}
	if s[i] < 0x40 || s[i] > 0x7e {
		return seqNone, 0, false
	}
	private := params > start && s[start] >= 0x3c
	return seqWhole, i + 1, s[i] == 'm' && i == params && !private
}

// stringSequence ends at BEL, ST, CAN, SUB or where the next sequence starts,
// as xterm has it.
func stringSequence(s string, i int) (seqState, int) {
	for i < len(s) {
		switch s[i] {
		case '\a', 0x18, 0x1a:
			return seqWhole, i + 1
		case esc:
			if i+1 == len(s) {
				return seqPartial, len(s)
			}
			if s[i+1] == '\\' {
				return seqWhole, i + 2
			}
			return seqWhole, i
		case 0xc2:
			if i+1 < len(s) && s[i+1] == 0x9c {
				return seqWhole, i + 2
			}
		}
		i++
	}
	return seqPartial, len(s)
}

func plainEscape(s string) (seqState, int, bool) {
	i := 1
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i == len(s) {
		return seqPartial, i, false
	}
	if s[i] < 0x30 || s[i] > 0x7e {
		return seqNone, 0, false
	}
	return seqWhole, i + 1, false
}

// control gives the visible stand-in of a control character.
func control(r rune) string {
	switch {
	case r < 0x20:
		return string(0x2400 + r) // ␀ to ␟
	case r == 0x7f:
		return "␡"
	}
	return escaped(r)
}

// escaped spells r as \u202e or \U000e0061; in bytes above 0x7f that are no
// UTF-8, see callers.
func escaped(r rune) string {
	const hex = "0123456789abcdef"
	n, b := 4, []byte(`\u`)
	if r > 0xffff {
		n, b = 8, []byte(`\U`)
	}
	for i := n - 1; i >= 0; i-- {
		b = append(b, hex[(r>>(4*i))&0xf])
	}
	return string(b)
}

// incompleteRune is the length of an unfinished UTF-8 sequence at the end of s.
func incompleteRune(s string) int {
	for n := 1; n <= 3 && n <= len(s); n++ {
		c := s[len(s)-n]
		if c < 0x80 {
			return 0
		}
		if utf8.RuneStart(c) {
			if utf8.FullRuneInString(s[len(s)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}
