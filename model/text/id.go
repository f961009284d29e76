package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ID makes s fit for one row where every character counts: ids, paths, commands,
// branches, approvals (B99, B100). Printable ASCII stays; letters of other
// scripts stay where they cannot be taken for Latin ones; everything else is
// shown escaped, like \u202e, and bytes that are no UTF-8 like \xff. A backslash
// of s that could be read as such an escape is doubled.
func ID(s string) string {
	if printable(s) && strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		n := wordEnd(s)
		if n > 0 {
			idWord(&b, s[:n])
			s = s[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		idRune(&b, r, s[:size], s[size:])
		s = s[size:]
	}
	return b.String()
}

// wordEnd is the length of the run of letters, marks and digits s begins with.
func wordEnd(s string) int {
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !mark(r) {
			return i
		}
	}
	return len(s)
}

// idWord writes one word. Letters beyond Latin-1 are shown when the word is of
// one piece (no Latin letters in it) and at least one of its letters is unlike
// any Latin letter, so that a Russian file name can be read while a lone
// Cyrillic "а" in worker-а cannot hide.
func idWord(b *strings.Builder, w string) {
	latin, distinct := false, false
	for _, r := range w {
		latin = latin || r <= 0xff && unicode.IsLetter(r)
		distinct = distinct || r > 0xff && unicode.IsLetter(r) && !lookalike(r)
	}
	for _, r := range w {
		if r < 0x7f || latinSupplement(r) || readable(r) && !latin && distinct {
			b.WriteRune(r)
		} else {
			writeEscaped(b, r, "")
		}
	}
}

// latinSupplement reports the accented letters of Latin-1, which are single
// characters and look like nothing else.
func latinSupplement(r rune) bool {
	return r >= 0xc0 && r <= 0xff && r != 0xd7 && r != 0xf7
}

// readable reports letters of scripts in everyday use that draw as one visible
// cluster of agreed width by themselves.
func readable(r rune) bool {
	return unicode.IsLetter(r) && simple(r) > 0 &&
		unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Han, unicode.Hiragana, unicode.Katakana,
			unicode.Hangul, unicode.Hebrew, unicode.Arabic, unicode.Thai, unicode.Armenian, unicode.Georgian) &&
		(r < 0xff00 || r > 0xffef)
}

// lookalike reports Cyrillic, Greek and Armenian letters that are drawn like
// Latin ones.
func lookalike(r rune) bool {
	return strings.ContainsRune("АаВвЕеЅѕІіЇїЈјКкМмНнОоРрСсТтУуҮүХхҺһԀԁԚԛԜԝӀӏЬьѴѵҐґ"+
		"ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγικνορτυχωϲϳϱ"+"ՕօՍսոցհՏԼլ", r)
}

func idRune(b *strings.Builder, r rune, raw, rest string) {
	switch {
	case r == '\\' && escapeTail(rest):
		b.WriteString(`\\`)
	case r >= 0x20 && r < 0x7f:
		b.WriteRune(r)
	default:
		writeEscaped(b, r, raw)
	}
}

func writeEscaped(b *strings.Builder, r rune, raw string) {
	if r == utf8.RuneError && len(raw) == 1 {
		const hex = "0123456789abcdef"
		b.WriteString(`\x`)
		b.WriteByte(hex[raw[0]>>4])
		b.WriteByte(hex[raw[0]&0xf])
		return
	}
	b.WriteString(escaped(r))
}

// escapeTail reports whether s after a backslash would read as one of our
// escapes, or as the doubling of a backslash in front of one.
func escapeTail(s string) bool {
	s = strings.TrimLeft(s, `\`)
	if len(s) < 3 {
		return false
	}
	return (s[0] == 'u' || s[0] == 'U' || s[0] == 'x') && isHex(s[1]) && isHex(s[2])
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
