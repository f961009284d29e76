package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// marksPerCluster caps combining marks: real scripts need two or three on one
// letter, a column of hundreds is an attack on the rows above (B100).
const marksPerCluster = 4

// tabStop is the distance of the fixed stops that tabs are expanded to (B07).
const tabStop = 8

// Line makes s fit for one row of prose: whole escape sequences vanish, each
// lone control gets a visible stand-in (␍), a tab becomes a space, invisible
// characters vanish and bidirectional overrides are shown escaped.
func Line(s string) string {
	if printable(s) {
		return s
	}
	return clean(s, lineMode)
}

// Block makes s fit for several rows of prose and returns them, one per line of
// s, without line ends. Tabs are expanded to stops of eight cells. Rows are not
// wrapped; see [Wrap].
func Block(s string) []string {
	var rows []string
	for {
		i := strings.IndexFunc(s, lineBreak)
		if i < 0 {
			break
		}
		rows = append(rows, blockRow(s[:i]))
		_, n := utf8.DecodeRuneInString(s[i:])
		if strings.HasPrefix(s[i:], "\r\n") {
			n = 2
		}
		s = s[i+n:]
	}
	if s != "" || rows == nil {
		rows = append(rows, blockRow(s))
	}
	return rows
}

func lineBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == 0x85 || r == 0x2028 || r == 0x2029
}

func blockRow(s string) string {
	if printable(s) {
		return s
	}
	return clean(s, blockMode)
}

// OutputLine makes one line of a task's output fit to draw. Tabs are expanded to
// stops of eight cells; a carriage return goes back to column 0 and what follows
// overwrites, so that the row shows the final state (B05). With sgr true colours
// stay: SGR sequences alone, closed at the end of the line (B08); blinking and
// hidden text are not admitted.
func OutputLine(s string, sgr bool) string {
	if printable(s) {
		return s
	}
	s = strings.TrimRight(s, "\r\n")
	if strings.IndexByte(s, '\r') >= 0 {
		return overwrite(s)
	}
	if sgr {
		return clean(s, outputMode)
	}
	return clean(s, blockMode)
}

// overwrite draws the parts between carriage returns over each other, cell by
// cell. Colours are dropped: a progress bar is read, not admired.
func overwrite(s string) string {
	if row, ok := overwriteASCII(s); ok {
		return row
	}
	return overwriteCells(s)
}

func overwriteCells(s string) string {
	var cells []string // a wide character is followed by ""
	for part := range strings.SplitSeq(s, "\r") {
		part = clean(part, blockMode)
		for at := 0; len(part) > 0; {
			n, w := cluster(part)
			for len(cells) < at+w {
				cells = append(cells, " ")
			}
			splitWide(cells, at)
			splitWide(cells, at+w)
			cells[at] = part[:n]
			if w == 2 {
				cells[at+1] = ""
			}
			part, at = part[n:], at+w
		}
	}
	return strings.Join(cells, "")
}

// overwriteASCII is overwrite for printable ASCII, which most progress bars are: each
// byte is a cell.
func overwriteASCII(s string) (row string, ok bool) {
	var cells []byte
	for part := range strings.SplitSeq(s, "\r") {
		if !printable(part) {
			return "", false
		}
		n := copy(cells, part)
		cells = append(cells, part[n:]...)
	}
	return string(cells), true
}

// splitWide blanks a wide character that spans the border in front of cell at.
func splitWide(cells []string, at int) {
	if at > 0 && at < len(cells) && cells[at] == "" {
		cells[at-1], cells[at] = " ", " "
	}
}

// printable reports whether s is printable ASCII and nothing else, which needs
// no work at all.
func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i]-0x20 > 0x7e-0x20 {
			return false
		}
	}
	return true
}

// mode says which of the cleaner's choices hold.
type mode struct {
	sgr  bool // SGR stays
	tabs bool // tabs are expanded; otherwise a tab is one space
}

var (
	lineMode   = mode{}
	blockMode  = mode{tabs: true}
	outputMode = mode{tabs: true, sgr: true}
)

// cleaner builds safe text from hostile text.
type cleaner struct {
	mode
	b   strings.Builder
	col int // cells written
	// last is the cluster written last: what follows must not join it in a way
	// that the two width models measure differently. It begins as a blank,
	// because a row is drawn behind something.
	last  string
	style sgrState
	// endless is set once a string sequence was found without its end: those
	// that begin later have none either, and must not be searched again.
	endless bool
}

func clean(s string, m mode) string {
	c := cleaner{mode: m, last: " "}
	c.b.Grow(len(s) + 8)
	c.run(s)
	if c.style.open {
		c.b.WriteString(sgrReset)
	}
	return c.b.String()
}

func (c *cleaner) run(s string) {
	for len(s) > 0 {
		n := asciiRun(s)
		if n > 0 {
			// A mark after the run belongs to its last character.
			if n < len(s) && s[n] >= 0x80 {
				n--
			}
			if n > 0 {
				c.b.WriteString(s[:n])
				c.col += n
				c.last = s[n-1 : n]
			}
			s = s[n:]
			if n > 0 && (len(s) == 0 || s[0] < 0x20 || s[0] == 0x7f) {
				continue
			}
		}
		if len(s) > 0 {
			s = s[c.step(s):]
		}
	}
}

func asciiRun(s string) int {
	i := 0
	for i < len(s) && s[i]-0x20 <= 0x7e-0x20 {
		i++
	}
	return i
}

// step handles one sequence, control or cluster at the start of s and returns
// how many bytes it took.
func (c *cleaner) step(s string) int {
	if (s[0] == esc || s[0] == 0xc2) && !(c.endless && stringStart(s)) {
		switch state, n, sgr := sequence(s); {
		case state == seqWhole && sgr && c.sgr:
			c.b.WriteString(c.style.apply(s[:n]))
			return n
		case state == seqWhole:
			return n
		case state == seqPartial:
			c.endless = true
		}
	}
	r, n := utf8.DecodeRuneInString(s)
	if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 {
		c.control(r)
		return n
	}
	if n, cells := simpleFirst(s); n > 0 {
		c.b.WriteString(s[:n])
		c.col += cells
		c.last = s[:n]
		return n
	}
	cluster, _ := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	out := safeCluster(cluster)
	if out != "" && !alone(c.last, out) && !agreed(c.last+out) {
		out = "\ufffd"
	}
	c.put(out)
	return len(cluster)
}

func (c *cleaner) control(r rune) {
	switch {
	case r == '\t' && c.tabs:
		n := tabStop - c.col%tabStop
		c.put(strings.Repeat(" ", n))
	case r == '\t':
		c.put(" ")
	case r == '\n' || r == 0x85 || r == 0x2028 || r == 0x2029:
		c.put("␤")
	default:
		c.put(control(r))
	}
}

func (c *cleaner) put(s string) {
	if s == "" {
		return
	}
	c.last = s
	c.b.WriteString(s)
	c.col += Width(s)
}

// safeCluster returns a form of one grapheme cluster that holds nothing
// invisible and is equally wide by clusters and by wcwidth (B01, B02).
func safeCluster(cluster string) string {
	if len(cluster) == 1 && cluster[0] < 0x80 {
		return cluster
	}
	s := visible(cluster)
	if s == "" || agreed(s) {
		return s
	}
	for _, drop := range []func(rune) bool{decoration, virama, mark} {
		s = strings.Map(func(r rune) rune {
			if drop(r) {
				return -1
			}
			return r
		}, s)
		if s != "" && agreed(s) {
			return s
		}
	}
	return "\ufffd"
}

// agreed reports whether both width models give every cluster of s the same
// width, and one that is more than nothing.
func agreed(s string) bool {
	for len(s) > 0 {
		cluster, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		if w < 1 || w > 2 || ansi.StringWidthWc(cluster) != w {
			return false
		}
		s = s[len(cluster):]
	}
	return true
}

// visible maps the runes of a cluster to what may be seen of them.
func visible(cluster string) string {
	var b strings.Builder
	marks, first := 0, true
	for _, r := range cluster {
		switch {
		case unicode.Is(unicode.Bidi_Control, r) && !directionMark(r):
			b.WriteString(escaped(r))
		case invisible(r):
			// Nothing: zero-width joiners, soft hyphens, tags, selectors, BOM.
			continue
		case regional(r):
			b.WriteByte(byte('A' + r - 0x1f1e6))
		case mark(r):
			marks++
			if marks > marksPerCluster {
				continue
			}
			if first {
				b.WriteRune('◌')
			}
			b.WriteRune(r)
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			b.WriteString(control(r))
		case r == 0x0e33:
			b.WriteString("\u0e4d\u0e32") // the same sign in two, of agreed width
		case r == 0x0eb3:
			b.WriteString("\u0ecd\u0eb2")
		case r == 0x3000:
			b.WriteString("  ")
		case unicode.Is(unicode.Zs, r) || r == 0x2800:
			b.WriteByte(' ')
		case !unicode.IsGraphic(r):
			b.WriteRune('\ufffd') // private, unassigned or not UTF-8
		default:
			b.WriteRune(r)
		}
		first = false
	}
	return b.String()
}

// directionMark reports the three marks that ordinary right-to-left text uses
// and that can reorder only their neighbours; they are dropped silently.
func directionMark(r rune) bool { return r == 0x200e || r == 0x200f || r == 0x061c }

// invisible goes by Unicode property, not by a list of known tricks (B100).
func invisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) ||
		unicode.Is(unicode.Variation_Selector, r)
}

func mark(r rune) bool     { return r >= 0x300 && unicode.Is(unicode.M, r) }
func regional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// decoration reports runes that only change how an emoji looks.
func decoration(r rune) bool { return r == 0x20e3 || r >= 0x1f3fb && r <= 0x1f3ff }

// virama reports the signs that join Indic consonants to one cluster, which
// terminals draw in two cells or one.
func virama(r rune) bool {
	switch r {
	case 0x094d, 0x09cd, 0x0a4d, 0x0acd, 0x0b4d, 0x0bcd, 0x0c4d, 0x0ccd, 0x0d4d, 0x0dca, 0x1039, 0x17d2:
		return true
	}
	return false
}
