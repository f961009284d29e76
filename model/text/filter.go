package text

import "strings"

// FilterHold is how many bytes of an unfinished sequence a [Filter] keeps back.
const FilterHold = 4 << 10

// Filter makes a stream of output chunks fit to print while it arrives. A
// sequence, character or line end that is split over chunks is held until it is
// whole, but never more than [FilterHold] bytes of it; what is longer is dropped
// and a mark stands in its place (B24, B25, B98). The zero value is ready.
//
// A stream cannot overwrite what was printed, so that a lone carriage return
// becomes a line end.
type Filter struct {
	// SGR keeps colours. They are closed at each line end and at the end of each
	// piece returned, and opened again in the next.
	SGR bool

	hold  string
	style sgrState
	col   int
}

// filterMark stands where an unfinished sequence was dropped.
const filterMark = "␛…"

// Next takes one chunk and returns what can be printed now; line ends are "\n".
func (f *Filter) Next(chunk string) string {
	s := f.hold + chunk
	n := settled(s)
	f.hold = s[n:]
	if len(f.hold) <= FilterHold {
		return f.emit(s[:n])
	}
	rest := f.hold[FilterHold:]
	f.hold = ""
	return f.emit(s[:n]) + f.mark() + f.Next(rest)
}

// Flush returns what is still held, with a mark for an unfinished sequence. Call
// it at the end of the stream, and when nothing came for a second.
func (f *Filter) Flush() string {
	s := f.hold
	f.hold = ""
	if s == "" {
		return ""
	}
	if s == "\r" {
		return f.emit("\n")
	}
	if _, n := introducer(s); n > 0 {
		return f.mark()
	}
	return f.emit(s)
}

func (f *Filter) mark() string {
	f.col += Width(filterMark)
	return filterMark
}

// settled is the length of the part of s that more text cannot change.
func settled(s string) int {
	for i := 0; i < len(s); {
		if s[i] != esc && s[i] != 0xc2 {
			i++
			continue
		}
		switch state, n, _ := sequence(s[i:]); state {
		case seqWhole:
			// A string sequence that ended at the next ESC may be followed by
			// nothing yet; the next round looks at that ESC.
			i += n
		case seqPartial:
			return i
		default:
			i++
		}
	}
	if strings.HasSuffix(s, "\r") {
		return len(s) - 1
	}
	return len(s) - incompleteRune(s)
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func (f *Filter) emit(s string) string {
	if s == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.SplitAfterSeq(lineEnds.Replace(s), "\n") {
		body, ended := strings.CutSuffix(line, "\n")
		f.piece(&b, body)
		if ended {
			b.WriteByte('\n')
			f.col = 0
		}
	}
	return b.String()
}

func (f *Filter) piece(b *strings.Builder, s string) {
	if s == "" {
		return
	}
	c := cleaner{mode: mode{tabs: true, sgr: f.SGR}, col: f.col, style: f.style, last: " "}
	if f.style.open {
		c.b.WriteString(f.style.reopen())
	}
	c.run(s)
	if c.style.open {
		c.b.WriteString(sgrReset)
	}
	b.WriteString(c.b.String())
	f.col, f.style = c.col, c.style
}
