package ui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/ui/kit"
	"signalbox/ui/screen"
)

// The times of toasts. A refusal stays until it was on the screen for seenAfter
// and a key is pressed.
const (
	toastFor  = 5 * time.Second
	seenAfter = 2 * time.Second
	maxToasts = 20
)

// toasts are the lines above the key row, the newest last.
type toasts struct {
	list  []toast
	last  int
	moved bool // since the screen was divided last
}

type toast struct {
	id     int
	level  screen.Level
	text   string
	sticky bool
	seen   bool // was on the screen long enough
}

// toast shows one line. Text must be clean.
func (m *Model) toast(level screen.Level, text string) tea.Cmd {
	t := &m.toasts
	t.last++
	one := toast{id: t.last, level: level, text: text, sticky: level == screen.Bad}
	t.list = append(t.list, one)
	t.moved = true
	if len(t.list) > maxToasts {
		t.list = t.list[1:]
	}
	return one.wait()
}

// wait brings the end of the time in which the toast can be read.
func (t toast) wait() tea.Cmd {
	after := toastFor
	if t.sticky {
		after = seenAfter
	}
	return tea.Tick(after, func(time.Time) tea.Msg { return toastOver{t.id} })
}

// toastsCovered reports whether something open stands over lines of toasts. It does
// not move out of their way, so that they wait.
func (m *Model) toastsCovered() bool {
	r := m.size.rects
	if o := m.top(); o != nil {
		box, _, y := m.dialogBox(o)
		return y+len(box.Lines) > r.Toasts.Y
	}
	return m.input.mode == inputHelp && r.Over.Y+r.Over.H > r.Toasts.Y
}

// onToastOver ends a toast; a sticky one may go with the next key from now on. One
// that could not be read has its time again.
func (m *Model) onToastOver(msg toastOver) tea.Cmd {
	for i := range m.toasts.list {
		if m.toasts.list[i].id != msg.id {
			continue
		}
		if m.toastsCovered() {
			return m.toasts.list[i].wait()
		}
		if m.toasts.list[i].sticky {
			m.toasts.list[i].seen = true
			return nil
		}
		m.toasts.list = append(m.toasts.list[:i], m.toasts.list[i+1:]...)
		m.toasts.moved = true
		return nil
	}
	return nil
}

// dropSeen takes away the refusals that were seen; all takes away every toast.
func (t *toasts) dropSeen(all bool) bool {
	kept := t.list[:0]
	for _, one := range t.list {
		if !all && !(one.sticky && one.seen) {
			kept = append(kept, one)
		}
	}
	dropped := len(kept) < len(t.list)
	t.list = kept
	t.moved = t.moved || dropped
	return dropped
}

func plural(n int, one, many string) string {
	return kit.Plural(n, one, many)
}

func (m *Model) queueTitle() string {
	if n := len(m.queue.open); n > 0 {
		return fmt.Sprintf("signalbox (%d)", n)
	}
	return "signalbox"
}
