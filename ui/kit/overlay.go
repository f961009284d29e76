package kit

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Overlay puts the lines of box, each w cells wide, over base at column x, row
// y. Lines of base keep what stands left and right of the box; a wide character
// that the box covers half becomes a blank (B04).
func Overlay(base []string, box []string, x, y, w int) {
	for i, l := range box {
		at := y + i
		if at < 0 || at >= len(base) {
			continue
		}
		left := ansi.Truncate(base[at], x, "")
		if n := ansi.StringWidth(left); n < x {
			left += Blank(x - n)
		}
		base[at] = left + "\x1b[m" + l + rightOf(base[at], x+w)
	}
}

// rightOf is what stands in line from column x on.
func rightOf(line string, x int) string {
	right := ansi.TruncateLeft(line, x, "")
	if n := max(0, ansi.StringWidth(line)-x); ansi.StringWidth(right) > n {
		right = " " + ansi.TruncateLeft(line, x+1, "")
	}
	return right
}

// SplitLines is the lines of a view.
func SplitLines(view string) []string { return strings.Split(view, "\n") }
