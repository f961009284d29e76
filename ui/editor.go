package ui

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/text"
	"signalbox/ui/dialog"
	"signalbox/ui/screen"
)

// outside runs $EDITOR on a text while Bubble Tea has handed over the terminal.
// Facts wait meanwhile and come all at once afterwards.
type outside struct {
	ctx     context.Context
	command []string
	text    string
	hold    func() (resume func())
	std     [3]any
}

func (e *outside) SetStdin(r io.Reader)  { e.std[0] = r }
func (e *outside) SetStdout(w io.Writer) { e.std[1] = w }
func (e *outside) SetStderr(w io.Writer) { e.std[2] = w }

// Run implements tea.ExecCommand; it leaves the edited text in e.text.
func (e *outside) Run() error {
	f, err := os.CreateTemp("", "signalbox-*.txt")
	if err != nil {
		return err
	}
	name := f.Name()
	defer os.Remove(name)
	_, err = f.WriteString(e.text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if e.hold != nil {
		defer e.hold()()
	}
	cmd := exec.CommandContext(e.ctx, e.command[0], append(e.command[1:len(e.command):len(e.command)], name)...)
	if f := fileOf(e.std[0]); f != nil {
		cmd.Stdin = f
	}
	if f := fileOf(e.std[1]); f != nil {
		cmd.Stdout = f
	}
	cmd.Stderr, _ = e.std[2].(io.Writer)
	if err := cmd.Run(); err != nil {
		return err
	}
	b, err := os.ReadFile(name)
	e.text = string(b)
	return err
}

// fileOf is the file in what Bubble Tea hands over, nil if there is none: through a
// pipe the editor would have no terminal, and would be waited for until the next key
// after its end.
func fileOf(std any) *os.File {
	switch f := std.(type) {
	case *os.File:
		return f
	case interface{ File() *os.File }:
		return f.File()
	}
	return nil
}

// editOutside opens $EDITOR on the text of a field.
func (m *Model) editOutside(o *open, field, content string) tea.Cmd {
	run := &outside{ctx: m.ctx, command: m.opts.Editor, text: content, hold: m.opts.HoldInput}
	return tea.Exec(run, func(err error) tea.Msg { return edited{o, field, run.text, err} })
}

// postFromEditor lets the person write an entry in $EDITOR; the form opens with
// it, so that nothing is posted that was not looked at.
func (m *Model) postFromEditor(ss []subject) tea.Cmd {
	cmd := m.post(ss)
	o := m.top()
	return tea.Batch(cmd, m.editOutside(o, entryField, ""))
}

// entryField stands for summary and details together: the first line, and what
// follows it.
const entryField = "entry"

// fillEntry splits what was written into summary and details.
func fillEntry(d *dialog.Dialog, written string) {
	summary, details, _ := strings.Cut(strings.TrimSpace(written), "\n")
	for name, s := range map[string]string{"summary": summary, "details": strings.TrimSpace(details)} {
		if f := d.Field(name); f != nil {
			f.SetText(s)
			f.Touch()
		}
	}
}

func (m *Model) onEdited(msg edited) tea.Cmd {
	if msg.err != nil {
		return m.toast(screen.Bad, "the editor failed: "+text.Clip(clean(msg.err.Error()), 120))
	}
	if msg.field == entryField {
		fillEntry(msg.dialog.d, msg.text)
	}
	if f := msg.dialog.d.Field(msg.field); f != nil {
		// Editors end the last line; a person does not mean it.
		f.SetText(strings.TrimSuffix(msg.text, "\n"))
		f.Touch()
	}
	return m.readClock()
}
