package text

import (
	"sync/atomic"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// A simple rune is a cluster of its own whatever simple rune stands beside it,
// is shown as it is and has one width under both models. Most of the world's
// text is made of them, and finding cluster borders is the dear part of
// measuring. The answer is kept per rune of the first plane: 0 not yet known,
// 1 and 2 the width of a simple rune, 3 not simple.
var simpleCache [1 << 16]atomic.Uint32

const notSimple = 3

// simple returns the width of a simple rune, 0 for any other.
func simple(r rune) int {
	if r < 0xa0 || int(r) >= len(simpleCache) {
		if r >= 0x20 && r < 0x7f {
			return 1
		}
		return 0
	}
	v := simpleCache[r].Load()
	if v == 0 {
		v = classify(r)
		simpleCache[r].Store(v)
	}
	if v == notSimple {
		return 0
	}
	return int(v)
}

func classify(r rune) uint32 {
	s := string(r)
	switch {
	case jamo(r), regional(r), r == utf8.RuneError:
	case visible(s) != s, !agreed(s):
	case !alone("a", s), !alone(s, "a"):
	default:
		return uint32(ansi.StringWidthWc(s))
	}
	return notSimple
}

// jamo reports the parts of Korean syllables, which join with each other.
func jamo(r rune) bool {
	return r >= 0x1100 && r <= 0x11ff || r >= 0xa960 && r <= 0xa97f || r >= 0xd7b0 && r <= 0xd7ff
}

// alone reports whether a cluster border lies between a and b.
func alone(a, b string) bool {
	first, _ := ansi.FirstGraphemeCluster(a+b, ansi.GraphemeWidth)
	return first == a
}

// simpleFirst returns the size and width of the first rune of s if it is simple
// and so is what follows it; n is 0 otherwise.
func simpleFirst(s string) (n, cells int) {
	r, n := utf8.DecodeRuneInString(s)
	w := simple(r)
	if w == 0 {
		return 0, 0
	}
	if n == len(s) || s[n] < 0x80 {
		return n, w
	}
	if next, _ := utf8.DecodeRuneInString(s[n:]); simple(next) == 0 {
		return 0, 0
	}
	return n, w
}
