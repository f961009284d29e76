package pane

import (
	"fmt"
	"strings"

	"signalbox/model/text"
	"signalbox/ui/theme"
)

// Query is the text searched for, "" for none.
func (p *Pane) Query() string { return p.query }

// seek is a search under way: the lines of a long output are looked at in several
// goes, so that no key waits for all of them.
type seek struct {
	dir       int // 1 or -1; 0: none is under way
	at        int // the line looked at last
	all, left int // lines in all, and still to look at
}

// seekBytes is how much output one go looks at; seekLine is what a line costs beside
// its bytes.
const seekBytes, seekLine = 128 << 10, 64

// Search looks for query from the end of what is shown backwards, as one looks
// for the latest; "" ends the search. It begins; see [Pane.Seek].
func (p *Pane) Search(t Text, query string) {
	p.query, p.hit, p.misses, p.seek = query, -1, false, seek{}
	if query == "" {
		return
	}
	p.hit = t.End()
	p.again(t, -1)
}

// again goes to the next line with a match in direction d, around the ends. One that
// is looked for already in that direction is not looked for anew.
func (p *Pane) again(t Text, d int) {
	n := len(t.Lines)
	if p.query == "" || n == 0 {
		p.misses = p.query != ""
		return
	}
	if p.seek.dir == d {
		return
	}
	at := p.hit
	if at < t.First || at > t.End() {
		at = t.First - 1
	}
	p.seek = seek{dir: d, at: at, all: n, left: n}
	p.Seek(t)
}

// Seeking reports whether a search has more to look at: call Seek again, after what
// else there is to do.
func (p *Pane) Seeking() bool { return p.seek.dir != 0 }

// Seek goes on with a search under way, for some milliseconds.
func (p *Pane) Seek(t Text) {
	if t.End() == t.First {
		p.seek = seek{}
	}
	s := &p.seek
	for room := seekBytes; room > 0 && s.left > 0; s.left-- {
		s.at += s.dir
		if s.at >= t.End() {
			s.at = t.First
		}
		if s.at < t.First {
			s.at = t.End() - 1
		}
		raw := t.Line(s.at)
		room -= len(raw) + seekLine
		if find(text.OutputLine(raw, false), p.query) >= 0 {
			at := s.at
			p.seek = seek{}
			p.show(t, at)
			return
		}
	}
	if s.dir != 0 && s.left == 0 {
		p.hit, p.misses, p.seek = -1, true, seek{}
	}
}

// show brings line n into view and stops following.
func (p *Pane) show(t Text, n int) {
	p.leave(t)
	p.hit, p.misses = n, false
	seen := false
	p.visible(t, false, func(line int, _ string) { seen = seen || line == n })
	if !seen {
		p.line, p.sub = n, 0
		p.back(t, p.h/3)
	}
	if !p.wrap && !p.typed {
		row := text.OutputLine(t.Line(n), false)
		at := text.Width(row[:max(0, find(row, p.query))])
		if at < p.col || at+text.Width(p.query) > p.col+p.w {
			p.col = max(0, at-p.w/3)
		}
	}
}

func (p *Pane) searchStatus(t Text) string {
	q := text.Clip(text.Line(p.query), 20)
	if p.Seeking() {
		return fmt.Sprintf("%q searching, %d%%", q, 100*(p.seek.all-p.seek.left)/p.seek.all)
	}
	if p.misses || p.hit < t.First || p.hit >= t.End() {
		return fmt.Sprintf("%q not found", q)
	}
	return fmt.Sprintf("%q in line %d", q, p.hit+1)
}

// highlight draws row with its matches marked; ok is false if there are none.
func (p *Pane) highlight(st *theme.Styles, line int, row string, from int) (string, bool) {
	if styled(row) {
		row = text.OutputLine(row, false)
	}
	row = text.Cut(row, from, from+p.w)
	i := find(row, p.query)
	if i < 0 {
		return "", false
	}
	mark := st.Strong
	if line == p.hit {
		mark = st.Match
	}
	var b strings.Builder
	for i >= 0 {
		b.WriteString(row[:i])
		b.WriteString(mark.Render(row[i : i+len(p.query)]))
		row = row[i+len(p.query):]
		i = find(row, p.query)
	}
	b.WriteString(row)
	return b.String(), true
}

// find is the byte index of query in s, or -1. ASCII letters match either case
// unless query holds a capital. A match never begins or ends inside a cluster's
// bytes, because both are valid UTF-8.
func find(s, query string) int {
	if query == "" {
		return -1
	}
	if strings.ToLower(query) != query {
		return strings.Index(s, query)
	}
	first, upper := query[0], query[0]
	if first >= 'a' && first <= 'z' {
		upper -= 'a' - 'A'
	}
	for i := 0; i+len(query) <= len(s); i++ {
		if (s[i] == first || s[i] == upper) && foldEqual(s[i:i+len(query)], query) {
			return i
		}
	}
	return -1
}

func foldEqual(s, lowered string) bool {
	for i := range len(lowered) {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lowered[i] {
			return false
		}
	}
	return true
}
