package acmp

import (
	"bytes"
	"unicode/utf8"
)

// Joiner turns the chunks of a stream into bytes as they come: text decoded,
// base64 decoded, any other value as its JSON. A character outside the basic
// plane that was cut between its two escapes ("\ud83d" | "\ude00") becomes whole
// again, which [Payload.Raw] cannot do. The zero Joiner is ready; it is not safe
// for concurrent use.
type Joiner struct {
	high rune // the first half of a pair, waiting for the second; 0 = none
}

// Append adds what p stands for to dst. The first half of a pair at the end of a
// text is held back.
func (j *Joiner) Append(dst []byte, p Payload) []byte {
	if classOf(p.Type) != classText {
		return append(j.Flush(dst), p.Raw()...)
	}
	data := bytes.TrimSpace(p.Data)
	switch {
	case string(data) == "null":
		return dst
	case len(data) < 2 || data[0] != '"' || data[len(data)-1] != '"':
		return append(j.Flush(dst), p.Data...)
	}
	return j.text(dst, data[1:len(data)-1])
}

// Flush adds U+FFFD for a half that stayed alone. It ends the text; the Joiner
// can be used again.
func (j *Joiner) Flush(dst []byte) []byte {
	if j.high == 0 {
		return dst
	}
	j.high = 0
	return utf8.AppendRune(dst, utf8.RuneError)
}

func (j *Joiner) text(dst, s []byte) []byte {
	for len(s) > 0 {
		n := bytes.IndexByte(s, '\\')
		if n < 0 {
			n = len(s)
		}
		if n > 0 {
			dst = append(j.Flush(dst), s[:n]...)
			s = s[n:]
			continue
		}
		if len(s) < 2 {
			return append(j.Flush(dst), s...) // no JSON; as it is
		}
		if s[1] == 'u' && len(s) >= 6 {
			dst, s = j.unit(dst, hex4(s[2:6])), s[6:]
			continue
		}
		dst, s = append(j.Flush(dst), unescape(s[1])), s[2:]
	}
	return dst
}

// unit adds one UTF-16 unit.
func (j *Joiner) unit(dst []byte, u rune) []byte {
	const first, low, last = 0xd800, 0xdc00, 0xdfff
	switch {
	case u >= low && u <= last && j.high != 0:
		r := 0x10000 + (j.high-first)<<10 + (u - low)
		j.high = 0
		return utf8.AppendRune(dst, r)
	case u >= first && u < low:
		dst = j.Flush(dst)
		j.high = u
		return dst
	}
	return utf8.AppendRune(j.Flush(dst), u) // U+FFFD for a second half alone
}

func hex4(b []byte) rune {
	var r rune
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return utf8.RuneError
		}
		r = r<<4 | rune(c)
	}
	return r
}

func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}
