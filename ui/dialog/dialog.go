package dialog

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// Quiet is how long no key may have come before a dialog that opened by itself
// takes one.
const Quiet = 300 * time.Millisecond

// Tone is the look of a span, resolved to a style when it is drawn, because the
// theme may change while a dialog is open.
type Tone int

// The tones.
const (
	Plain Tone = iota
	Strong
	Muted
	OK
	Wait
	Warn
	Bad
	Accent
)

// Span is clean text in one tone.
type Span struct {
	Text string
	Tone Tone
}

// Line is one line of what a dialog tells.
type Line []Span

// Text is a line in one tone.
func Text(s string, tone Tone) Line { return Line{{s, tone}} }

// Button is one answer.
type Button struct {
	Value string // given back; "" means leave things as they are
	Label string
	Key   string // presses it when no field has the keys, for example "y"
	// Danger marks an answer that cannot be taken back.
	Danger bool
}

// Dialog is a form. Its exported fields are set before it is opened.
type Dialog struct {
	Title   string
	Info    []Line
	Fields  []*Field
	Buttons []Button
	// Default is the index of the button that enter presses at first.
	Default int
	// Wide asks for all the room there is.
	Wide bool
	// Auto is set on a dialog that opens by itself: it takes no key before Arm.
	Auto bool

	focus  int // field, or len(Fields) for the buttons
	button int
	armed  bool
	began  bool
	note   string // why the last answer was not taken
	asking bool   // about to leave typed text: ask before it is lost
	from   int    // the field that answered, or -1 for the buttons
	scroll int    // first line of Info that is shown
	infoH  int    // how many are shown, as of Fit
	rows   int    // of Info, wrapped, as of Fit
}

// Outcome is what a key did to the dialog.
type Outcome struct {
	Closed bool
	// Value is the button's value; "" when the dialog was left.
	Value string
}

// begin puts the focus where the dialog starts.
func (d *Dialog) begin() {
	if d.began {
		return
	}
	d.began = true
	d.button, d.from = d.Default, -1
	d.armed = !d.Auto
	d.focus = len(d.Fields)
	for i, f := range d.Fields {
		if !f.Skip && d.shows(f) {
			d.focus = i
			break
		}
	}
}

// shows reports whether f is asked for as the other fields stand.
func (d *Dialog) shows(f *Field) bool { return f.When == nil || f.When(d) }

// Armed reports whether keys reach the dialog.
func (d *Dialog) Armed() bool { d.begin(); return d.armed }

// Arm lets keys through; the frame calls it after [Quiet] without a key.
func (d *Dialog) Arm() { d.begin(); d.armed = true }

// Refuse shows why an answer was not taken and keeps the dialog open, with the
// keys where they were when the answer was given.
func (d *Dialog) Refuse(why string) {
	d.note = why
	if d.from >= 0 && d.from < len(d.Fields) && d.shows(d.Fields[d.from]) {
		d.focus = d.from
	}
}

// Value is what was entered in the field called name.
func (d *Dialog) Value(name string) string {
	for _, f := range d.Fields {
		if f.Name == name {
			return f.Value()
		}
	}
	return ""
}

// Field finds a field by name, or nil.
func (d *Dialog) Field(name string) *Field {
	for _, f := range d.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Focused is the field that has the keys, or nil when a button has.
func (d *Dialog) Focused() *Field {
	d.begin()
	if d.focus < len(d.Fields) {
		return d.Fields[d.focus]
	}
	return nil
}

// Paste puts pasted text into the field that has the keys. It never answers.
func (d *Dialog) Paste(s string) {
	if f := d.Focused(); f != nil && d.Armed() {
		f.insert(s)
	}
}

// Key hands the dialog one key.
func (d *Dialog) Key(k tea.KeyPressMsg) Outcome {
	if !d.Armed() {
		return Outcome{}
	}
	f := d.Focused()
	if d.asking {
		if out, done := d.leave(k); done {
			return out
		}
	}
	d.note = ""
	d.from = d.focus
	if f == nil {
		d.from = -1
	}
	if f != nil && f.key(k) {
		return Outcome{}
	}
	switch k.String() {
	case "esc":
		return d.esc(f)
	case "tab":
		d.move(1, false)
	case "shift+tab":
		d.move(-1, false)
	case "down":
		d.vertical(1)
	case "up":
		d.vertical(-1)
	case "pgdown":
		d.scrollBy(d.infoH)
	case "pgup":
		d.scrollBy(-d.infoH)
	case "enter":
		return d.enter(f)
	case "ctrl+s":
		return d.submit()
	default:
		if f == nil {
			return d.buttonKey(k.String())
		}
		if !f.takesLetters() {
			return d.letter(k.String())
		}
	}
	return Outcome{}
}

// letter presses a button from a choice that takes no letters itself; n goes
// back, as esc does.
func (d *Dialog) letter(key string) Outcome {
	for i, b := range d.Buttons {
		if b.Key == key {
			return d.press(i)
		}
	}
	if key == "n" {
		return d.esc(nil)
	}
	return Outcome{}
}

// submit answers from wherever the focus is; where the harmless answer comes
// first it goes there instead, so that nothing terminal is one key away.
func (d *Dialog) submit() Outcome {
	if d.harmless() {
		return d.press(d.Default)
	}
	if d.complete() {
		d.focus, d.button = len(d.Fields), d.Default
	}
	return Outcome{}
}

// harmless reports whether the default button answers, so that enter and ctrl+s
// may press it.
func (d *Dialog) harmless() bool {
	return d.Default < len(d.Buttons) && d.Buttons[d.Default].Value != ""
}

// Submits names the button that ctrl+s presses, "" when it only leads to the
// buttons or there is none.
func (d *Dialog) Submits() string {
	if !d.harmless() {
		return ""
	}
	return d.Buttons[d.Default].Label
}

// EnterDoes says what enter would do now.
func (d *Dialog) EnterDoes() string {
	f := d.Focused()
	switch {
	case f == nil && d.button < len(d.Buttons):
		return d.Buttons[d.button].Label
	case f == nil:
		return "close"
	case f.Rows > 0:
		return "new line"
	}
	at := d.focus
	d.move(1, true)
	last := d.focus == len(d.Fields)
	d.focus = at
	switch {
	case !last:
		return "next field"
	case d.harmless():
		return d.Submits()
	}
	return "to the answer"
}

func (d *Dialog) vertical(n int) {
	if len(d.Fields) == 0 {
		d.scrollBy(n)
		return
	}
	d.move(n, false)
}

func (d *Dialog) scrollBy(n int) { d.scroll = max(0, min(d.scroll+n, d.rows-d.infoH)) }

// esc goes back one step: out of a filter, then out of the dialog, which asks
// when something typed would be lost (B20).
func (d *Dialog) esc(f *Field) Outcome {
	if f != nil && f.clearFilter() {
		return Outcome{}
	}
	return d.goBack()
}

// goBack leaves, but asks first when something typed would be lost.
func (d *Dialog) goBack() Outcome {
	for _, f := range d.Fields {
		if f.typed && d.shows(f) {
			d.asking = true
			d.note = "Leave and lose what you typed? y leaves; n or esc stays."
			return Outcome{}
		}
	}
	return Outcome{Closed: true}
}

// Asking reports whether the dialog waits for a word on losing what was typed.
func (d *Dialog) Asking() bool { return d.asking }

// leave takes the answer to that question. Only y leaves. A key that edits the
// field goes on typing: done is false, and the key is still to be used.
func (d *Dialog) leave(k tea.KeyPressMsg) (out Outcome, done bool) {
	d.asking, d.note = false, ""
	switch k.String() {
	case "y":
		return Outcome{Closed: true}, true
	case "n", "esc", "enter", "ctrl+s":
		return Outcome{}, true
	}
	return Outcome{}, d.Focused() == nil
}

// move goes to the next stop: fields first, then the buttons. With skip it
// passes by the fields that have a good default.
func (d *Dialog) move(n int, skip bool) {
	stops := len(d.Fields) + 1
	for range stops {
		d.focus = (d.focus + n + stops) % stops
		if d.focus == len(d.Fields) {
			return
		}
		if f := d.Fields[d.focus]; d.shows(f) && !(skip && f.Skip) {
			return
		}
	}
}

// enter goes on: from a field to the next one, from the last one to the buttons,
// or straight to the answer where the default is harmless.
func (d *Dialog) enter(f *Field) Outcome {
	if f == nil {
		return d.press(d.button)
	}
	if why := f.Check(); why != "" {
		d.note = why
		return Outcome{}
	}
	d.move(1, true)
	if d.focus == len(d.Fields) && d.harmless() {
		return d.press(d.Default)
	}
	return Outcome{}
}

func (d *Dialog) buttonKey(key string) Outcome {
	switch key {
	case "left", "h":
		d.button = max(0, d.button-1)
	case "right", "l":
		d.button = min(len(d.Buttons)-1, d.button+1)
	case "n":
		return d.goBack()
	default:
		for i, b := range d.Buttons {
			if b.Key == key {
				return d.press(i)
			}
		}
	}
	return Outcome{}
}

// press answers with button i, unless a field is not right yet.
func (d *Dialog) press(i int) Outcome {
	if i < 0 || i >= len(d.Buttons) {
		return Outcome{Closed: true}
	}
	b := d.Buttons[i]
	if b.Value == "" {
		return d.goBack()
	}
	if !d.complete() {
		return Outcome{}
	}
	return Outcome{Closed: true, Value: b.Value}
}

// complete reports whether every field is right; else the first one that is not
// gets the keys and says why.
func (d *Dialog) complete() bool {
	for at, f := range d.Fields {
		if why := f.Check(); why != "" && d.shows(f) {
			d.focus, d.note = at, why
			return false
		}
	}
	return true
}
