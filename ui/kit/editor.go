package kit

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/rivo/uniseg"

	"signalbox/model/text"
)

// editorLimit bounds what one editor holds, in clusters, so that a pasted file
// cannot stall the event loop.
const editorLimit = 64 << 10

// Editor is a line, or with Multi several lines, of text being edited. It edits
// by grapheme clusters, so that a key never leaves half a character behind
// (B19), and knows the caret's cell, so that the terminal's cursor stands where
// the next character will appear (B18).
type Editor struct {
	Multi bool

	cl  []string // clusters
	cur int      // caret: clusters in front of it
	off int      // first visible cluster (one line) or row (Multi)
}

// Set replaces the text and puts the caret at its end.
func (e *Editor) Set(s string) {
	e.cl, e.cur, e.off = nil, 0, 0
	e.Insert(s)
}

// Value is the text.
func (e *Editor) Value() string { return strings.Join(e.cl, "") }

// Empty reports whether there is no text but blanks.
func (e *Editor) Empty() bool { return strings.TrimSpace(e.Value()) == "" }

// Insert puts s at the caret, as typing or pasting does. Controls are left out;
// a line end becomes a blank in a one-line editor.
func (e *Editor) Insert(s string) {
	ins := clusters(e.clean(s))
	if room := editorLimit - len(e.cl); len(ins) > room {
		ins = ins[:max(0, room)]
	}
	tail := append([]string(nil), e.cl[e.cur:]...)
	before := strings.Join(e.cl[:e.cur], "") + strings.Join(ins, "")
	// Segmenting again joins a combining mark to what stands before it.
	e.cl = clusters(before)
	e.cur = len(e.cl)
	e.cl = append(e.cl, tail...)
}

func (e *Editor) clean(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r':
			if e.Multi {
				return '\n'
			}
			return ' '
		case r == '\t':
			return ' '
		case r < ' ', r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff:
			return -1
		}
		return r
	}, s)
}

func clusters(s string) []string {
	var out []string
	for g, rest, st := "", s, -1; rest != ""; {
		g, rest, _, st = uniseg.FirstGraphemeClusterInString(rest, st)
		out = append(out, g)
	}
	return out
}

// Key carries out an editing key and reports whether it was one. Enter is one
// only with Multi.
func (e *Editor) Key(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "left", "ctrl+b":
		e.cur = max(0, e.cur-1)
	case "right", "ctrl+f":
		e.cur = min(len(e.cl), e.cur+1)
	case "home", "ctrl+a":
		e.cur = e.lineStart()
	case "end", "ctrl+e":
		e.cur = e.lineEnd()
	case "backspace", "ctrl+h":
		e.remove(e.cur-1, e.cur)
	case "delete", "ctrl+d":
		e.remove(e.cur, e.cur+1)
	case "ctrl+u":
		e.remove(e.lineStart(), e.cur)
	case "ctrl+k":
		e.remove(e.cur, e.lineEnd())
	case "ctrl+w", "alt+backspace":
		e.remove(e.wordStart(), e.cur)
	case "enter", "up", "down":
		return e.Multi && e.vertical(k.String())
	case "space":
		e.Insert(" ")
	default:
		if k.Text == "" || k.Mod.Contains(tea.ModAlt) || k.Mod.Contains(tea.ModCtrl) {
			return false
		}
		e.Insert(k.Text)
	}
	return true
}

func (e *Editor) vertical(key string) bool {
	switch key {
	case "enter":
		e.Insert("\n")
		return true
	case "up":
		start := e.lineStart()
		if start == 0 {
			return false
		}
		col := e.cur - start
		e.cur = start - 1
		e.cur = min(e.cur, e.lineStart()+col)
		return true
	}
	end := e.lineEnd()
	if end == len(e.cl) {
		return false
	}
	col := e.cur - e.lineStart()
	e.cur = end + 1
	e.cur = min(e.lineEnd(), e.cur+col)
	return true
}

func (e *Editor) remove(from, to int) {
	from, to = max(0, from), min(to, len(e.cl))
	if from >= to {
		return
	}
	e.cl = append(e.cl[:from], e.cl[to:]...)
	e.cur = from
}

func (e *Editor) lineStart() int {
	i := e.cur
	for i > 0 && e.cl[i-1] != "\n" {
		i--
	}
	return i
}

func (e *Editor) lineEnd() int {
	i := e.cur
	for i < len(e.cl) && e.cl[i] != "\n" {
		i++
	}
	return i
}

func (e *Editor) wordStart() int {
	i := e.cur
	for i > 0 && e.cl[i-1] == " " {
		i--
	}
	for i > 0 && e.cl[i-1] != " " && e.cl[i-1] != "\n" {
		i--
	}
	return i
}

// View draws a one-line editor in exactly w cells and gives the caret's cell.
func (e *Editor) View(w int) (line string, caret int) {
	if w <= 0 {
		return "", 0
	}
	e.off = max(min(e.off, e.cur), e.fits(w-1))
	var b strings.Builder
	used := 0
	for _, c := range e.cl[e.off:] {
		s := shown(c)
		n := text.Width(s)
		if used+n > w {
			break
		}
		b.WriteString(s)
		used += n
	}
	return b.String() + Blank(w-used), e.cells(e.off, e.cur)
}

// fits is the first cluster from which on what stands in front of the caret fits w
// cells; the caret needs a cell of its own behind it.
func (e *Editor) fits(w int) int {
	i := e.cur
	for i > 0 {
		if w -= text.Width(shown(e.cl[i-1])); w < 0 {
			break
		}
		i--
	}
	return i
}

func (e *Editor) cells(from, to int) int {
	n := 0
	for _, c := range e.cl[from:to] {
		n += text.Width(shown(c))
	}
	return n
}

// shown is a cluster in its safe form of known width.
func shown(c string) string {
	if len(c) == 1 && c[0] >= ' ' && c[0] < 0x7f {
		return c
	}
	return text.Line(c)
}

// ViewMulti draws an editor of several lines in exactly w×h cells and gives the
// caret's cell. Long lines are wrapped.
func (e *Editor) ViewMulti(w, h int) (lines []string, caretX, caretY int) {
	if w <= 0 || h <= 0 {
		return nil, 0, 0
	}
	var rows []string
	var b strings.Builder
	used, cx, cy := 0, 0, 0
	flush := func() {
		rows = append(rows, b.String()+Blank(w-used))
		b.Reset()
		used = 0
	}
	for i := 0; i <= len(e.cl); i++ {
		if i == e.cur {
			if used >= w {
				flush()
			}
			cx, cy = used, len(rows)
		}
		if i == len(e.cl) {
			break
		}
		if e.cl[i] == "\n" {
			flush()
			continue
		}
		s := shown(e.cl[i])
		n := text.Width(s)
		if used+n > w {
			flush()
		}
		if n <= w {
			b.WriteString(s)
			used += n
		}
	}
	flush()
	e.off = max(cy-h+1, min(e.off, cy))
	e.off = max(0, min(e.off, len(rows)-1))
	for i := e.off; i < e.off+h; i++ {
		if i < len(rows) {
			lines = append(lines, rows[i])
		} else {
			lines = append(lines, Blank(w))
		}
	}
	return lines, cx, cy - e.off
}
