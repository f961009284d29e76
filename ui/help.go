package ui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/theme"
)

type cursorAt = tea.Cursor

func topLine(st *theme.Styles, title string, w int) string {
	title = text.ClipMark(title, w-6, st.G.Ellipsis)
	return st.Accent.Render(st.G.TopLeft+st.G.H) + st.Title.Render(" "+title+" ") +
		st.Accent.Render(strings.Repeat(st.G.H, max(0, w-5-text.Width(title)))+st.G.TopRight)
}

func bottomLine(st *theme.Styles, w int) string {
	return st.Accent.Render(st.G.BottomLeft + strings.Repeat(st.G.H, max(0, w-2)) + st.G.BottomRight)
}

// helpLine is one line of the help: a heading, a key, or more about the key above.
type helpLine struct {
	head string
	hint hint
	note string
}

// helpKeyCells is the room of the keys.
const helpKeyCells = 14

// withReasons breaks into lines of w cells what keys do, and why they cannot now,
// so that the reason is never what is cut off. A reason that stands at the key above
// is not told again.
func withReasons(in []helpLine, w int) []helpLine {
	out := make([]helpLine, 0, len(in))
	w = max(1, w-helpKeyCells-1)
	told := ""
	for _, l := range in {
		if l.hint.key == "" {
			out, told = append(out, l), ""
			continue
		}
		var notes []string
		again := l.hint.why == told
		told = l.hint.why
		if l.hint.why != "" {
			why := "not now: " + l.hint.why
			if again {
				l.hint.help += " (likewise)"
			} else if text.Width(l.hint.help)+text.Width(why)+3 <= w {
				l.hint.help += " (" + why + ")"
			} else {
				notes = text.Wrap(why, max(1, w-2))
			}
		}
		rows := text.Wrap(l.hint.help, w)
		l.hint.help = rows[0]
		out = append(out, l)
		for _, row := range rows[1:] {
			out = append(out, helpLine{note: row, hint: hint{why: l.hint.why}})
		}
		for _, row := range notes {
			out = append(out, helpLine{note: "  " + row, hint: hint{why: l.hint.why}})
		}
	}
	return out
}

// helpLines are all keys as they are now, by group: what the screen adds first,
// and what moves in every list before what acts everywhere.
func (m *Model) helpLines() []helpLine {
	var own, moving []helpLine
	over := map[string]bool{}
	for _, b := range m.room().Bindings() {
		for _, k := range b.Keys {
			over[k] = true
		}
		l := helpLine{hint: hint{key: strings.Join(b.Keys, " "), help: b.Help}}
		if isNav(b.Do) {
			moving = append(moving, l)
		} else {
			own = append(own, l)
		}
	}
	var out []helpLine
	if len(own) > 0 {
		out = append(append(out, helpLine{head: m.room().Name()}), append(own, helpLine{})...)
	}
	s := m.subjectOf(m.target())
	for i, g := range []string{groupDecide, groupWork, groupTasks, groupRows, groupFrame} {
		if g == groupFrame {
			out = append(append(out, helpLine{}, helpLine{head: "Moving"}), moving...)
		}
		if i > 0 {
			out = append(out, helpLine{})
		}
		out = append(out, helpLine{head: g})
		for i := range m.actions {
			a := &m.actions[i]
			if a.group != g || over[a.keys[0]] {
				continue
			}
			h := hint{key: strings.Join(a.keys, " "), help: a.long}
			if ok, why := m.enabled(a, s); !ok {
				h.why = why
			}
			out = append(out, helpLine{hint: h})
		}
	}
	return append(out, helpLine{hint: hint{key: "esc", help: "one step back; never quits"}},
		helpLine{hint: hint{key: "ctrl+c", help: "quit; twice to leave at once"}})
}

// columnBreak moves the end of a column of per lines down to the next group, where
// that is near, else behind what is said about one key.
func columnBreak(all []helpLine, per int) int {
	const near = 8
	for at := per; at < min(len(all), per+near); at++ {
		if all[at-1] == (helpLine{}) {
			return at
		}
	}
	for per < len(all) && all[per].note != "" {
		per++
	}
	return per
}

// putHelp draws the keys over the body, in two columns where they fit.
func (m *Model) putHelp(lines []string) {
	st := m.look.styles
	r := m.size.rects.Body
	w := min(r.W, 170)
	rows := r.H - 2
	cols := 1
	if w >= 110 {
		cols = 2
	}
	colW := (w - 4 - (cols-1)*2) / cols
	all := withReasons(m.helpLines(), colW)
	per := (len(all) + cols - 1) / cols
	per = columnBreak(all, per)
	m.input.scroll = max(0, min(m.input.scroll, per-rows))
	edge := st.Accent.Render(st.G.V)
	title := "Keys, as they are now"
	if per > rows {
		title += fmt.Sprintf(" (%d to %d of %d)", m.input.scroll+1, m.input.scroll+rows, per)
	}
	box := []string{topLine(st, title, w)}
	for i := range min(rows, per) {
		row := ""
		for c := range cols {
			at := c*per + m.input.scroll + i
			cell := kit.Blank(colW)
			if m.input.scroll+i < per && at < len(all) {
				cell = m.helpRow(all[at], colW)
			}
			if c > 0 {
				row += "  "
			}
			row += cell
		}
		box = append(box, edge+" "+kit.FitStyled(row, w-4)+" "+edge)
	}
	box = append(box, bottomLine(st, w))
	kit.Overlay(lines, box, r.X+(r.W-w)/2, r.Y+max(0, (r.H-len(box))/2), w)
}

func (m *Model) helpRow(l helpLine, w int) string {
	st := m.look.styles
	if l.head != "" {
		return st.Title.Render(kit.Fit(st.G, l.head, w, false))
	}
	if l.note != "" {
		style := st.Text
		if l.hint.why != "" {
			style = st.Muted
		}
		return kit.Blank(min(w, helpKeyCells+1)) + style.Render(kit.Fit(st.G, l.note, max(0, w-helpKeyCells-1), false))
	}
	if l.hint.key == "" {
		return kit.Blank(w)
	}
	help, style, key := l.hint.help, st.Text, st.Key
	if l.hint.why != "" {
		style, key = st.Muted, st.Muted
	}
	return kit.Row(st, theme.SelNone, w,
		kit.Cell{Text: l.hint.key, Style: key, W: helpKeyCells}, kit.Cell{Text: help, Style: style, W: max(0, w-helpKeyCells-1)})
}
