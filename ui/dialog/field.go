package dialog

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"signalbox/ui/kit"
)

// Option is one answer of a choice.
type Option struct {
	Value string
	Label string // clean text; "" means Value
	Note  string // clean text beside it
}

func (o Option) label() string {
	if o.Label != "" {
		return o.Label
	}
	return o.Value
}

// Field is one question of a dialog. With Options it is a choice, else a text.
type Field struct {
	Name  string
	Label string
	// Hint stands in an empty text field.
	Hint string
	// HintNow, if not nil, gives the hint as the other fields stand: clean text.
	HintNow func(*Dialog) string
	// Note stands behind a text of one line, where there is room: its unit or its
	// bounds, clean text.
	Note string
	// Options make the field a choice; typing narrows one of more than six.
	Options []Option
	// Other lets a choice take what was typed, although no option has it.
	Other bool
	// Rows is the height of a text of several lines; 0 is a single line.
	Rows int
	// Grow turns a single line into several when a text with line ends is put in,
	// by a paste or from an editor.
	Grow bool
	// Required refuses an empty answer.
	Required bool
	// Valid refuses an answer with half a sentence.
	Valid func(string) string
	// Skip lets enter pass the field by; tab reaches it. Used for what has a good
	// default.
	Skip bool
	// When, if not nil, says whether the field is asked for as the others stand.
	When func(*Dialog) bool

	ed     kit.Editor
	set    bool
	pick   int // index into shown
	shown  []Option
	needle string
	typed  bool
	chosen bool // an option was picked by a person
}

// NewText makes a text field with a first value.
func NewText(name, label, value string) *Field {
	f := &Field{Name: name, Label: label}
	f.SetText(value)
	return f
}

// NewChoice makes a choice that starts at value, or at the first option.
func NewChoice(name, label, value string, opts ...Option) *Field {
	f := &Field{Name: name, Label: label, Options: opts}
	f.narrow()
	for i, o := range f.shown {
		if o.Value == value {
			f.pick = i
		}
	}
	return f
}

// SetText replaces the text, as if it had been there from the start.
func (f *Field) SetText(s string) {
	f.grow(s)
	f.ed.Multi = f.Rows > 0
	f.ed.Set(s)
	f.set = true
	f.typed = false
}

// Recall gives the field the value it had another time, as if it had been there from
// the start, unless the person has given it one in this form.
func (f *Field) Recall(v string) {
	switch {
	case f.typed || f.chosen:
	case f.Options == nil:
		if f.Grow {
			f.Rows = 0
		}
		f.SetText(v)
	default:
		f.ed.Set("")
		f.narrow()
		f.pick = max(0, slices.IndexFunc(f.shown, func(o Option) bool { return o.Value == v }))
	}
}

// Value is the answer: the text, or the picked option's value.
func (f *Field) Value() string {
	if f.Options == nil {
		return f.ed.Value()
	}
	if f.pick < len(f.shown) {
		return f.shown[f.pick].Value
	}
	if f.Other {
		return strings.TrimSpace(f.ed.Value())
	}
	return ""
}

// Check says why the answer cannot be taken, or "".
func (f *Field) Check() string {
	v := f.Value()
	if f.Options != nil && len(f.shown) == 0 && len(f.Options) > 0 && !f.Other {
		return f.Label + ": nothing fits what you typed"
	}
	if f.Required && strings.TrimSpace(v) == "" {
		return f.Label + " is needed"
	}
	if f.Valid != nil {
		return f.Valid(v)
	}
	return ""
}

// narrow picks the options that fit what was typed.
func (f *Field) narrow() {
	needle := strings.TrimSpace(f.ed.Value())
	if f.shown != nil && needle == f.needle {
		return
	}
	f.needle = needle
	f.pick = 0
	if needle == "" {
		f.shown = f.Options
		return
	}
	f.shown = []Option{}
	for _, m := range fuzzy.FindFrom(needle, optionSource(f.Options)) {
		f.shown = append(f.shown, f.Options[m.Index])
	}
	// What holds the letters in one piece is meant before what has them spread.
	low := strings.ToLower(needle)
	slices.SortStableFunc(f.shown, func(a, b Option) int { return spread(a, low) - spread(b, low) })
	f.offerWritten()
}

// offerWritten puts what was typed under the best option where it may be taken and
// only longer options hold it.
func (f *Field) offerWritten() {
	if !f.Other || len(f.shown) == 0 {
		return
	}
	named := func(o Option) bool {
		return strings.EqualFold(o.Value, f.needle) || strings.EqualFold(o.label(), f.needle)
	}
	if !slices.ContainsFunc(f.shown, named) {
		f.shown = slices.Insert(f.shown, 1, Option{Value: f.needle, Label: clip(f.needle), Note: "as written"})
	}
}

// spread is 0 when the label holds needle in one piece, 1 when the note does, 2
// otherwise.
func spread(o Option, needle string) int {
	switch {
	case strings.Contains(strings.ToLower(o.label()), needle):
		return 0
	case strings.Contains(strings.ToLower(o.Note), needle):
		return 1
	}
	return 2
}

// optionSource searches labels and notes.
type optionSource []Option

func (s optionSource) String(i int) string { return s[i].label() + " " + s[i].Note }
func (s optionSource) Len() int            { return len(s) }

// fewOptions is how many options a choice may have at most to be picked by the
// arrows alone: letters then answer the dialog instead of narrowing the choice.
const fewOptions = 6

// takesLetters reports whether typing goes into the field.
func (f *Field) takesLetters() bool {
	return f.Options == nil || f.Other || len(f.Options) > fewOptions
}

func (f *Field) insert(s string) {
	if !f.takesLetters() {
		return
	}
	f.grow(s)
	f.ed.Multi = f.Rows > 0
	f.ed.Insert(s)
	f.touched()
}

// grownRows is the height of a line that became several.
const grownRows = 4

func (f *Field) grow(s string) {
	if f.Grow && f.Rows == 0 && strings.ContainsAny(s, "\n\r") {
		f.Rows = grownRows
	}
}

// Touch marks the text as the person's own, so that esc asks before it is lost.
func (f *Field) Touch() { f.typed = f.typed || f.Options == nil }

func (f *Field) touched() {
	if f.Options != nil {
		f.narrow()
		return
	}
	f.typed = true
}

// clearFilter empties what narrows a choice and reports whether there was any.
func (f *Field) clearFilter() bool {
	if f.Options == nil || f.ed.Value() == "" {
		return false
	}
	f.ed.Set("")
	f.narrow()
	return true
}

// key hands the field a key and reports whether it used it.
func (f *Field) key(k tea.KeyPressMsg) bool {
	if f.Options != nil {
		return f.choiceKey(k)
	}
	f.ed.Multi = f.Rows > 0
	before := len(f.ed.Value())
	if !f.ed.Key(k) {
		return false
	}
	if len(f.ed.Value()) != before {
		f.typed = true
	}
	return true
}

func (f *Field) choiceKey(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "left", "right":
		if f.ed.Value() != "" {
			return f.ed.Key(k)
		}
		d := 1
		if k.String() == "left" {
			d = -1
		}
		f.pick, f.chosen = max(0, min(len(f.shown)-1, f.pick+d)), true
		return true
	case "down":
		if f.pick >= len(f.shown)-1 {
			return false
		}
		f.pick++
		f.chosen = true
		return true
	case "up":
		if f.pick == 0 {
			return false
		}
		f.pick--
		f.chosen = true
		return true
	case "enter":
		return false
	}
	if !f.takesLetters() || !f.ed.Key(k) {
		return false
	}
	f.narrow()
	return true
}
