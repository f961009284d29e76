package pane

import (
	"fmt"
	"strings"

	"signalbox/model/text"
	"signalbox/ui/theme"
)

// Query is the text searched for, "" for none.
func (p *Pane) Query() string { return p.query }

// Search looks for query from the end of what is shown backwards, as one looks
// for the latest; "" ends the search.
func (p *Pane) Search(t Text, query string) {
	p.query, p.hit, p.misses = query, -1, false
	if query == "" {
		return
	}
	p.hit = t.End()
	p.again(t, -1)
}

// again goes to the next line with a match in direction d, around the ends.
func (p *Pane) again(t Text, d int) {
	n := len(t.Lines)
	if p.query == "" || n == 0 {
		p.misses = p.query != ""
		return
	}
	at := p.hit
	if at < t.First || at > t.End() {
		at = t.First - 1
	}
	for range n {
		at += d
		if at >= t.End() {
			at = t.First
		}
		if at < t.First {
			at = t.End() - 1
		}
		if find(text.OutputLine(t.Line(at), false), p.query) >= 0 {
			p.show(t, at)
			return
		}
	}
	p.hit, p.misses = -1, true
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
	for i := 0; i+len(query) <= len(s); i++ {
		if foldEqual(s[i:i+len(query)], query) {
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
