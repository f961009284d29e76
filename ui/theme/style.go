package theme

import (
	"strconv"
	"strings"
)

// reset ends whatever a style began.
const reset = "\x1b[m"

// Style is one look, with its twin on the selected row. It is a value; the zero
// Style draws plain text.
type Style struct {
	open   string // on the terminal's own background
	sel    string // on the selection
	selOff string // on the selection of a pane without focus
}

// Render draws s. s must be plain: an inner reset would end the style.
func (s Style) Render(text string) string { return wrap(s.open, text) }

// Draw draws text according to how the row is selected.
func (s Style) Draw(text string, sel Selection) string {
	switch sel {
	case SelFocused:
		return wrap(s.sel, text)
	case SelUnfocused:
		return wrap(s.selOff, text)
	}
	return wrap(s.open, text)
}

// Selection says how a row is selected.
type Selection int

// The ways a row can be selected.
const (
	SelNone Selection = iota
	SelFocused
	SelUnfocused
)

func wrap(open, text string) string {
	text = plain(text)
	if open == "" || text == "" {
		return text
	}
	return open + text + reset
}

// plain is the last gate in front of the terminal: it drops control characters
// that a caller let through. What is drawn has been through model/text before,
// so that there is nothing to drop; a mistake must not become an attack.
func plain(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == 0x7f || c == 0xc2 && i+1 < len(s) && s[i+1] < 0xa0 {
			return strings.Map(dropControl, s)
		}
	}
	return s
}

func dropControl(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return -1
	}
	return r
}

// spec is a style before it is turned into escape sequences. Colours are
// parameters of SGR without the escape ("38;2;1;2;3"), "" for none.
type spec struct {
	fg, bg              string
	bold, under, italic bool
	reverse             bool
}

func (s spec) open() string {
	var p []string
	if s.bold {
		p = append(p, "1")
	}
	if s.italic {
		p = append(p, "3")
	}
	if s.under {
		p = append(p, "4")
	}
	if s.reverse {
		p = append(p, "7")
	}
	if s.fg != "" {
		p = append(p, s.fg)
	}
	if s.bg != "" {
		p = append(p, s.bg)
	}
	if len(p) == 0 {
		return ""
	}
	return "\x1b[" + strings.Join(p, ";") + "m"
}

func fgOf(c rgb) string { return "38;2;" + parts(c) }
func bgOf(c rgb) string { return "48;2;" + parts(c) }

func parts(c rgb) string {
	return strconv.Itoa(int(c>>16)) + ";" + strconv.Itoa(int(c>>8&0xff)) + ";" + strconv.Itoa(int(c&0xff))
}
