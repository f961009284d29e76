package fleet

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// The bounds of one task's output in memory; the whole of it is on disk.
const (
	maxOutputLines = 10_000
	maxOutputBytes = 1 << 20
	// maxLineBytes bounds one line: a longer one goes on in the next row.
	maxLineBytes = 16 << 10
	// lineOverhead is what a line costs beside its text.
	lineOverhead = 16
	// cloneAbove is the size of a chunk above which its lines are copied, so that
	// the last lines of a huge chunk do not keep all of it in memory.
	cloneAbove = 32 << 10
)

// Output is the bounded tail of a task's output as raw text, in lines. It is
// hostile text: every draw passes it through the sanitiser. A lone CR returns to
// the start of the line and what follows overwrites, as on a terminal (B05); CR
// before LF belongs to the line end.
type Output struct {
	Lines   []string // without line ends; the last one may be unfinished
	Dropped int      // lines dropped in front of Lines
	Bytes   int      // held now, with a small allowance for each line
	Open    bool     // the last line has no line end yet
	// Type of the chunks: text, json or another MIME-like word.
	Type string

	// base is the open line as it stood at its last CR, tail what was written
	// since. While the line is open, Lines ends with base overwritten by tail.
	base string
	tail *strings.Builder
	cr   bool // the last byte was a CR that may yet belong to a line end
}

// write appends text to the output.
func (o *Output) write(text string) {
	if len(text) > cloneAbove {
		defer func(from int) { o.detach(from) }(o.Dropped + len(o.Lines))
	}
	for text != "" {
		i := strings.IndexAny(text, "\r\n")
		if i < 0 {
			o.extend(text)
			break
		}
		if text[i] == '\n' && !o.Open && i <= maxLineBytes {
			o.push(text[:i]) // a whole line, the usual case
			text = text[i+1:]
			continue
		}
		if i > 0 {
			o.extend(text[:i])
		}
		if text[i] == '\n' {
			o.endLine()
		} else {
			o.carriageReturn()
		}
		text = text[i+1:]
	}
	o.trim(maxOutputLines, maxOutputBytes)
}

// extend writes s, which holds no line end, to the open line.
func (o *Output) extend(s string) {
	o.returnNow()
	for {
		room := maxLineBytes
		if o.tail != nil {
			room -= o.tail.Len()
		}
		if len(s) <= room {
			o.put(s)
			return
		}
		// A line without an end is cut into rows, between characters.
		cut := max(room, 0)
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		if cut > 0 {
			o.put(s[:cut])
		}
		if cut == 0 && !o.Open { // cannot happen with valid rows; never loop
			o.put(s[:min(len(s), maxLineBytes)])
			s = s[min(len(s), maxLineBytes):]
		}
		o.closeLine()
		s = s[cut:]
	}
}

func (o *Output) put(s string) {
	if s == "" {
		return
	}
	if !o.Open {
		o.Open = true
		o.push(s)
		o.base, o.tail = "", new(strings.Builder)
		o.tail.WriteString(s)
		return
	}
	o.tail.WriteString(s)
	o.setLast(overwrite(o.base, o.tail.String()))
}

// carriageReturn notes a CR; what it means depends on what follows.
func (o *Output) carriageReturn() {
	o.returnNow()
	o.cr = o.Open
}

// returnNow carries out a CR that turned out not to belong to a line end.
func (o *Output) returnNow() {
	if !o.cr {
		return
	}
	o.cr = false
	o.base = o.Lines[len(o.Lines)-1]
	o.tail = new(strings.Builder)
}

func (o *Output) endLine() {
	if !o.Open {
		o.push("")
	}
	o.closeLine()
}

func (o *Output) closeLine() {
	o.Open, o.cr = false, false
	o.base, o.tail = "", nil
}

func (o *Output) push(s string) {
	o.Lines = append(o.Lines, s)
	o.Bytes += len(s) + lineOverhead
}

func (o *Output) setLast(s string) {
	last := len(o.Lines) - 1
	o.Bytes += len(s) - len(o.Lines[last])
	o.Lines[last] = s
}

// trim drops lines in front until both bounds hold; the last line stays.
func (o *Output) trim(lines, bytes int) {
	drop := 0
	for len(o.Lines)-drop > 1 && (len(o.Lines)-drop > lines || o.Bytes > bytes) {
		o.Bytes -= len(o.Lines[drop]) + lineOverhead
		o.Lines[drop] = "" // the array outlives the slice
		drop++
	}
	o.Lines = o.Lines[drop:]
	o.Dropped += drop
}

// detach copies the lines from absolute number from on, so that they do not
// keep the chunk they were cut from.
func (o *Output) detach(from int) {
	for i := max(from-o.Dropped, 0); i < len(o.Lines); i++ {
		o.Lines[i] = strings.Clone(o.Lines[i])
	}
}

// overwrite shows what stands on a line after tail was written over base from
// the first column on.
func overwrite(base, tail string) string {
	if base == "" {
		return tail
	}
	if tail == "" {
		return base
	}
	w := ansi.StringWidth(tail)
	if w >= ansi.StringWidth(base) {
		return tail
	}
	line := tail + ansi.TruncateLeft(base, w, "")
	if len(line) > 2*maxLineBytes { // text without width could grow for ever
		return tail
	}
	return line
}

// clear forgets everything, for a stream that starts again.
func (o *Output) clear() { *o = Output{Type: o.Type} }
