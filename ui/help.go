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

// helpLine is one line of the help: a heading, a key, or more about the key above,
// which may be another key that does the same.
type helpLine struct {
	head string
	hint hint
	note string
}

// helpKeyCells is the room of the keys.
const helpKeyCells = 14

// withReasons breaks into lines of w cells what keys do, and why they cannot now,
// so that neither key nor reason is ever cut off. A reason that stands at the key above
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
		for _, row := range notes {
			rows = append(rows, "  "+row)
		}
		keys := text.Wrap(l.hint.key, helpKeyCells)
		l.hint.key, l.hint.help = keys[0], rows[0]
		out = append(out, l)
		for i := 1; i < max(len(keys), len(rows)); i++ {
			more := helpLine{note: " ", hint: hint{why: l.hint.why}}
			if i < len(rows) {
				more.note = rows[i]
			}
			if i < len(keys) {
				more.hint.key = keys[i]
			}
			out = append(out, more)
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

// helpPlan is how the keys are laid out over the body.
type helpPlan struct {
	all        []helpLine
	r          Rect
	w, colW    int
	cols       int
	per, shown int // lines of a column, and how many of them there is room for
}

// last is the furthest that the help can be scrolled.
func (p helpPlan) last() int { return p.per - p.shown }

// helpPlan lays out the keys, in two columns where they fit.
func (m *Model) helpPlan() helpPlan {
	p := helpPlan{r: m.size.rects.Over, cols: 1}
	p.w = min(p.r.W, 170)
	if p.w >= 110 {
		p.cols = 2
	}
	p.colW = (p.w - 4 - (p.cols-1)*2) / p.cols
	p.all = withReasons(m.helpLines(), p.colW)
	p.per = columnBreak(p.all, (len(p.all)+p.cols-1)/p.cols)
	p.shown = max(0, min(p.per, p.r.H-2))
	return p
}

// putHelp draws the keys over the body.
func (m *Model) putHelp(lines []string) {
	st, p := m.look.styles, m.helpPlan()
	edge := st.Accent.Render(st.G.V)
	title := "Keys, as they are now"
	if p.shown < p.per {
		title += fmt.Sprintf(" (%d to %d of %d)", m.input.scroll+1, m.input.scroll+p.shown, p.per)
	}
	box := []string{topLine(st, title, p.w)}
	for i := range p.shown {
		row := ""
		for c := range p.cols {
			at := c*p.per + m.input.scroll + i
			cell := kit.Blank(p.colW)
			if m.input.scroll+i < p.per && at < len(p.all) {
				cell = m.helpRow(p.all[at], p.colW)
			}
			if c > 0 {
				row += "  "
			}
			row += cell
		}
		box = append(box, edge+" "+kit.FitStyled(row, p.w-4)+" "+edge)
	}
	box = append(box, bottomLine(st, p.w))
	kit.Overlay(lines, box, p.r.X+(p.r.W-p.w)/2, p.r.Y+max(0, (p.r.H-len(box))/2), p.w)
}

func (m *Model) helpRow(l helpLine, w int) string {
	st := m.look.styles
	if l.head != "" {
		return st.Title.Render(kit.Fit(st.G, l.head, w, false))
	}
	if l.note != "" {
		l.hint.help = l.note
	} else if l.hint.key == "" {
		return kit.Blank(w)
	}
	help, style, key := l.hint.help, st.Text, st.Key
	if l.hint.why != "" {
		style, key = st.Muted, st.Muted
	}
	return kit.Row(st, theme.SelNone, w,
		kit.Cell{Text: l.hint.key, Style: key, W: helpKeyCells}, kit.Cell{Text: help, Style: style, W: max(0, w-helpKeyCells-1)})
}
