package ui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"signalbox/model/text"
	"signalbox/ui/dialog"
	"signalbox/ui/kit"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// View draws the whole screen. It is the only place that builds a tea.View, so
// that no branch can forget the alternate screen.
func (m *Model) View() tea.View {
	if m.standsStill() {
		return m.still.view
	}
	v := tea.NewView("")
	v.AltScreen = true
	v.ReportFocus = true
	v.WindowTitle = m.queueTitle()
	if !m.opts.NoMouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	v.Content, v.Cursor = m.frame()
	m.still = still{v, m.size.w, m.size.h}
	return v
}

// frame draws the text of the screen and says where the cursor stands.
func (m *Model) frame() (string, *tea.Cursor) {
	if m.size.w <= 0 || m.size.h <= 0 || m.end.left {
		return "", nil
	}
	var out string
	var cursor *tea.Cursor
	if m.size.rects.Small {
		out = m.smallFrame()
	} else {
		out, cursor = m.fullFrame()
	}
	if m.look.styles.G.ASCII {
		out = asciiWords.Replace(out)
	}
	return out, cursor
}

func (m *Model) fullFrame() (string, *tea.Cursor) {
	r := m.size.rects
	body := kit.SplitLines(m.room().View(m.bodyCtx()))
	lines := make([]string, 0, m.size.h)
	lines = append(lines, m.header(), m.topRule(body))
	for i := range r.Body.H {
		row := ""
		if i < len(body) {
			row = body[i]
		}
		lines = append(lines, " "+row+" ")
	}
	lines = append(lines, m.baseRule(body))
	lines = append(lines, m.toastRows()...)
	lines = append(lines, m.keyRow())
	cursor := m.putOver(lines)
	return strings.Join(lines, "\n"), cursor
}

// asciiWords replaces, cell for cell, the signs that stand in our own sentences and
// those that stand for controls and broken bytes in the text of others. Where signs
// of ambiguous width are measured as two cells (RUNEWIDTH_EASTASIAN=1), two are put.
var asciiWords = func() *strings.Replacer {
	pairs := []string{"·", "-", "…", "~", "→", ">", "×", "x", "“", "\"", "”", "\"", "▸", ">", "\ufffd", "?"}
	for r := '␀'; r <= '␤'; r++ {
		pairs = append(pairs, string(r), "?")
	}
	for i := 0; i < len(pairs); i += 2 {
		pairs[i+1] += kit.Blank(ansi.StringWidth(pairs[i]) - 1)
	}
	return strings.NewReplacer(pairs...)
}()

func (m *Model) smallFrame() string {
	row := text.Clip("needs 60×16 cells; q quits", m.size.w)
	lines := make([]string, m.size.h)
	lines[(m.size.h-1)/2] = kit.Blank((m.size.w-text.Width(row))/2) + row
	return kit.Lines(lines, m.size.w, m.size.h)
}

// topRule is the line above the body: the screen's name, its filter, and where
// the lines between the panes begin.
func (m *Model) topRule(body []string) string {
	st := m.look.styles
	title := m.roomTitle()
	line := []string{}
	for range m.size.w {
		line = append(line, st.G.H)
	}
	if len(body) > 0 {
		for _, x := range junctions(st, body[:min(len(body), edgeRows)]) {
			if x+1 < len(line) {
				line[x+1] = st.G.TeeDown
			}
		}
	}
	title = text.ClipMark(title, m.size.w-6, st.G.Ellipsis)
	w := text.Width(title) + 2
	return st.Faint.Render(line[0]) + st.Title.Render(" "+title+" ") + st.Faint.Render(strings.Join(line[min(len(line), 1+w):], ""))
}

// roomTitle names what fills the body.
func (m *Model) roomTitle() string {
	if s := m.topSheet(); s != nil {
		return s.Title()
	}
	return m.room().Name()
}

// junctions are the cells at which lines between panes meet the rule beside
// rows, the nearest row first. A pane's line is told from the same sign in
// remote text by its look; where lines have no look of their own, by standing in
// one cell of all rows.
func junctions(st *theme.Styles, rows []string) []int {
	if len(rows) == 0 {
		return nil
	}
	line := st.Faint.Render(st.G.V)
	out := columnsOf(rows[0], line)
	if line != st.G.V {
		return out
	}
	for _, row := range rows[1:] {
		through := append(columnsOf(row, st.G.V), columnsOf(row, st.G.Cross)...)
		out = slices.DeleteFunc(out, func(x int) bool { return !slices.Contains(through, x) })
	}
	return out
}

// columnsOf are the cells of row in which sign stands.
func columnsOf(row, sign string) []int {
	var out []int
	for from := 0; ; {
		i := strings.Index(row[from:], sign)
		if i < 0 {
			return out
		}
		out = append(out, ansi.StringWidth(row[:from+i]))
		from += i + len(sign)
	}
}

// edgeRows is how many rows must carry a line without a look of its own.
const edgeRows = 4

// baseRule is the line below the body; it tells what narrows or adds to what is
// shown.
func (m *Model) baseRule(body []string) string {
	st := m.look.styles
	line := make([]string, m.size.w)
	for i := range line {
		line[i] = st.G.H
	}
	if len(body) > 0 {
		near := slices.Clone(body[max(0, len(body)-edgeRows):])
		slices.Reverse(near)
		for _, x := range junctions(st, near) {
			if x+1 < len(line) {
				line[x+1] = st.G.TeeUp
			}
		}
	}
	left, note := m.outOfSight(), m.baseNote()
	from, to := 0, m.size.w
	out := ""
	if left != "" {
		from = 1 + text.Width(left) + 2
		out = st.Faint.Render(line[0]) + st.Muted.Render(" "+left+" ")
	}
	tail := ""
	if note != "" {
		note = text.ClipMark(note, m.size.w-from-4, st.G.Ellipsis)
		to = m.size.w - text.Width(note) - 3
		tail = st.Accent.Render(" "+note+" ") + st.Faint.Render(line[m.size.w-1])
	}
	return out + st.Faint.Render(strings.Join(line[from:to], "")) + tail
}

// outOfSight tells how many rows of the list lie above and below what is shown.
func (m *Model) outOfSight() string {
	r, ok := m.room().(screen.Scroller)
	if !ok {
		return ""
	}
	g := m.look.styles.G
	above, below := r.Hidden(m.bodyCtx())
	var parts []string
	if above > 0 {
		parts = append(parts, g.Up+" "+kit.Count(above)+" above")
	}
	if below > 0 {
		parts = append(parts, g.Down+" "+kit.Count(below)+" below")
	}
	return strings.Join(parts, "  ")
}

func (m *Model) baseNote() string {
	var parts []string
	if n := len(m.marks); n > 0 {
		parts = append(parts, plural(n, "row marked", "rows marked")+", esc unmarks")
	}
	if f := m.room().Filter(); f != "" && m.input.mode != inputFilter {
		parts = append(parts, "filter "+text.Clip(clean(f), 40)+", esc clears")
	}
	if n := len(m.snoozed); n > 0 {
		parts = append(parts, plural(n, "ask snoozed", "asks snoozed"))
	}
	return strings.Join(parts, " "+m.look.styles.G.Dot+" ")
}

// toastRows draws the toasts in the lines they were given, the newest last.
func (m *Model) toastRows() []string {
	n := len(m.toasts.list)
	if n == 0 || m.size.rects.Toasts.H == 0 {
		return nil
	}
	rows := m.drawToasts(n)
	rows = rows[len(rows)-m.size.rects.Toasts.H:]
	if m.toastsCovered() {
		// The lowest row is free whatever stands above: it has the newest in short.
		for i := range rows {
			rows[i] = kit.Blank(m.size.w)
		}
		newest := m.toasts.list[n-1]
		rows[len(rows)-1] = m.toastRow(newest.level, true, newest.text)
	}
	return rows
}

// drawToasts draws the last toasts, long ones on up to three rows.
func (m *Model) drawToasts(n int) []string {
	var rows []string
	for _, t := range m.toasts.list[max(0, n-3):] {
		for i, row := range text.Wrap(t.text, m.size.w-6) {
			if i == 3 {
				break
			}
			rows = append(rows, m.toastRow(t.level, i == 0, row))
		}
	}
	return rows
}

// toastRow draws one row of a toast, with its sign in front of the first.
func (m *Model) toastRow(level screen.Level, first bool, row string) string {
	st := m.look.styles
	glyph, style := toastMark(st, level)
	if !first {
		glyph = " "
	}
	return " " + style.Render(glyph+" ") + st.Text.Render(kit.Fit(st.G, row, m.size.w-4, false)) + " "
}

// layout divides the screen anew: after a change of its size or of the toasts.
func (m *Model) layout() {
	m.size.rects = LayoutToasts(m.size.w, m.size.h, 0)
	if n := len(m.toasts.list); n > 0 && !m.size.rects.Small {
		m.size.rects = LayoutToasts(m.size.w, m.size.h, len(m.drawToasts(n)))
	}
}

func toastMark(st *theme.Styles, l screen.Level) (string, theme.Style) {
	switch l {
	case screen.Good:
		return st.G.Check, st.OK
	case screen.Warn:
		return st.G.Flag, st.Warn
	case screen.Bad:
		return st.G.Cross2, st.Bad
	}
	return st.G.Dot, st.Muted
}

// filterHint tells of words that the room's rows have.
func (m *Model) filterHint() string {
	if m.room().ID() == screen.Queue {
		return "words are and-ed; kind:accept severity:high agent:x older:1h -word"
	}
	return "words are and-ed; status:ready agent:x older:1h -word"
}

// putOver lays dialogs, palette and help over the screen, and the input line
// over the key row. It gives the cursor's place.
func (m *Model) putOver(lines []string) *tea.Cursor {
	var cursor *tea.Cursor
	switch m.input.mode {
	case inputFilter:
		cursor = m.putLine(lines, "/", m.filterHint())
	case inputPrompt:
		cursor = m.putLine(lines, clean(m.input.prompt.Title)+" ", "")
	case inputPalette:
		cursor = m.putPalette(lines)
	case inputHelp:
		m.putHelp(lines)
	}
	if o := m.top(); o != nil {
		return m.putDialog(lines, o)
	}
	return cursor
}

// putLine draws the frame's input line in place of the key row.
func (m *Model) putLine(lines []string, prompt, hint string) *tea.Cursor {
	st := m.look.styles
	pw := text.Width(prompt)
	w := m.size.w - pw - 2
	s, x := m.input.ed.View(w)
	row := " " + st.Key.Render(prompt)
	if m.input.ed.Value() == "" && hint != "" {
		row += st.Muted.Render(kit.Fit(st.G, hint, w, false))
	} else if n := text.Width(strings.TrimRight(s, " ")); m.input.mode == inputFilter && m.input.fresh {
		row += st.Text.Draw(text.Clip(s, n), theme.SelFocused) + kit.Blank(w-n)
	} else {
		row += st.Text.Render(s)
	}
	lines[len(lines)-1] = kit.FitStyled(row, m.size.w)
	return barAt(1+pw+x, m.size.h-1)
}

func barAt(x, y int) *tea.Cursor {
	c := tea.NewCursor(x, y)
	c.Shape, c.Blink = tea.CursorBar, false
	return c
}

// dialogBox draws a dialog and says where it stands.
func (m *Model) dialogBox(o *open) (box dialog.Box, x, y int) {
	r := m.size.rects.Over
	box = o.d.View(m.look.styles, r.W, r.H, m.changed(o))
	return box, r.X + (r.W-box.W)/2, r.Y + (r.H-len(box.Lines))/2
}

func (m *Model) putDialog(lines []string, o *open) *tea.Cursor {
	box, x, y := m.dialogBox(o)
	if len(box.Lines) == 0 {
		return nil
	}
	kit.Overlay(lines, box.Lines, x, y, box.W)
	if !box.Caret {
		return nil
	}
	return barAt(x+box.CaretX, y+box.CaretY)
}
