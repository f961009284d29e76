package dialog

import (
	"strings"

	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/theme"
)

// shownOptions is how many options of a choice are listed at once.
const shownOptions = 6

// Box is a drawn dialog: lines of exactly W cells to be put on the screen.
type Box struct {
	Lines []string
	W     int
	// CaretX and CaretY are the caret's cell in the box; Caret tells whether
	// there is one.
	CaretX, CaretY int
	Caret          bool
	// Spots are what the mouse can press, in cells of the box.
	Spots []Spot
}

// Spot is a button, a field, or an option of a field with the keys, in a row of
// the box.
type Spot struct {
	X, Y, W int
	field   int // index, or -1
	option  int // of the field's shown options, or -1
	button  int // index, or -1
}

// Hit finds the spot at a cell of the box; the innermost one wins.
func (b Box) Hit(x, y int) (Spot, bool) {
	for i := len(b.Spots) - 1; i >= 0; i-- {
		if s := b.Spots[i]; y == s.Y && x >= s.X && x < s.X+s.W {
			return s, true
		}
	}
	return Spot{}, false
}

// Fit tells the dialog in how many cells it is drawn, so that it scrolls no further
// than there is something to read. The frame calls it after every change, with what
// it gives to View.
func (d *Dialog) Fit(st *theme.Styles, w, h int, changed string) {
	d.begin()
	bw := d.width(w)
	if bw < 12 || h < 4 {
		return
	}
	p := painter{st: st, w: bw - 4, d: d}
	d.rows = len(p.told())
	d.infoH = shownRows(d.rows, h-2-len(p.tail(changed)))
	d.scrollBy(0)
}

// width is how many of w cells the dialog takes.
func (d *Dialog) width(w int) int {
	if d.Wide {
		return min(w, 110)
	}
	return min(w, 76)
}

// View draws the dialog in at most w×h cells. changed, if not empty, is a
// warning that the target is no longer as it was when the dialog opened.
func (d *Dialog) View(st *theme.Styles, w, h int, changed string) Box {
	d.begin()
	bw := d.width(w)
	if bw < 12 || h < 4 {
		return Box{}
	}
	p := painter{st: st, w: bw - 4, d: d}
	tail := p.tail(changed)
	info := p.info(h - 2 - len(tail))
	lines := append(info, tail...)
	if len(lines) > h-2 {
		// No room for everything: the end holds the answer.
		cut := len(lines) - (h - 2)
		lines = lines[cut:]
		p.caretY -= cut
		for i := range p.spots {
			p.spots[i].Y -= cut
		}
	}
	return p.frame(lines, len(info))
}

// painter draws one dialog.
type painter struct {
	st *theme.Styles
	w  int
	d  *Dialog

	caret          bool
	caretX, caretY int    // in the tail
	spots          []Spot // in the tail
	at             int    // index of the field being drawn
}

func (p *painter) tone(t Tone) theme.Style {
	switch t {
	case Strong:
		return p.st.Strong
	case Muted:
		return p.st.Muted
	case OK:
		return p.st.OK
	case Wait:
		return p.st.Wait
	case Warn:
		return p.st.Warn
	case Bad:
		return p.st.Bad
	case Accent:
		return p.st.Accent
	}
	return p.st.Text
}

// told is what the dialog tells, broken into rows.
func (p *painter) told() []string {
	var all []string
	for _, l := range p.d.Info {
		all = append(all, p.wrap(l)...)
	}
	return all
}

// shownRows is how many of n rows are shown at once in room: one goes to the word that
// there are more.
func shownRows(n, room int) int {
	switch {
	case room <= 0:
		return 0
	case n <= room:
		return n
	}
	return max(1, room-1)
}

// info draws what the dialog tells, scrolled when it is longer than room.
func (p *painter) info(room int) []string {
	all := p.told()
	n := shownRows(len(all), room)
	if n == len(all) || n == 0 {
		return all[:n]
	}
	at := max(0, min(p.d.scroll, len(all)-n))
	out := append([]string(nil), all[at:at+n]...)
	return append(out, p.st.Muted.Render(kit.Fit(p.st.G, "pgup/pgdn for the rest", p.w, true)))
}

// wrap breaks a line over several rows; only a line of one span is broken at
// words, others are cut.
func (p *painter) wrap(l Line) []string {
	if len(l) == 1 && text.Width(l[0].Text) > p.w {
		var out []string
		for _, row := range text.Wrap(l[0].Text, p.w) {
			out = append(out, p.tone(l[0].Tone).Render(kit.Fit(p.st.G, row, p.w, false)))
		}
		return out
	}
	var b strings.Builder
	left := p.w
	for _, s := range l {
		if left <= 0 {
			break
		}
		t := text.ClipMark(s.Text, left, p.st.G.Ellipsis)
		b.WriteString(p.tone(s.Tone).Render(t))
		left -= text.Width(t)
	}
	b.WriteString(kit.Blank(left))
	return []string{b.String()}
}

// tail draws fields, note and buttons.
func (p *painter) tail(changed string) []string {
	var out []string
	if len(p.d.Info) > 0 && (len(p.d.Fields) > 0 || len(p.d.Buttons) > 0) {
		out = append(out, kit.Blank(p.w))
	}
	for i, f := range p.d.Fields {
		if !p.d.shows(f) {
			continue
		}
		p.at = i
		p.spots = append(p.spots, Spot{X: 0, Y: len(out), W: p.w, field: i, option: -1, button: -1})
		out = append(out, p.field(f, i == p.d.focus, len(out))...)
	}
	if changed != "" {
		out = append(out, p.wrap(Text(p.st.G.Flag+" "+changed, Warn))...)
	}
	switch {
	case p.d.note != "":
		out = append(out, p.wrap(Text(p.st.G.Cross2+" "+p.d.note, Bad))...)
	case !p.d.armed:
		out = append(out, p.wrap(Text("keys are ignored until you pause", Muted))...)
	}
	if len(p.d.Buttons) > 0 {
		if len(out) > 0 && strings.TrimSpace(out[len(out)-1]) != "" {
			out = append(out, kit.Blank(p.w))
		}
		out = append(out, p.buttons(len(out)))
	}
	return out
}

// labelCells is the room of a field's label.
const labelCells = 14

func (p *painter) buttons(at int) string {
	focused := p.d.focus == len(p.d.Fields)
	var b strings.Builder
	used := 0
	for i, bt := range p.d.Buttons {
		label := " " + bt.Label + " "
		if bt.Key != "" {
			label = " " + bt.Key + " " + bt.Label + " "
		}
		sel := theme.SelNone
		if i == p.d.button {
			sel = theme.SelUnfocused
			if focused {
				sel = theme.SelFocused
			}
		}
		style := p.st.Text
		if bt.Danger {
			style = p.st.Bad
		}
		if used > 0 {
			b.WriteString("  ")
			used += 2
		}
		if i == p.d.button && focused {
			b.WriteString(p.st.Accent.Render(p.st.G.Cursor))
		} else {
			b.WriteString(" ")
		}
		p.spots = append(p.spots, Spot{X: used, Y: at, W: 1 + text.Width(label), field: -1, option: -1, button: i})
		b.WriteString(style.Draw(label, sel))
		used += 1 + text.Width(label)
	}
	return kit.FitStyled(b.String()+kit.Blank(p.w-used), p.w)
}

// frame draws the border around the lines.
func (p *painter) frame(lines []string, head int) Box {
	g, line := p.st.G, p.st.Accent
	w := p.w + 4
	title := text.ClipMark(p.d.Title, w-6, g.Ellipsis)
	top := line.Render(g.TopLeft+g.H) + p.st.Title.Render(" "+title+" ") +
		line.Render(strings.Repeat(g.H, w-5-text.Width(title))+g.TopRight)
	out := []string{top}
	for _, l := range lines {
		out = append(out, line.Render(g.V)+" "+kit.FitStyled(l, p.w)+" "+line.Render(g.V))
	}
	out = append(out, line.Render(g.BottomLeft+strings.Repeat(g.H, w-2)+g.BottomRight))
	b := Box{Lines: out, W: w, Caret: p.caret && p.d.armed}
	for _, s := range p.spots {
		s.X, s.Y = s.X+2, s.Y+head+1
		if s.Y >= 1 && s.Y < len(out)-1 {
			b.Spots = append(b.Spots, s)
		}
	}
	b.CaretX, b.CaretY = p.caretX+2, p.caretY+head+1
	if b.CaretY < 1 || b.CaretY >= len(out)-1 {
		b.Caret = false
	}
	return b
}

func itoa(n int) string { return kit.Count(n) }
