package ui

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/text"
	"signalbox/ui/dialog"
	"signalbox/ui/screen"
	"signalbox/ui/sheet"
)

// rooms are the six screens and the sheets opened over them.
type rooms struct {
	all      []screen.Screen
	at       int
	sheets   []*sheet.Sheet
	loadID   int // of the newest request for a sheet's detail
	lastFact time.Time
	// wanted is a task just started, to be selected when its first fact comes;
	// the next key or click lets it go.
	wanted screen.Target
}

// room is what fills the body now: the sheet on top, or the screen.
func (m *Model) room() screen.Screen {
	if n := len(m.rooms.sheets); n > 0 {
		return m.rooms.sheets[n-1]
	}
	return m.rooms.all[m.rooms.at]
}

// topSheet is the open sheet, or nil.
func (m *Model) topSheet() *sheet.Sheet {
	if n := len(m.rooms.sheets); n > 0 {
		return m.rooms.sheets[n-1]
	}
	return nil
}

// target is the row under the cursor.
func (m *Model) target() screen.Target { return m.room().Target(m.bodyCtx()) }

// tell hands a message to every room; what they want done about it is ignored,
// because nobody pressed a key.
func (m *Model) tell(msg tea.Msg) {
	ctx := m.bodyCtx()
	for _, r := range m.rooms.all {
		r.Update(ctx, msg)
	}
}

// want selects t in the present room, or as soon as it is there.
func (m *Model) want(t screen.Target) {
	if !m.room().Select(m.bodyCtx(), t) {
		m.rooms.wanted = t
	}
}

// selectWanted selects what was wanted once it is there, and reports whether it did.
func (m *Model) selectWanted() bool {
	t := m.rooms.wanted
	if t.IsZero() || m.state.Tasks[t.TaskID] == nil {
		return false
	}
	m.rooms.wanted = screen.Target{}
	return m.room().Select(m.bodyCtx(), t)
}

// roomKey gives the room one of the words of screen.Nav.
func (m *Model) roomKey(do string) tea.Cmd {
	for _, b := range m.room().Bindings() {
		if b.Do == do && len(b.Keys) > 0 {
			return m.carryOut(m.room().Update(m.bodyCtx(), keyMsg(b.Keys[0])))
		}
	}
	return nil
}

// keyMsg makes the message of a key by its name, for keys pressed on a person's
// behalf.
func keyMsg(name string) tea.KeyPressMsg {
	if code, ok := keyCodes[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: []rune(rest)[0], Mod: tea.ModCtrl}
	}
	if name == "space" {
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	}
	r := []rune(name)
	return tea.KeyPressMsg{Code: r[0], Text: name}
}

var keyCodes = map[string]rune{
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
	"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab,
	"backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "insert": tea.KeyInsert,
	"home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
}

// carryOut does what a screen asked for.
func (m *Model) carryOut(in screen.Intent) tea.Cmd {
	switch in := in.(type) {
	case nil:
		return nil
	case screen.Batch:
		var cmds []tea.Cmd
		for _, one := range in {
			cmds = append(cmds, m.carryOut(one))
		}
		return tea.Batch(cmds...)
	case screen.OpenSheet:
		return m.openSheet(in.Target)
	case screen.RunAction:
		return m.runByID(in.ID, in.Target)
	case screen.Copy:
		if in.Make != nil {
			what := in.What
			return func() tea.Msg { return textMade{in.Make(), what} }
		}
		return m.copyText(in.Text, in.What)
	case screen.Toast:
		return m.toast(in.Level, in.Text)
	case screen.SwitchTo:
		m.goTo(in.Screen)
		if !in.Target.IsZero() {
			m.room().Select(m.bodyCtx(), in.Target)
		}
		return nil
	case screen.EditFilter:
		return m.editFilter(nil)
	case screen.Prompt:
		m.openPrompt(in)
		return nil
	case screen.LoadTranscript:
		return m.loadTranscript(in.TaskID)
	case screen.SendInput:
		return m.sendInput(in)
	case screen.Save:
		return m.save(in)
	case screen.GoOn:
		room := m.room().ID()
		return func() tea.Msg { return goOn{room} }
	}
	return nil
}

func (m *Model) runByID(id string, t screen.Target) tea.Cmd {
	if a := m.actionByID(id); a != nil {
		return m.run(a, t)
	}
	return nil
}

// openRow opens everything about the row.
func (m *Model) openRow(ss []subject) tea.Cmd { return m.openSheet(ss[0].t) }

// openSheet opens the sheet of t over the screen. Tasks have a room of their
// own.
func (m *Model) openSheet(t screen.Target) tea.Cmd {
	if t.Kind == screen.KindTask || t.TaskID != "" && t.WorkItemID == "" {
		m.goTo(screen.Tasks)
		m.room().Select(m.bodyCtx(), screen.Task(t.TaskID))
		return nil
	}
	if t.Kind == screen.KindProvider {
		m.goTo(screen.Agents)
		m.room().Select(m.bodyCtx(), t)
		return nil
	}
	if t.WorkItemID == "" {
		return m.toast(screen.Info, "there is nothing more to open on this row")
	}
	if s := m.topSheet(); s != nil && s.ItemID() == t.WorkItemID {
		return nil
	}
	s := sheet.New(t)
	m.rooms.sheets = append(m.rooms.sheets, s)
	return m.loadDetail(s)
}

// loadDetail asks the owner for everything about the sheet's item.
func (m *Model) loadDetail(s *sheet.Sheet) tea.Cmd {
	if m.opts.Owner == nil {
		return nil
	}
	m.rooms.loadID++
	s.Loading(m.rooms.loadID, m.state)
	id, owner, item, ctx := m.rooms.loadID, m.opts.Owner, s.ItemID(), m.ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, actTimeout)
		defer cancel()
		d, err := owner.Detail(ctx, item)
		return detailLoaded{id, d, err}
	}
}

func (m *Model) onDetail(msg detailLoaded) tea.Cmd {
	why := ""
	if msg.err != nil {
		why = shortError(msg.err)
	}
	for _, s := range m.rooms.sheets {
		s.Loaded(msg.id, msg.detail, why)
	}
	return m.refreshSheet() // it may have changed while it was read
}

// refreshSheet reads the item of the open sheet again when that is due.
func (m *Model) refreshSheet() tea.Cmd {
	s := m.topSheet()
	if s == nil || !s.Outdated(m.state) {
		return nil
	}
	return m.loadDetail(s)
}

func (m *Model) loadTranscript(taskID string) tea.Cmd {
	buyer, ctx, room := m.opts.Buyer, m.ctx, m.room().ID()
	if buyer == nil {
		return m.toast(screen.Bad, "this program runs no tasks")
	}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, actTimeout)
		defer cancel()
		text, skipped, err := readTail(ctx, buyer, taskID)
		return transcriptLoaded{room, screen.Transcript{TaskID: taskID, Text: text, Skipped: skipped, Err: err}}
	}
}

// readTail reads the end of a transcript, at most screen.TranscriptLimit bytes.
func readTail(ctx context.Context, b Buyer, taskID string) (text []byte, skipped int64, err error) {
	r, err := b.Transcript(ctx, taskID)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	var buf bytes.Buffer
	chunk := make([]byte, 64<<10)
	for {
		n, err := r.Read(chunk)
		buf.Write(chunk[:n])
		if over := buf.Len() - screen.TranscriptLimit; over > screen.TranscriptLimit/4 {
			buf.Next(over)
			skipped += int64(over)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
	}
	if over := buf.Len() - screen.TranscriptLimit; over > 0 {
		buf.Next(over)
		skipped += int64(over)
	}
	return buf.Bytes(), skipped, nil
}

// tellRoom gives the screen called id what it asked for.
func (m *Model) tellRoom(id screen.ID, msg tea.Msg) tea.Cmd {
	for _, r := range m.rooms.all {
		if r.ID() == id {
			return m.carryOut(r.Update(m.bodyCtx(), msg))
		}
	}
	return nil
}

// The acts that feed a task.
const (
	verbInput    = "input"
	verbInputEnd = "end of input"
)

func (m *Model) sendInput(in screen.SendInput) tea.Cmd {
	if m.opts.ReadOnly {
		return m.toast(screen.Warn, "input: this program was started with --read-only")
	}
	verb := verbInput
	if in.Final {
		verb = verbInputEnd
	}
	return m.doTask(verb, screen.Task(in.TaskID), nil, func(ctx context.Context, b Buyer) error {
		return b.Input(ctx, in.TaskID, in.Chunk, in.Final)
	})
}

func (m *Model) save(in screen.Save) tea.Cmd {
	write := m.opts.Save
	if write == nil {
		return m.toast(screen.Warn, "exports are not possible here")
	}
	return func() tea.Msg {
		path, err := write(in.Name, in.Content)
		return saved{path: path, err: err}
	}
}

func (m *Model) onSaved(msg saved) tea.Cmd {
	if msg.err != nil {
		return m.toast(screen.Bad, "not saved: "+clean(msg.err.Error()))
	}
	return m.toast(screen.Good, msg.note+"saved to "+text.ID(msg.path))
}

// quit leaves, unless something would stop: then it says what.
func (m *Model) quit([]subject) tea.Cmd {
	lines := m.whatStops()
	if len(lines) == 0 {
		return m.leave()
	}
	d := &dialog.Dialog{Title: "Quit", Info: lines, Buttons: []dialog.Button{{Label: "stay"}, {Value: "quit", Label: "quit", Key: "y", Danger: true}}}
	if m.opts.CanBackground {
		d.Buttons = append(d.Buttons, dialog.Button{Value: "background", Label: "keep it going in the background", Key: "b"})
	}
	return m.ask(d, nil, nil, func(v string) (tea.Cmd, string) {
		m.end.background = v == "background"
		return m.leave(), ""
	})
}

// leave ends the program behind a blank frame.
func (m *Model) leave() tea.Cmd {
	m.end.left = true
	return tea.Quit
}

// suspend gives the terminal back to the shell behind a blank frame. Where nothing
// can be suspended the frame stays.
func (m *Model) suspend([]subject) tea.Cmd {
	m.end.left = runtime.GOOS != "windows"
	return tea.Suspend
}

// whatStops says what would stop with this program.
func (m *Model) whatStops() []dialog.Line {
	var out []dialog.Line
	if m.opts.Passing {
		return nil
	}
	if n := m.running(); n > 0 {
		out = append(out, dialog.Text(plural(n, "task is running", "tasks are running")+
			". Those over HTTP go on and are attached again at the next start; providers on stdio end with this program.", dialog.Warn))
	}
	if n := m.held(); n > 0 && m.opts.CarriesOwner {
		out = append(out, dialog.Text(plural(n, "claim is live", "claims are live")+
			" and this program carries the owner; the workers lose it until the next start.", dialog.Warn))
	}
	if len(out) > 0 {
		out = append(out, dialog.Text("Work items and claims are kept; they are here again at the next start.", dialog.Muted))
	}
	if len(out) > 0 && m.opts.CanBackground {
		out = append(out, dialog.Text("In the background the workers go on; signalbox stop ends it later.", dialog.Muted))
	}
	return out
}

// interrupt is ctrl+c: it asks as q does, and leaves at the second press.
func (m *Model) interrupt() tea.Cmd {
	if o := m.top(); o != nil && o.d.Title == "Quit" || len(m.whatStops()) == 0 {
		m.end.interrupted = true
		return m.leave()
	}
	return m.quit(nil)
}
