package ui

import (
	tea "charm.land/bubbletea/v2"

	"signalbox/ui/kit"
	"signalbox/ui/screen"
)

// inputMode is what the frame's own input is doing.
type inputMode int

const (
	inputNone inputMode = iota
	inputFilter
	inputPrompt
	inputPalette
	inputHelp
)

// input is the frame's own line: filter, prompt, palette, or the help over all.
type input struct {
	mode   inputMode
	ed     kit.Editor
	before string // the filter as it was, for esc
	fresh  bool   // the filter's old text is as if selected: typing replaces it
	prompt screen.Prompt

	all    commands  // what the palette can find, as of its opening
	found  []command // of it, what fits
	pick   int
	scroll int // of the help

	invokes invokes
	pasted  int  // id of the pause after a paste
	quiet   bool // keys right after a paste are dropped (B16)
}

func (m *Model) editFilter([]subject) tea.Cmd {
	m.input.mode = inputFilter
	m.input.before = m.room().Filter()
	m.input.ed.Set(m.input.before)
	m.input.fresh = m.input.before != ""
	return nil
}

// replaceFresh empties the filter line when its old text is still selected.
func (m *Model) replaceFresh() {
	if m.input.fresh {
		m.input.ed.Set("")
	}
	m.input.fresh = false
}

func (m *Model) openPrompt(p screen.Prompt) {
	m.input.mode = inputPrompt
	m.input.prompt = p
	m.input.ed.Set(p.Text)
}

func (m *Model) openHelp([]subject) tea.Cmd {
	m.input.mode, m.input.scroll = inputHelp, 0
	return nil
}

// onInputKey gives the frame's own line a key.
func (m *Model) onInputKey(k tea.KeyPressMsg) tea.Cmd {
	if k.String() == "ctrl+c" {
		m.input.mode = inputNone
		return nil
	}
	switch m.input.mode {
	case inputFilter:
		return m.onFilterKey(k)
	case inputPrompt:
		return m.onPromptKey(k)
	case inputPalette:
		return m.onPaletteKey(k)
	default:
		return m.onHelpKey(k)
	}
}

// onFilterKey filters while typing; esc gives the old filter back.
func (m *Model) onFilterKey(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "enter":
		m.input.mode = inputNone
		return nil
	case "esc":
		m.input.mode = inputNone
		m.room().SetFilter(m.input.before)
		return nil
	}
	if k.String() == "up" || k.String() == "down" {
		return m.roomKey(k.String())
	}
	if types(k) {
		m.replaceFresh()
	}
	if m.input.ed.Key(k) {
		m.input.fresh = false
		m.room().SetFilter(m.input.ed.Value())
	}
	return nil
}

// types reports whether k puts text into a line.
func types(k tea.KeyPressMsg) bool {
	return k.Text != "" && !k.Mod.Contains(tea.ModAlt) && !k.Mod.Contains(tea.ModCtrl)
}

func (m *Model) onPromptKey(k tea.KeyPressMsg) tea.Cmd {
	key := k.String()
	if key != "enter" && key != "esc" {
		m.input.ed.Key(k)
		return nil
	}
	m.input.mode = inputNone
	return m.carryOut(m.room().Update(m.bodyCtx(), screen.Prompted{
		For: m.input.prompt.For, Text: m.input.ed.Value(), Ok: key == "enter",
	}))
}

func (m *Model) onHelpKey(k tea.KeyPressMsg) tea.Cmd {
	page := max(1, m.size.rects.Over.H-3)
	switch k.String() {
	case "esc", "?", "q", "enter":
		m.input.mode = inputNone
	case "up", "k":
		m.input.scroll--
	case "down", "j":
		m.input.scroll++
	case "pgup":
		m.input.scroll -= page
	case "pgdown", "space":
		m.input.scroll += page
	case "home":
		m.input.scroll = 0
	case "end":
		m.input.scroll = 1 << 20
	}
	return nil
}
