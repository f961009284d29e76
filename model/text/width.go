package text

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Ellipsis marks where text was cut. In ASCII mode use [ClipMark] with "~".
const Ellipsis = "…"

// Width is the number of cells s takes. For text that did not go through the
// sanitiser it is the larger of what the two width models say.
func Width(s string) int {
	if printable(s) {
		return len(s)
	}
	w := 0
	for len(s) > 0 {
		n, cw := cluster(s)
		w += cw
		s = s[n:]
	}
	return w
}

// cluster measures the first grapheme cluster of s in bytes and cells.
func cluster(s string) (n, cells int) {
	if n, cells = simpleFirst(s); n > 0 {
		return n, cells
	}
	cl, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return len(cl), max(w, ansi.StringWidthWc(cl))
}

// Clip cuts s to at most n cells; what was cut is marked with [Ellipsis].
func Clip(s string, n int) string { return ClipMark(s, n, Ellipsis) }

// ClipMark is [Clip] with another mark. A mark that does not fit is left out.
func ClipMark(s string, n int, mark string) string {
	if n <= 0 {
		return ""
	}
	if len(s) <= n && printable(s) || Width(s) <= n {
		return s
	}
	room := n - Width(mark)
	if room < 0 {
		mark, room = "", n
	}
	return s[:prefix(s, room)] + mark
}

// prefix is the number of bytes of s that fit into n cells.
func prefix(s string, n int) int {
	i, w := 0, 0
	for i < len(s) {
		if k := asciiRun(s[i:min(len(s), i+n-w+1)]); k > 1 {
			// All but the last of a run are clusters of their own whatever follows.
			i, w = i+k-1, w+k-1
		}
		b, cw := cluster(s[i:])
		if w+cw > n {
			break
		}
		i, w = i+b, w+cw
	}
	return i
}

// Pad clips s or fills it with blanks on the right to exactly n cells.
func Pad(s string, n int) string {
	if n <= 0 {
		return ""
	}
	s = Clip(s, n)
	return s + Blanks(n-Width(s))
}

// PadLeft clips s or fills it with blanks on the left to exactly n cells.
func PadLeft(s string, n int) string {
	if n <= 0 {
		return ""
	}
	s = Clip(s, n)
	return Blanks(n-Width(s)) + s
}

const blanks = "                                                                                                                                "

// Blanks is a string of n spaces; n below one gives "".
func Blanks(n int) string {
	if n <= 0 {
		return ""
	}
	if n <= len(blanks) {
		return blanks[:n]
	}
	return strings.Repeat(" ", n)
}

// Middle shortens s to at most n cells by leaving out its middle, for ids that
// differ at both ends: task_a7…f1.
func Middle(s string, n int) string { return MiddleMark(s, n, Ellipsis) }

// MiddleMark is [Middle] with another mark.
func MiddleMark(s string, n int, mark string) string {
	if n <= 0 {
		return ""
	}
	w := Width(s)
	if w <= n {
		return s
	}
	room := n - Width(mark)
	if room < 2 {
		return ClipMark(s, n, mark)
	}
	tail := max(1, min(2, room/2), room/4)
	return s[:prefix(s, room-tail)] + mark + suffix(s, w, tail)
}

// suffix is the end of s that fits into n cells, where w is the width of s.
func suffix(s string, w, n int) string {
	for len(s) > 0 && w > n {
		b, cw := cluster(s)
		s, w = s[b:], w-cw
	}
	return s
}

// Cut gives the cells from (inclusive) to to (exclusive) of s. Half of a wide
// character at an edge becomes a blank; past the end of s nothing is added.
func Cut(s string, from, to int) string {
	from = max(0, from)
	if to <= from {
		return ""
	}
	if printable(s) {
		return s[min(from, len(s)):min(to, len(s))]
	}
	var b strings.Builder
	w := 0
	for len(s) > 0 && w < to {
		n, cw := cluster(s)
		switch {
		case w >= from && w+cw <= to:
			b.WriteString(s[:n])
		case w+cw > from && w < to:
			b.WriteString(Blanks(min(w+cw, to) - max(w, from)))
		}
		s, w = s[n:], w+cw
	}
	return b.String()
}

// Wrap breaks one line into rows of at most n cells, at blanks where it can. It
// returns at least one row; with n below one it returns none.
func Wrap(s string, n int) []string {
	if n < 1 {
		return nil
	}
	var rows []string
	for {
		// Measuring the row and not the rest keeps the cost of a long text linear.
		i := prefix(s, n)
		if i == len(s) {
			break
		}
		if i == 0 { // one wide character in one cell
			i, _ = cluster(s)
			rows = append(rows, " ")
			s = s[i:]
			continue
		}
		if j := strings.LastIndexByte(s[:i], ' '); j > 0 && s[i] != ' ' {
			i = j
		}
		rows = append(rows, strings.TrimRight(s[:i], " "))
		s = strings.TrimLeft(s[i:], " ")
	}
	if s == "" && rows != nil {
		return rows
	}
	return append(rows, s)
}

// Head is at most n bytes of the beginning of s, cut between characters. Use it
// in front of the sanitiser where only so much of a text can be shown anyway,
// so that drawing a row costs the row and not the text.
func Head(s string, n int) string {
	if n < 0 {
		n = 0
	}
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// TailMark shortens s to at most n cells by leaving out its beginning, for ids
// that differ at their ends: …:charge-errors.
func TailMark(s string, n int, mark string) string {
	if n <= 0 {
		return ""
	}
	w := Width(s)
	if w <= n {
		return s
	}
	room := n - Width(mark)
	if room < 1 {
		return ClipMark(s, n, mark)
	}
	return mark + suffix(s, w, room)
}
