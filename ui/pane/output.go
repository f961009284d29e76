package pane

import (
	"fmt"
	"strings"

	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// The pane's own words for what a key does, beside those of screen.Nav.
const (
	Wrap   = "wrap"
	Typed  = "typed"
	Pause  = "pause"
	Find   = "find"
	Next   = "find-next"
	Prev   = "find-prev"
	Follow = "follow"
)

// hStep is how far one key scrolls sideways, in cells.
const hStep = 8

// Pane is the place of a reader in a stream of lines. The zero value follows the
// end.
type Pane struct {
	// line and sub name the row at the top: the line's number and the row of it.
	// They matter only while away.
	line, sub int
	// away is set while the reader is not at the end; mark is the end as it was
	// when the reader left it.
	away   bool
	mark   int
	paused bool
	col    int // first cell shown, without wrap
	wrap   bool
	typed  bool
	gen    int
	query  string
	hit    int // line of the last match, -1 for none
	misses bool
	seek   seek // a search under way

	w, h int
}

// Sync tells the pane its size and what it shows before Do and View. gen counts
// the times the stream began again: with a new one the pane follows the new
// stream from its start.
func (p *Pane) Sync(t Text, gen, w, h int) {
	p.w, p.h = max(0, w), max(0, h)
	if gen != p.gen {
		p.gen, p.away, p.paused, p.line, p.sub, p.hit, p.seek = gen, false, false, 0, 0, -1, seek{}
	}
	if p.away && p.line < t.First {
		// What was being read is gone: the oldest line is nearest to it (B10).
		p.line, p.sub = t.First, 0
	}
	if p.away && p.line >= t.End() {
		p.line, p.sub = p.bottom(t)
	}
}

// Following reports whether new lines move the view.
func (p *Pane) Following() bool { return !p.away }

// Do carries out one of the words above or of screen.Nav and reports whether it
// knew it. [Find] needs [Pane.Search] instead.
func (p *Pane) Do(do string, t Text) bool {
	switch do {
	case screen.Up:
		p.move(t, -1)
	case screen.Down:
		p.move(t, 1)
	case screen.PageUp:
		p.move(t, -max(1, p.h-1))
	case screen.PageDown:
		p.move(t, max(1, p.h-1))
	case screen.Top:
		p.leave(t)
		p.line, p.sub = t.First, 0
	case screen.Bottom, Follow:
		p.away, p.paused = false, false
	case screen.Left:
		p.col = max(0, p.col-hStep)
	case screen.Right:
		p.right(t)
	case Wrap:
		p.wrap, p.col, p.sub = !p.wrap, 0, 0
	case Typed:
		p.typed, p.sub = !p.typed, 0
	case Pause:
		p.pause(t)
	case Next:
		p.again(t, 1)
	case Prev:
		p.again(t, -1)
	default:
		return false
	}
	return true
}

// Scroll moves by d rows: the wheel.
func (p *Pane) Scroll(t Text, d int) { p.move(t, d) }

func (p *Pane) pause(t Text) {
	if p.paused {
		p.away, p.paused = false, false
		return
	}
	p.leave(t)
	p.paused = true
}

// leave stops following at the rows that are shown now.
func (p *Pane) leave(t Text) {
	if p.away {
		return
	}
	p.line, p.sub = p.bottom(t)
	p.away, p.mark = true, t.End()
}

// right scrolls as far as the longest visible line reaches.
func (p *Pane) right(t Text) {
	if p.wrap {
		return
	}
	longest := 0
	p.visible(t, false, func(_ int, row string) { longest = max(longest, cells(row)) })
	p.col = max(0, min(p.col+hStep, longest-1))
}

// move goes by d rows. At the end the pane follows again, unless it is paused.
func (p *Pane) move(t Text, d int) {
	if d < 0 {
		p.leave(t)
		p.back(t, -d)
		return
	}
	if !p.away {
		return
	}
	bl, bs := p.bottom(t)
	for ; d > 0 && before(p.line, p.sub, bl, bs); d-- {
		if p.sub+1 < len(p.rows(t, p.line, false)) {
			p.sub++
		} else {
			p.line, p.sub = p.line+1, 0
		}
	}
	if !before(p.line, p.sub, bl, bs) && !p.paused {
		p.away = false
	}
}

func (p *Pane) back(t Text, d int) {
	for ; d > 0; d-- {
		switch {
		case p.sub > 0:
			p.sub--
		case p.line > t.First:
			p.line--
			p.sub = len(p.rows(t, p.line, false)) - 1
		default:
			return
		}
	}
}

func before(l1, s1, l2, s2 int) bool { return l1 < l2 || l1 == l2 && s1 < s2 }

// bottom is the top row of a view whose last row is the last of the text.
func (p *Pane) bottom(t Text) (line, sub int) {
	left := p.h
	for n := t.End() - 1; n >= t.First; n-- {
		k := 1
		if p.wrap || p.typed {
			k = len(p.rows(t, n, false))
		}
		if k >= left {
			return n, k - left
		}
		left -= k
	}
	return t.First, 0
}

// visible calls f for every row on screen with its line number.
func (p *Pane) visible(t Text, sgr bool, f func(line int, row string)) {
	line, sub := p.line, p.sub
	if !p.away {
		line, sub = p.bottom(t)
	}
	for n := 0; n < p.h && line < t.End(); line++ {
		rows := p.rows(t, line, sgr)
		for _, r := range rows[min(sub, len(rows)):] {
			if n == p.h {
				return
			}
			f(line, r)
			n++
		}
		sub = 0
	}
}

// Rows draws the visible rows, each at most w cells wide.
func (p *Pane) Rows(st *theme.Styles, t Text) []string {
	out := make([]string, 0, p.h)
	if p.w == 0 || p.h == 0 {
		return out
	}
	p.visible(t, st.Color, func(line int, row string) {
		out = append(out, p.row(st, line, row))
	})
	return out
}

func (p *Pane) row(st *theme.Styles, line int, row string) string {
	from := 0
	if !p.wrap {
		from = p.col
	}
	if p.query != "" {
		if marked, ok := p.highlight(st, line, row, from); ok {
			return marked
		}
	}
	if from == 0 && !styled(row) {
		return text.ClipMark(row, p.w, st.G.Ellipsis)
	}
	return cutRow(row, from, from+p.w)
}

// Status says in a few words where the reader is; "" while following an
// untouched stream.
func (p *Pane) Status(t Text) string {
	var parts []string
	if p.query != "" { // what was asked for last is what a narrow title keeps
		parts = append(parts, p.searchStatus(t))
	}
	switch fresh := t.End() - p.mark; {
	case p.paused && fresh > 0:
		parts = append(parts, fmt.Sprintf("paused, %s new below", kit.Count(fresh)))
	case p.paused:
		parts = append(parts, "paused")
	case p.away && fresh > 0:
		parts = append(parts, fmt.Sprintf("%s new below", kit.Count(fresh)))
	case p.away:
		parts = append(parts, "scrolled")
	}
	if p.col > 0 {
		parts = append(parts, fmt.Sprintf("from column %d", p.col+1))
	}
	return strings.Join(parts, ", ")
}
