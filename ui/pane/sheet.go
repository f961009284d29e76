package pane

import (
	"strings"

	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/theme"
)

// labelW is the width of a label in a Sheet.
const labelW = 10

// valueRows bounds the rows one value may take.
const valueRows = 6

// Sheet collects facts as labels and values in lines of one width. Labels and
// values must be clean.
type Sheet struct {
	st    *theme.Styles
	w, h  int
	lines []string
}

// NewSheet makes a sheet of w×h cells.
func NewSheet(st *theme.Styles, w, h int) *Sheet { return &Sheet{st: st, w: max(0, w), h: max(0, h)} }

// Add puts one fact, unless value is empty; a long value goes on below.
func (f *Sheet) Add(label, value string, style theme.Style) {
	if value == "" || len(f.lines) >= f.h || f.w <= labelW+1 {
		return
	}
	rows := text.Wrap(value, f.w-labelW-1)
	if len(rows) > valueRows {
		rows = append(rows[:valueRows-1], f.st.G.Ellipsis)
	}
	for i, row := range rows {
		if i > 0 {
			label = ""
		}
		f.Line(f.st.Muted.Render(kit.Fit(f.st.G, label, labelW, false)) + " " + style.Render(row))
	}
}

// AddProse puts a fact that is raw prose of several lines, of which it reads at
// most max bytes.
func (f *Sheet) AddProse(label, raw string, limit int, style theme.Style) {
	for _, line := range text.Block(text.Head(raw, limit)) {
		f.Add(label, line, style)
		if line != "" {
			label = ""
		}
	}
}

// Prose puts several lines of clean text over the whole width.
func (f *Sheet) Prose(lines []string, style theme.Style) {
	for _, l := range lines {
		for _, row := range text.Wrap(l, max(1, f.w)) {
			if len(f.lines) >= f.h {
				return
			}
			f.Line(style.Render(row))
		}
	}
}

// Line puts one line that is already styled.
func (f *Sheet) Line(s string) { f.lines = append(f.lines, kit.FitStyled(s, f.w)) }

// Gap puts a blank line between groups of facts.
func (f *Sheet) Gap() {
	if len(f.lines) > 0 {
		f.lines = append(f.lines, kit.Blank(f.w))
	}
}

// Lines gives exactly h lines.
func (f *Sheet) Lines() []string {
	for len(f.lines) < f.h {
		f.lines = append(f.lines, kit.Blank(f.w))
	}
	return f.lines[:f.h]
}

// Detail is how a view is divided into a list and the details of its selected
// row: side by side where there is room, else one above the other.
type Detail struct {
	ListW, ListH int // with the list's heading
	W, H         int // of the details; 0: not shown
	Beside       bool
}

// sideFrom is the width from which the details stand beside the list.
const sideFrom = 150

// Divide lays out w×h cells.
func Divide(w, h int) Detail {
	if w >= sideFrom {
		dw := min(72, w/3)
		return Detail{ListW: w - dw - 3, ListH: h, W: dw, H: h, Beside: true}
	}
	if h < 12 || w < 30 {
		return Detail{ListW: w, ListH: h}
	}
	dh := max(4, min(10, h/3))
	return Detail{ListW: w, ListH: h - dh - 1, W: w, H: dh}
}

// Join puts list (ListH lines) and details (H lines) together; title names the
// details where they stand below.
func (d Detail) Join(st *theme.Styles, list, details []string, title string) string {
	var b strings.Builder
	for i, l := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l)
		if d.Beside {
			b.WriteString(" " + st.Faint.Render(st.G.V) + " ")
			b.WriteString(details[i])
		}
	}
	if !d.Beside && d.H > 0 {
		b.WriteByte('\n')
		b.WriteString(kit.Rule(st, title, false, d.W))
		for _, l := range details {
			b.WriteByte('\n')
			b.WriteString(l)
		}
	}
	return b.String()
}

// Table draws rows with the widths of cols; see kit.Widths.
type Table struct {
	Cols []kit.Col
	ws   []int
	w    int
}

// NewTable lays cols out in w cells.
func NewTable(cols []kit.Col, w int) Table { return Table{cols, kit.Widths(cols, w), w} }

// W is the width of column i, 0 when it is not shown.
func (t Table) W(i int) int { return t.ws[i] }

// Head draws the titles.
func (t Table) Head(st *theme.Styles) string {
	cells := make([]kit.Cell, 0, len(t.ws))
	for i, c := range t.Cols {
		if t.ws[i] > 0 {
			cells = append(cells, kit.Cell{Text: c.Title, Style: st.Muted, W: t.ws[i], Right: c.Right})
		}
	}
	return kit.Row(st, theme.SelNone, t.w, cells...)
}

// Cell is the text of one column in its style; Bar says that it is a bar.
type Cell struct {
	Text  string
	Style theme.Style
	Bar   bool
}

// Row draws one row; cells stand in the order of the columns.
func (t Table) Row(st *theme.Styles, sel theme.Selection, row []Cell) string {
	cells := make([]kit.Cell, 0, len(t.ws))
	for i, c := range row {
		if t.ws[i] > 0 {
			cells = append(cells, kit.Cell{Text: c.Text, Style: c.Style, W: t.ws[i], Right: t.Cols[i].Right, Bar: c.Bar})
		}
	}
	return kit.Row(st, sel, t.w, cells...)
}

// RowSpan is [Table.Row] with the columns from to last made one, for a row that
// has one text to show there.
func (t Table) RowSpan(st *theme.Styles, sel theme.Selection, row []Cell, from, last int) string {
	cells := make([]kit.Cell, 0, len(t.ws))
	for i, c := range row {
		w := t.ws[i]
		if i == from {
			for j := from + 1; j <= last; j++ {
				if t.ws[j] > 0 {
					w += t.ws[j] + 1
				}
			}
		}
		if w > 0 && (i <= from || i > last) {
			cells = append(cells, kit.Cell{Text: c.Text, Style: c.Style, W: w, Right: t.Cols[i].Right && i != from})
		}
	}
	return kit.Row(st, sel, t.w, cells...)
}

// Margin gives the selection of a row and the sign in its first cell.
func Margin(st *theme.Styles, selected, focused, marked bool) (theme.Selection, string) {
	mark := " "
	if marked {
		mark = st.G.Mark
	}
	if !selected {
		return theme.SelNone, mark
	}
	if !marked {
		mark = st.G.Cursor
	}
	if focused {
		return theme.SelFocused, mark
	}
	return theme.SelUnfocused, mark
}

// Over puts a note at the right end of a line of w cells, over what stood there.
func Over(st *theme.Styles, line, note string, w int) string {
	if note == "" {
		return line
	}
	note = text.Clip(note, w)
	n := w - text.Width(note)
	if n < 1 {
		return st.Accent.Render(text.Pad(note, w))
	}
	return kit.FitStyled(line, n-1) + " " + st.Accent.Render(note)
}
