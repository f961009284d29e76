package ui

import (
	"context"
	"errors"
	"io"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/text"
	"signalbox/ui/screen"
)

// clipboardLimit is the most that is put on the clipboard, in bytes: terminals
// drop a longer OSC 52 without a word.
const clipboardLimit = 74_000

// copyText sends s to the terminal's clipboard (OSC 52), which gives no answer: that it
// arrived is not claimed. What it cannot take goes into a file, so that a copy is
// never lost silently.
func (m *Model) copyText(s, what string) tea.Cmd {
	what = text.Clip(clean(what), 60)
	why := ""
	switch {
	case m.opts.NoClipboard:
		why = "this terminal has no clipboard"
	case len(s) > clipboardLimit:
		why = "too long for the clipboard"
	default:
		return tea.Batch(tea.SetClipboard(s), m.toast(screen.Info, "sent to the terminal's clipboard: "+what))
	}
	if m.opts.Save == nil {
		return m.toast(screen.Warn, "copy "+what+": "+why)
	}
	write := m.opts.Save
	return func() tea.Msg {
		path, err := write("copy.txt", []byte(s))
		return saved{path, err, what + ": " + why + "; "}
	}
}

// writeOut saves the whole output of a task to a file.
func (m *Model) writeOut(ss []subject) tea.Cmd {
	buyer, save, ctx, id := m.opts.Buyer, m.opts.SaveFrom, m.ctx, ss[0].t.TaskID
	return func() tea.Msg {
		r, err := buyer.Transcript(ctx, id)
		if err != nil {
			return saved{err: err}
		}
		path, err := save(fileName(id)+".txt", untilDone{ctx, r})
		return saved{path: path, err: errors.Join(err, r.Close())}
	}
}

// untilDone reads until the program ends.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

func canWriteOut(m *Model, s subject) (bool, string) {
	switch {
	case m.opts.Buyer == nil || m.opts.SaveFrom == nil:
		return false, "exports are not possible here"
	case s.task == nil:
		return false, "this program does not know the task"
	}
	return true, ""
}

// fileName is an id as a file may be called.
func fileName(id string) string {
	id = strings.Map(func(r rune) rune {
		if r < 0x7f && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-", r)) {
			return r
		}
		return '_'
	}, id)
	return id[:min(len(id), 64)]
}
