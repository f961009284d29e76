package ui

import (
	"slices"

	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// hint is one entry of the key row or the help.
type hint struct {
	key, help string
	why       string // why it cannot run now; "" = it can
	press     string // the key it stands for, when key is shown otherwise
}

// pressed is the key a click on the hint presses.
func (h hint) pressed() string {
	if h.press != "" {
		return h.press
	}
	return h.key
}

// keyRow shows the keys that act on the selected row, from the live key map: the
// possible ones first, then those that say why not when pressed.
func (m *Model) keyRow() string {
	row, _ := m.keys()
	return row
}

// keys draws the key row and says which key stands where, for the mouse.
func (m *Model) keys() (string, []spot) {
	st := m.look.styles
	var spots []spot
	tail := []piece{}
	tailW := 0
	for _, h := range m.fixedHints() {
		ps := hintPieces(st, h)
		spots = append(spots, spot{tailW, width(ps) - 2, h.pressed()})
		tail = append(tail, ps...)
		tailW += width(ps)
	}
	room := m.size.w - 1 - tailW
	for i := range spots {
		spots[i].x += 1 + room
	}
	var head []piece
	used := 0
	for _, h := range m.rowHints() {
		ps := hintPieces(st, h)
		if used+width(ps) > room {
			break
		}
		spots = append(spots, spot{1 + used, width(ps) - 2, h.pressed()})
		head = append(head, ps...)
		used += width(ps)
	}
	return kit.FitStyled(" "+render(head)+kit.Blank(room-used)+render(tail), m.size.w), spots
}

func hintPieces(st *theme.Styles, h hint) []piece {
	key, help := st.Key, st.Text
	if h.why != "" {
		key, help = st.Muted, st.Muted
	}
	return []piece{{h.key, key, 0}, {" " + h.help + "  ", help, 0}}
}

// rowHints are what the row waits for or is settled by, the acts it allows, with what the screen is
// for, the screen's own keys, what needs no row, and last what cannot be done now.
func (m *Model) rowHints() []hint {
	if o := m.top(); o != nil {
		return m.dialogHints(o)
	}
	switch m.input.mode {
	case inputHelp:
		return []hint{{key: "j/k", help: "scroll", press: "j"}, {key: "pgdn", help: "page", press: "pgdown"}, {key: "esc", help: "close"}}
	case inputPalette:
		return []hint{{key: "enter", help: "do it"}, {key: "down", help: "next"}, {key: "up", help: "previous"}, {key: "esc", help: "leave"}}
	}
	var awaited, can, own, local, later, cannot []hint
	over := map[string]bool{}
	for _, b := range m.room().Bindings() {
		for _, k := range b.Keys {
			over[k] = true
		}
		switch h := (hint{key: bindingKey(b), help: b.Help, press: b.Keys[0]}); {
		case b.First:
			awaited = append(awaited, h)
		case b.Row:
			local = append(local, h)
		}
	}
	s := m.subjectOf(m.target())
	for i := range m.actions {
		a := &m.actions[i]
		mine := slices.Contains(ownActions[m.room().ID()], a.id)
		if a.group == groupFrame || over[a.keys[0]] || !mine && a.on&onNothing == 0 && !a.fits(s) {
			continue
		}
		h := hint{key: a.keys[0], help: m.helpOf(a, s)}
		ok, why := m.enabled(a, s)
		if !ok {
			h.why = why
		}
		switch {
		case ok && a.id == "seen": // nothing else settles such an ask
			awaited = append(awaited, h)
		case mine:
			own = append(own, h)
		case !ok:
			cannot = append(cannot, h)
		case a.on&onNothing != 0 || a.group == groupRows:
			later = append(later, h)
		default:
			can = append(can, h)
		}
	}
	// The first act on the row, what the screen is for, then the rest.
	first := min(1, len(can))
	return slices.Concat(awaited, can[:first], own, can[first:], local, later, cannot)
}

// ownActions are what a screen is for: in its key row at every width, also while
// no row is selected.
var ownActions = map[screen.ID][]string{
	screen.Board: {"new"}, screen.Tasks: {"invoke"}, screen.Feed: {"post"}, screen.Agents: {"invoke"},
}

// dialogHints are the keys of a form.
func (m *Model) dialogHints(o *open) []hint {
	if o.d.Asking() {
		return []hint{{key: "y", help: "leave"}, {key: "n/esc", help: "stay", press: "n"}}
	}
	out := []hint{{key: "enter", help: o.d.EnterDoes()}}
	if s := o.d.Submits(); s != "" && s != o.d.EnterDoes() {
		out = append(out, hint{key: "ctrl+s", help: s})
	}
	if len(o.d.Fields) > 0 {
		out = append(out, hint{key: "tab", help: "other fields"})
	}
	if f := o.d.Focused(); f != nil && f.Options == nil && len(m.opts.Editor) > 0 {
		out = append(out, hint{key: "ctrl+e", help: "$EDITOR"})
	}
	return append(out, hint{key: "esc", help: "leave"})
}

// helpOf names the action as it would work on s.
func (m *Model) helpOf(a *action, s subject) string {
	switch {
	case a.id == "block" && s.item != nil && s.item.Status() == "blocked":
		return "unblock"
	case a.id == "freeze" && m.state.Settings.Frozen:
		return "unfreeze"
	case a.id == "snooze" && s.t.AskKey != "":
		if _, ok := m.snoozed[s.t.AskKey]; ok {
			return "wake"
		}
	}
	return a.help
}

func bindingKey(b screen.Binding) string {
	if b.Shown != "" {
		return b.Shown
	}
	return b.Keys[0]
}

// fixedHints stand at the right end, always.
func (m *Model) fixedHints() []hint {
	out := []hint{}
	if !m.screenHasKeys() {
		return out
	}
	if len(m.rooms.sheets) > 0 {
		out = append(out, hint{key: "esc", help: "back"})
	}
	return append(out, m.hintOf("filter"), m.hintOf("palette"), m.hintOf("help"))
}

func (m *Model) hintOf(id string) hint {
	a := m.actionByID(id)
	return hint{key: a.keys[0], help: a.help}
}

// putPalette draws the palette.
func (m *Model) putPalette(lines []string) (c *cursorAt) {
	st := m.look.styles
	r := m.size.rects.Over
	w := min(r.W, 90)
	rows := min(r.H-4, 16)
	if w < 20 || rows < 1 {
		return nil
	}
	inner := w - 4
	edge := st.Accent.Render(st.G.V)
	box := []string{topLine(st, "Commands", w)}
	s, x := m.input.ed.View(inner - 2)
	row := st.Text.Render(s)
	if m.input.ed.Value() == "" {
		row = st.Muted.Render(kit.Fit(st.G, "action, screen, item, agent or task", inner-2, false))
	}
	box = append(box, edge+" "+st.Key.Render(": ")+row+" "+edge)
	why := m.paletteWhy(inner)
	rows -= len(why)
	from := max(0, min(m.input.pick-rows/2, len(m.input.found)-rows))
	for i := from; i < from+rows; i++ {
		line := kit.Blank(inner)
		if i < len(m.input.found) {
			line = m.paletteRow(m.input.found[i], i == m.input.pick, inner)
		} else if i == 0 {
			line = st.Muted.Render(kit.Fit(st.G, "nothing fits", inner, false))
		}
		box = append(box, edge+" "+line+" "+edge)
	}
	for _, row := range why {
		box = append(box, edge+" "+st.Warn.Render(kit.Fit(st.G, row, inner, false))+" "+edge)
	}
	box = append(box, bottomLine(st, w))
	bx, by := r.X+(r.W-w)/2, r.Y+max(0, (r.H-len(box))/3)
	kit.Overlay(lines, box, bx, by, w)
	return barAt(bx+4+x, by+1)
}

// paletteWhy tells in full why the picked action cannot act now.
func (m *Model) paletteWhy(w int) []string {
	if m.input.pick >= len(m.input.found) {
		return nil
	}
	c := m.input.found[m.input.pick]
	if c.why == "" {
		return nil
	}
	rows := text.Wrap(c.name+" cannot act now: "+c.why, w)
	return rows[:min(len(rows), 2)]
}

func (m *Model) paletteRow(c command, picked bool, w int) string {
	st := m.look.styles
	sel := theme.SelNone
	if picked {
		sel = theme.SelFocused
	}
	name, note := st.Text, c.note
	if c.why != "" {
		name, note = st.Muted, "not now: "+c.why
	}
	nameW := min(30, max(12, w/3))
	if n := text.Width(c.name); n > nameW && c.kind == "item" {
		c.name = text.MiddleMark(c.name, nameW, st.G.Ellipsis)
	}
	lead := " "
	if picked {
		lead = st.G.Cursor
	}
	return kit.Row(st, sel, w, kit.Cell{Text: lead, Style: st.Accent, W: 1},
		kit.Cell{Text: c.key, Style: st.Key, W: 6}, kit.Cell{Text: c.name, Style: name, W: nameW},
		kit.Cell{Text: c.kind, Style: st.Muted, W: 6}, kit.Cell{Text: note, Style: st.Muted, W: max(0, w-nameW-17)})
}
