package kit

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"signalbox/model/text"
	"signalbox/ui/theme"
)

// Cell is one column of a row: clean text in one style.
type Cell struct {
	Text  string
	Style theme.Style
	W     int  // cells
	Right bool // align to the right: numbers
	// Bar says that Text is a bar: its track is drawn faint.
	Bar bool
}

// Row joins cells with one blank between them into exactly w cells. What does
// not fit is cut at the right; what is left is filled with the selection's
// ground, so that a selected row reaches the border.
func Row(st *theme.Styles, sel theme.Selection, w int, cells ...Cell) string {
	var b strings.Builder
	left := w
	for i, c := range cells {
		if i > 0 && left > 0 {
			b.WriteString(st.Text.Draw(" ", sel))
			left--
		}
		n := min(c.W, left)
		if n <= 0 {
			continue
		}
		s := Fit(st.G, c.Text, n, c.Right)
		if c.Bar {
			fill, track := barSplit(st.G, s)
			b.WriteString(c.Style.Draw(fill, sel))
			b.WriteString(st.Faint.Draw(track, sel))
		} else {
			b.WriteString(c.Style.Draw(s, sel))
		}
		left -= n
	}
	if left > 0 {
		b.WriteString(st.Text.Draw(Blank(left), sel))
	}
	return b.String()
}

// Fit clips or pads clean text to exactly w cells, with the ellipsis of g.
func Fit(g *theme.Glyphs, s string, w int, right bool) string {
	if w <= 0 {
		return ""
	}
	s = text.ClipMark(s, w, g.Ellipsis)
	pad := Blank(w - text.Width(s))
	if right {
		return pad + s
	}
	return s + pad
}

// FitStyled clips or pads a line that already holds our own styles to exactly w
// cells, and closes what it cut through.
func FitStyled(s string, w int) string {
	if w <= 0 {
		return ""
	}
	n := cells(s)
	switch {
	case n < w:
		return s + Blank(w-n)
	case n > w:
		s = ansi.Truncate(s, w, "")
		if m := ansi.StringWidth(s); m < w {
			s += Blank(w - m)
		}
	}
	return s
}

// cells measures a line that holds our own styles: colour sequences alone, whose
// text between them the one width function knows well.
func cells(s string) int {
	n := 0
	for {
		i := strings.IndexByte(s, '\x1b')
		if i < 0 {
			return n + text.Width(s)
		}
		end := strings.IndexByte(s[i:], 'm')
		if end < 0 || !strings.HasPrefix(s[i:], "\x1b[") {
			return n + ansi.StringWidth(s) // not ours
		}
		n += text.Width(s[:i])
		s = s[i+end+1:]
	}
}

// Lines makes a view of exactly w×h cells out of lines: short ones are padded,
// long ones cut, missing ones blank, spare ones dropped.
func Lines(lines []string, w, h int) string {
	if w <= 0 || h <= 0 {
		return ""
	}
	var b strings.Builder
	for i := range h {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i < len(lines) {
			b.WriteString(FitStyled(lines[i], w))
		} else {
			b.WriteString(Blank(w))
		}
	}
	return b.String()
}

// Blank is n blanks; none for n below 1.
func Blank(n int) string { return text.Blanks(n) }

// Split puts the lines of two views of height h side by side with a vertical
// line between them; lw and rw are their widths.
func Split(st *theme.Styles, left, right string, h int) string {
	l, r := strings.Split(left, "\n"), strings.Split(right, "\n")
	v := st.Faint.Render(st.G.V)
	var b strings.Builder
	for i := range h {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i < len(l) {
			b.WriteString(l[i])
		}
		b.WriteString(v)
		if i < len(r) {
			b.WriteString(r[i])
		}
	}
	return b.String()
}

// Rule is a horizontal line of w cells with a title near its left end; a pane
// with focus has its title and line in the accent.
func Rule(st *theme.Styles, title string, focused bool, w int) string {
	line, head := st.Faint, st.Muted
	if focused {
		line, head = st.Accent, st.Title
	}
	if w <= 0 {
		return ""
	}
	if title == "" || w < 6 {
		return line.Render(strings.Repeat(st.G.H, w))
	}
	title = text.ClipMark(title, w-5, st.G.Ellipsis)
	rest := w - 3 - text.Width(title)
	return line.Render(st.G.H) + head.Render(" "+title+" ") + line.Render(strings.Repeat(st.G.H, rest))
}
