package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/ui/dialog"
	"signalbox/ui/screen"
)

// route sends a message to the one place that knows what to do with it.
func (m *Model) route(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case FactsMsg:
		return m.onFacts(msg)
	case tick:
		return m.onTick(msg)
	case clockRead:
		return m.advance(msg.at)
	case tea.KeyPressMsg:
		return tea.Batch(m.onKey(msg), m.readClock())
	case tea.PasteMsg:
		return m.onPaste(msg)
	case tea.PasteEndMsg:
		return m.holdKeys()
	case tea.MouseClickMsg:
		return m.onClick(msg)
	case tea.MouseWheelMsg:
		return m.onWheel(msg)
	default:
		return m.routeRest(msg)
	}
}

// routeRest takes what comes seldom.
func (m *Model) routeRest(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		return m.onSize(msg)
	case tea.BackgroundColorMsg:
		return m.onBackground(msg)
	case tea.ColorProfileMsg:
		return m.onProfile(msg)
	case tea.FocusMsg:
		return m.onFocus()
	case tea.ResumeMsg:
		m.end.left = false
		return m.readTime()
	case LeaveMsg:
		return m.leave()
	case tea.BlurMsg:
		m.pointer.focused = false
	case actDone:
		return m.onActDone(msg)
	case taskActDone:
		return m.onTaskActDone(msg)
	case detailLoaded:
		return m.onDetail(msg)
	case transcriptLoaded:
		return m.tellRoom(msg.room, msg.msg)
	case goOn:
		return m.tellRoom(msg.room, screen.Continue{})
	case textMade:
		return m.copyText(msg.text, msg.what)
	case fedTask:
		return m.onFed(msg)
	case saved:
		return m.onSaved(msg)
	case seenKept:
		return m.onSeenKept(msg)
	case edited:
		return m.onEdited(msg)
	case toastOver:
		return m.onToastOver(msg)
	case slipOver:
		return m.onSlipOver(msg)
	case quietOver:
		m.onQuietOver(msg)
	case caughtUp:
		return m.onCaughtUp(msg)
	case clickOver:
		if msg.id == m.pointer.click {
			m.pointer.waiting = false
		}
	case pasteOver:
		if msg.id == m.input.pasted {
			m.input.quiet = false
		}
	}
	return nil
}

func (m *Model) onSize(msg tea.WindowSizeMsg) tea.Cmd {
	m.size.w, m.size.h = msg.Width, msg.Height
	m.layout()
	return nil
}

// onKey gives a key to whoever has the keys: dialog, input line, screen, frame.
func (m *Model) onKey(k tea.KeyPressMsg) tea.Cmd {
	if m.input.quiet {
		// Bytes behind the end of a paste are not a person's keys (B16).
		return m.holdKeys()
	}
	m.touched = true
	if a := m.actionFor(k.String()); a != nil && a.id == "suspend" && !types(k) {
		// Over forms and lines too: who believes to be in the shell must not type into them.
		return m.suspend(nil)
	}
	m.toasts.dropSeen(false)
	m.rooms.wanted = screen.Target{}
	slipped := m.endSlip()
	switch {
	case m.size.rects.Small:
		return m.onSmallKey(k)
	case len(m.dialogs) > 0:
		return m.onDialogKey(k)
	case m.input.mode != inputNone:
		return m.onInputKey(k)
	}
	return m.onRoomKey(k, slipped)
}

// onSmallKey lets nothing act that cannot be seen; leaving is always possible.
func (m *Model) onSmallKey(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "q", "ctrl+c":
		m.end.interrupted = k.String() == "ctrl+c"
		return m.leave()
	}
	return nil
}

// onRoomKey gives a key to the screen or the frame; slipped tells that the selected row
// has hardly been seen.
func (m *Model) onRoomKey(k tea.KeyPressMsg, slipped bool) tea.Cmd {
	key := k.String()
	r := m.room()
	if screen.Match(r.Bindings(), key) != "" {
		return m.carryOut(r.Update(m.bodyCtx(), k))
	}
	switch key {
	case "esc":
		return m.backOne()
	case "ctrl+c":
		return m.interrupt()
	}
	if a := m.actionFor(key); a != nil {
		if slipped && m.actsOnRow(a) {
			return m.toast(screen.Warn, a.help+": the row has just left and this is another one; look, then press again")
		}
		return m.run(a, m.target())
	}
	return nil
}

// backOne goes one step back and never quits: marks, filter, sheet. The toasts go
// with marks and filter, so that none costs a key of its own there; over a sheet
// they are the first step.
func (m *Model) backOne() tea.Cmd {
	dropped := m.toasts.dropSeen(true)
	switch {
	case len(m.marks) > 0:
		clear(m.marks)
	case m.room().Filter() != "":
		m.room().SetFilter("")
	case len(m.rooms.sheets) > 0 && !dropped:
		m.rooms.sheets = m.rooms.sheets[:len(m.rooms.sheets)-1]
	}
	return m.refreshSheet() // only the sheet on top is kept up to date
}

// onPaste puts pasted text where text is being entered, and nowhere else: a
// paste never runs a command.
func (m *Model) onPaste(msg tea.PasteMsg) tea.Cmd {
	switch {
	case len(m.dialogs) > 0:
		m.top().d.Paste(msg.Content)
	case m.input.mode == inputFilter:
		m.replaceFresh()
		m.input.ed.Insert(msg.Content)
		m.room().SetFilter(m.input.ed.Value())
	case m.input.mode == inputPrompt:
		m.input.ed.Insert(msg.Content)
	case m.input.mode == inputPalette:
		m.input.ed.Insert(msg.Content)
		m.search()
	}
	return m.holdKeys()
}

// pasteQuiet is how long keys right after a paste are dropped.
const pasteQuiet = 50 * time.Millisecond

// holdKeys drops the keys that come in the same read as the end of a paste.
func (m *Model) holdKeys() tea.Cmd {
	m.input.quiet = true
	m.input.pasted++
	id := m.input.pasted
	return tea.Tick(pasteQuiet, func(time.Time) tea.Msg { return pasteOver{id} })
}

// waitQuiet begins the pause in front of a dialog that opened by itself anew: a
// key came.
func (m *Model) waitQuiet(o *open) tea.Cmd {
	m.acts.last++
	o.quiet = m.acts.last
	id := o.quiet
	return tea.Tick(dialog.Quiet, func(time.Time) tea.Msg { return quietOver{id} })
}

func (m *Model) onQuietOver(msg quietOver) {
	for _, o := range m.dialogs {
		if o.quiet == msg.id {
			o.d.Arm()
		}
	}
}
