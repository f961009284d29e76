package dialog

import (
	"strings"

	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/theme"
)

func (p *painter) field(f *Field, focused bool, at int) []string {
	label := p.st.Muted
	mark := " "
	if focused {
		label, mark = p.st.Title, p.st.G.Cursor
	}
	head := p.st.Accent.Render(mark) + label.Render(kit.Fit(p.st.G, f.Label, labelCells-2, false)) + " "
	w := p.w - labelCells
	switch {
	case f.Options != nil:
		return p.choice(f, focused, head, w, at)
	case f.Rows > 0:
		return p.area(f, focused, head, w, at)
	}
	return []string{head + p.line(f, focused, w, at)}
}

// leastText is the least room for a text that has its note beside it.
const leastText = 16

// line draws a one-line text and notes where the caret is.
func (p *painter) line(f *Field, focused bool, w, at int) string {
	hint := f.Hint
	if f.HintNow != nil {
		hint = f.HintNow(p.d)
	}
	empty := f.ed.Value() == "" && hint != ""
	note, least := "", leastText
	if empty {
		least = text.Width(hint) // it tells more than the note
	}
	if n := text.Width(f.Note) + 1; f.Note != "" && w-n >= least {
		note, w = p.st.Muted.Render(" "+f.Note), w-n
	}
	s, x := f.ed.View(w)
	if focused {
		p.caret, p.caretX, p.caretY = true, labelCells+x, at
	}
	if empty {
		return p.st.Muted.Render(kit.Fit(p.st.G, hint, w, false)) + note
	}
	return p.st.Field.Render(s) + note
}

func (p *painter) area(f *Field, focused bool, head string, w, at int) []string {
	rows, x, y := f.ed.ViewMulti(w, f.Rows)
	if focused {
		p.caret, p.caretX, p.caretY = true, labelCells+x, at+y
	}
	out := make([]string, len(rows))
	for i, r := range rows {
		h := head
		if i > 0 {
			h = kit.Blank(labelCells)
		}
		out[i] = h + p.st.Field.Render(r)
	}
	return out
}

// choice draws the picked option alone, or the list around it while the field
// has the keys.
func (p *painter) choice(f *Field, focused bool, head string, w, at int) []string {
	if !focused {
		return []string{head + p.st.Text.Render(kit.Fit(p.st.G, p.picked(f), w, false))}
	}
	if len(f.Options) <= 4 && !f.Other && p.inlineWidth(f) <= w {
		return []string{head + p.inline(f, w, at)}
	}
	first := p.st.Muted.Render(kit.Fit(p.st.G, p.picked(f), w, false))
	if f.takesLetters() {
		s, x := f.ed.View(w)
		p.caret, p.caretX, p.caretY = true, labelCells+x, at
		first = p.st.Field.Render(s)
		if f.ed.Value() == "" {
			first = p.st.Muted.Render(kit.Fit(p.st.G, "type to narrow "+itoa(len(f.Options)), w, false))
		}
	}
	out := []string{head + first}
	from := max(0, min(f.pick-shownOptions/2, len(f.shown)-shownOptions))
	for i := from; i < min(len(f.shown), from+shownOptions); i++ {
		p.spots = append(p.spots, Spot{X: labelCells, Y: at + len(out), W: w, field: p.at, option: i, button: -1})
		out = append(out, kit.Blank(labelCells)+p.option(f.shown[i], i == f.pick, w))
	}
	if len(f.shown) == 0 {
		why := "nothing fits; esc clears"
		if f.Other {
			why = "nothing fits; enter takes it as written"
		}
		out = append(out, kit.Blank(labelCells)+p.st.Muted.Render(kit.Fit(p.st.G, why, w, false)))
	}
	return out
}

func (p *painter) picked(f *Field) string {
	if f.pick < len(f.shown) {
		return f.shown[f.pick].label()
	}
	if v := f.ed.Value(); v != "" && !f.Other {
		return clip(v) + " (nothing fits)"
	}
	return clip(f.Value())
}

// clip makes what was typed fit for a row.
func clip(s string) string { return text.Line(text.Head(s, 400)) }

func (p *painter) option(o Option, picked bool, w int) string {
	sel, lead := theme.SelNone, " "
	if picked {
		sel, lead = theme.SelFocused, p.st.G.Cursor
	}
	lw := min(w, max(text.Width(o.label()), w/2))
	return kit.Row(p.st, sel, w, kit.Cell{Text: lead, Style: p.st.Accent, W: 1},
		kit.Cell{Text: o.label(), Style: p.st.Text, W: lw}, kit.Cell{Text: o.Note, Style: p.st.Muted, W: w})
}

func (p *painter) inlineWidth(f *Field) int {
	n := 0
	for _, o := range f.Options {
		n += text.Width(o.label()) + 3
	}
	return n
}

func (p *painter) inline(f *Field, w, at int) string {
	var b strings.Builder
	used := 0
	for i, o := range f.shown {
		s := " " + o.label() + " "
		style := theme.SelNone
		if i == f.pick {
			// The brackets tell it where colours do not.
			s = "[" + o.label() + "]"
			style = theme.SelFocused
		}
		p.spots = append(p.spots, Spot{X: labelCells + used, Y: at, W: text.Width(s), field: p.at, option: i, button: -1})
		b.WriteString(p.st.Text.Draw(s, style))
		b.WriteString(" ")
		used += text.Width(s) + 1
	}
	return b.String() + kit.Blank(w-used)
}
