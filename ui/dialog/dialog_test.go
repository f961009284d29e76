package dialog

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"signalbox/ui/theme"
	"signalbox/ui/uitest"
)

func press(d *Dialog, keys ...string) Outcome {
	var o Outcome
	for _, k := range keys {
		if len(k) > 1 && strings.HasPrefix(k, "'") {
			for _, r := range k[1:] {
				o = d.Key(uitest.Key(string(r)))
			}
			continue
		}
		o = d.Key(uitest.Key(k))
	}
	return o
}

func cancelDialog() *Dialog {
	r := NewText("reason", "reason", "")
	r.Required = true
	return &Dialog{
		Title: "Cancel", Info: []Line{Text("hits worker-2", Warn)}, Fields: []*Field{r},
		Buttons: []Button{{Label: "back"}, {Value: "yes", Label: "cancel", Key: "y", Danger: true}},
	}
}

// A terminal act: enter never does it, a reason is needed, y does it.
func TestDangerDefaultsToNo(t *testing.T) {
	d := cancelDialog()
	if o := press(d, "enter"); o.Closed {
		t.Fatal("an empty reason was taken")
	}
	if o := press(d, "'y"); o.Closed || d.Value("reason") != "y" {
		t.Fatalf("typing answered: %+v", o)
	}
	if o := press(d, "enter"); o.Closed {
		t.Fatal("enter in the field answered")
	}
	if o := press(d, "enter"); o.Closed || !d.Asking() {
		t.Fatalf("the default did it, or dropped what was typed: %+v", o)
	}
	if o := press(d, "y"); !o.Closed || o.Value != "" {
		t.Fatalf("the default did it: %+v", o)
	}
	d = cancelDialog()
	if o := press(d, "'no use", "enter", "y"); o.Value != "yes" || d.Value("reason") != "no use" {
		t.Fatalf("%+v", o)
	}
}

// A dialog that opened by itself ignores keys until it is armed.
func TestAutoDialogIsDeaf(t *testing.T) {
	d := cancelDialog()
	d.Auto = true
	if o := press(d, "y", "enter", "esc", "'abc"); o.Closed || d.Value("reason") != "" {
		t.Fatalf("%+v, %q", o, d.Value("reason"))
	}
	d.Paste("pasted")
	if d.Value("reason") != "" {
		t.Fatal("a paste got in")
	}
	d.Arm()
	if o := press(d, "esc"); !o.Closed || o.Value != "" {
		t.Fatalf("%+v", o)
	}
}

// B20: the first esc clears the filter of a choice, the second closes, asking
// first if something was typed.
func TestEscGoesBackOneStep(t *testing.T) {
	opts := []Option{{Value: "builder"}}
	for i := range fewOptions {
		opts = append(opts, Option{Value: fmt.Sprint("worker-", i)})
	}
	c := NewChoice("worker", "worker", "worker-0", opts...)
	note := NewText("note", "note", "")
	d := &Dialog{Fields: []*Field{c, note}, Buttons: []Button{{Value: "yes", Label: "yes"}, {Label: "back"}}}
	press(d, "'buil")
	if d.Value("worker") != "builder" {
		t.Fatalf("picked %q", d.Value("worker"))
	}
	if o := press(d, "esc"); o.Closed || len(c.shown) != len(opts) {
		t.Fatalf("%+v, %d shown", o, len(c.shown))
	}
	press(d, "tab", "'typed")
	if o := press(d, "esc"); o.Closed {
		t.Fatal("typed text was lost without asking")
	}
	if o := press(d, "n"); o.Closed {
		t.Fatal("n left")
	}
	if o := press(d, "esc", "esc"); o.Closed || d.Asking() {
		t.Fatalf("the second esc did not stay: %+v", o)
	}
	// Whoever types on stays, and loses no letter.
	if press(d, "esc", "' on", "backspace"); d.Value("note") != "typed o" || d.Asking() {
		t.Fatalf("%q", d.Value("note"))
	}
	// The button that leaves asks the same, and so does n on it.
	for _, key := range []string{"enter", "n"} {
		d.focus, d.button = len(d.Fields), 1
		if o := press(d, key); o.Closed || !d.Asking() {
			t.Fatalf("%s dropped what was typed: %+v", key, o)
		}
		press(d, "n")
	}
	if o := press(d, "esc", "y"); !o.Closed || o.Value != "" {
		t.Fatalf("%+v", o)
	}
}

// An answer that is not taken leaves the keys where they were, so that the next
// enter answers again and does not leave.
func TestRefusedAnswerKeepsTheField(t *testing.T) {
	why := NewText("why", "why", "")
	d := &Dialog{Fields: []*Field{why}, Buttons: []Button{{Value: "yes", Label: "yes", Key: "y"}, {Label: "back"}}}
	if o := press(d, "'because", "enter"); o.Value != "yes" {
		t.Fatalf("%+v", o)
	}
	d.Refuse("changed meanwhile: its text changed")
	if d.Focused() != why || d.Value("why") != "because" {
		t.Fatalf("the keys went to %v, the text is %q", d.Focused(), d.Value("why"))
	}
	if o := press(d, "enter"); o.Value != "yes" {
		t.Fatalf("%+v", o)
	}
	press(d, "y") // enter left the keys on the buttons
	d.Refuse("again")
	if d.Focused() != nil {
		t.Fatal("the keys left the buttons")
	}
}

// What fits no option stays readable, with a word on what becomes of it.
func TestNothingFits(t *testing.T) {
	st := theme.New(theme.Options{Dark: true})
	var opts []Option
	for i := range fewOptions + 1 {
		opts = append(opts, Option{Value: fmt.Sprint("worker-", i)})
	}
	shows := func(d *Dialog, want string) {
		t.Helper()
		s := ansi.Strip(strings.Join(d.View(st, 78, 20, "").Lines, "\n"))
		if !strings.Contains(s, want) {
			t.Fatalf("no %q in\n%s", want, s)
		}
	}
	c := NewChoice("by", "by", "", opts...)
	d := &Dialog{Fields: []*Field{c, NewText("note", "note", "")}, Buttons: []Button{{Value: "yes", Label: "yes"}}}
	press(d, "'zzz")
	shows(d, "nothing fits; esc clears")
	press(d, "enter")
	shows(d, "by: nothing fits what you typed")
	press(d, "tab")
	shows(d, "zzz (nothing fits)")
	c.Other = true
	press(d, "shift+tab")
	shows(d, "nothing fits; enter takes it as written")
}

func TestFieldsThatDepend(t *testing.T) {
	c := NewChoice("decision", "decision", "ready", Option{Value: "ready"}, Option{Value: "blocked"})
	why := NewText("why", "why", "")
	why.Required = true
	why.When = func(d *Dialog) bool { return d.Value("decision") == "blocked" }
	d := &Dialog{Fields: []*Field{c, why}, Buttons: []Button{{Value: "yes", Label: "yes"}}}
	if o := press(d, "enter"); o.Value != "yes" {
		t.Fatalf("a hidden field stopped it: %+v", o)
	}
	d = &Dialog{Fields: []*Field{c, why}, Buttons: []Button{{Value: "yes", Label: "yes"}}}
	if o := press(d, "right", "enter", "enter"); o.Closed {
		t.Fatal("a shown field that is needed was passed by")
	}
	if o := press(d, "'because", "enter"); o.Value != "yes" {
		t.Fatalf("%+v", o)
	}
}

func TestOtherTakesWhatWasTyped(t *testing.T) {
	c := NewChoice("by", "by", "", Option{Value: "work:a"})
	c.Other = true
	d := &Dialog{Fields: []*Field{c}, Buttons: []Button{{Value: "yes", Label: "yes"}}}
	if o := press(d, "'zzz:new", "enter"); o.Value != "yes" || d.Value("by") != "zzz:new" {
		t.Fatalf("%+v %q", o, d.Value("by"))
	}
}

// What was written is to be had although longer options hold it: a new worker-1 must
// not become the worker-10 that is there.
func TestOtherBesideLongerOptions(t *testing.T) {
	opts := []Option{{Value: "worker-10"}, {Value: "worker-11"}, {Value: "worker-12"}}
	for typed, want := range map[string]string{"'worker-1": "worker-1", "'WORKER-11": "worker-11"} {
		c := NewChoice("worker", "worker", "", opts...)
		c.Other = true
		d := &Dialog{Fields: []*Field{c}, Buttons: []Button{{Value: "yes", Label: "yes"}}}
		press(d, typed)
		if first := c.Value(); first != "worker-10" && first != "worker-11" {
			t.Errorf("%s picks %q, not an option", typed, first)
		}
		if want == "worker-1" {
			press(d, "down")
			var b strings.Builder
			for _, l := range d.View(theme.New(theme.Options{Dark: true}), 80, 20, "").Lines {
				b.WriteString(ansi.Strip(l) + "\n")
			}
			if !strings.Contains(b.String(), "as written") {
				t.Errorf("what was written is not offered\n%s", b.String())
			}
		}
		if o := press(d, "enter"); o.Value != "yes" || d.Value("worker") != want {
			t.Errorf("%s gives %q, want %q", typed, d.Value("worker"), want)
		}
	}
}

// The box never leaves its room, at any size and with any text; the caret is
// inside.
func TestViewFits(t *testing.T) {
	st := theme.New(theme.Options{Dark: true})
	long := strings.Repeat("wide 你好 ", 60)
	for _, size := range [][2]int{{0, 0}, {1, 1}, {12, 4}, {40, 10}, {58, 12}, {78, 20}, {238, 66}} {
		d := cancelDialog()
		d.Title = long
		for i := range 30 {
			d.Info = append(d.Info, Text(fmt.Sprint(i, long), Plain), Line{{"a ", Muted}, {long, OK}})
		}
		c := NewChoice("c", long, "", Option{Value: "a", Note: long}, Option{Value: "b"}, Option{Value: long}, Option{Value: "d"}, Option{Value: "e"})
		area := &Field{Name: "area", Label: "area", Rows: 3}
		d.Fields = append(d.Fields, c, area)
		for range 6 {
			b := d.View(st, size[0], size[1], "changed meanwhile")
			if len(b.Lines) > size[1] || b.W > size[0] {
				t.Errorf("%v: box of %d×%d", size, b.W, len(b.Lines))
			}
			for _, l := range b.Lines {
				if w := ansi.StringWidth(l); w != b.W {
					t.Errorf("%v: a line is %d of %d cells: %q", size, w, b.W, ansi.Strip(l))
				}
			}
			if b.Caret && (b.CaretX <= 0 || b.CaretX >= b.W-1 || b.CaretY <= 0 || b.CaretY >= len(b.Lines)-1) {
				t.Errorf("%v: caret at %d,%d", size, b.CaretX, b.CaretY)
			}
			d.Key(tea.KeyPressMsg{Code: tea.KeyTab})
		}
	}
}

// Letters never narrow a choice of few options: the button's key answers, as it
// says on the button, and n goes back.
func TestLettersAnswerInAShortChoice(t *testing.T) {
	form := func() *Dialog {
		return &Dialog{
			Fields:  []*Field{NewChoice("decision", "decision", "ready", Option{Value: "ready"}, Option{Value: "blocked"})},
			Buttons: []Button{{Value: "yes", Label: "decide", Key: "y"}, {Label: "back"}},
		}
	}
	if o := press(form(), "right", "y"); o.Value != "yes" {
		t.Fatalf("%+v", o)
	}
	d := form()
	if o := press(d, "'blxq"); o.Closed || d.Value("decision") != "ready" || len(d.Fields[0].shown) != 2 {
		t.Fatalf("%+v, %q", o, d.Value("decision"))
	}
	d.Paste("blocked")
	if d.Value("decision") != "ready" {
		t.Fatal("a paste changed the choice")
	}
	if o := press(d, "n"); !o.Closed || o.Value != "" {
		t.Fatalf("%+v", o)
	}
}

// ctrl+s answers from any field; where the answer is terminal it leads to the
// buttons with No picked.
func TestSubmitFromAnyField(t *testing.T) {
	area := &Field{Name: "area", Label: "area", Rows: 3}
	d := &Dialog{Fields: []*Field{NewText("title", "title", ""), area},
		Buttons: []Button{{Value: "yes", Label: "post", Key: "y"}, {Label: "back"}}}
	if d.Submits() != "post" || d.EnterDoes() != "next field" {
		t.Fatalf("%q %q", d.Submits(), d.EnterDoes())
	}
	press(d, "enter")
	if d.EnterDoes() != "new line" {
		t.Fatal(d.EnterDoes())
	}
	if o := press(d, "'two", "enter", "'lines", "ctrl+s"); o.Value != "yes" || d.Value("area") != "two\nlines" {
		t.Fatalf("%+v %q", o, d.Value("area"))
	}
	d = cancelDialog()
	if o := press(d, "ctrl+s"); o.Closed || d.note == "" {
		t.Fatalf("an empty reason was taken: %+v", o)
	}
	if o := press(d, "'no use", "ctrl+s"); o.Closed || d.EnterDoes() != "back" || d.Submits() != "" {
		t.Fatalf("%+v %q", o, d.EnterDoes())
	}
	if o := press(d, "enter", "y"); !o.Closed || o.Value != "" {
		t.Fatalf("%+v", o)
	}
}

// The mouse presses what it hits, and nothing before the dialog is armed.
func TestClick(t *testing.T) {
	st := theme.New(theme.Options{Dark: true})
	d := cancelDialog()
	d.Fields = append(d.Fields, NewChoice("then", "then", "a", Option{Value: "a"}, Option{Value: "b"}))
	hit := func(word string) Outcome {
		t.Helper()
		b := d.View(st, 80, 20, "")
		for y, l := range b.Lines {
			if i := strings.Index(ansi.Strip(l), word); i >= 0 {
				s, ok := b.Hit(ansi.StringWidth(ansi.Strip(l)[:i]), y)
				if !ok {
					t.Fatalf("nothing at %q", word)
				}
				return d.Click(s)
			}
		}
		t.Fatalf("no %q", word)
		return Outcome{}
	}
	d.Auto = true
	if o := hit("back"); o.Closed {
		t.Fatal("a click got through before the pause")
	}
	d.Arm()
	hit("then")
	hit(" b ")
	if d.Value("then") != "b" {
		t.Fatal(d.Value("then"))
	}
	if o := hit("y cancel"); o.Closed {
		t.Fatal("the empty reason was taken")
	}
	press(d, "'why")
	if o := hit("y cancel"); o.Value != "yes" {
		t.Fatalf("%+v", o)
	}
	if o := hit("back"); o.Closed || !d.Asking() {
		t.Fatalf("%+v", o)
	}
}
