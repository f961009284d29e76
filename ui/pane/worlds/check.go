package worlds

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// Sweep draws a fresh screen in every world at every size and checks that each
// view is exactly as large as asked for and that nothing of a hostile text
// reaches the terminal (H-096).
func Sweep(t *testing.T, make func() screen.Screen) {
	for name, st := range All() {
		for _, size := range Sizes {
			c := Ctx(st, size[0], size[1])
			s := make()
			Exact(t, name, s.View(c), c.W, c.H)
			s.Badge(c)
			s.Target(c)
			s.Shown(c)
		}
	}
}

// colour is an SGR sequence that sets one; bold, italic and the like are none.
var colour = regexp.MustCompile(`\x1b\[([0-9]+;)*(3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]`)

// Plain draws a fresh screen for a terminal without colours and with ASCII alone
// and checks that nothing else is drawn (B93). The frame replaces the ellipsis of
// sentences itself.
func Plain(t *testing.T, make func() screen.Screen) {
	t.Helper()
	for _, size := range Sizes {
		c := Ctx(One(), size[0], size[1])
		c.Styles = theme.New(theme.Options{Depth: theme.NoColor, ASCII: true})
		view := make().View(c)
		Exact(t, "plain", view, c.W, c.H)
		for _, r := range view {
			if r > 0x7e && r != '…' {
				t.Errorf("%dx%d: %q is not ASCII", c.W, c.H, r)
				break
			}
		}
		if colour.MatchString(view) {
			t.Errorf("%dx%d: there is colour", c.W, c.H)
		}
	}
}

// Exact fails the test unless view is h lines of w cells under both width models
// without anything but our own colours.
func Exact(t *testing.T, name, view string, w, h int) {
	t.Helper()
	if w <= 0 || h <= 0 {
		if view != "" {
			t.Errorf("%s %dx%d: want nothing, got %q", name, w, h, view)
		}
		return
	}
	lines := strings.Split(view, "\n")
	if len(lines) != h {
		t.Errorf("%s %dx%d: %d lines", name, w, h, len(lines))
	}
	for i, l := range lines {
		bare := ansi.Strip(l)
		if a, b := ansi.StringWidth(bare), ansi.StringWidthWc(bare); a != w || b != w {
			t.Errorf("%s %dx%d: line %d is %d (%d) wide: %q", name, w, h, i, a, b, bare)
			return
		}
		harmless(t, name, l)
	}
}

func harmless(t *testing.T, name, l string) {
	t.Helper()
	if !utf8.ValidString(l) {
		t.Errorf("%s: not UTF-8: %q", name, l)
	}
	rest := l
	for {
		i := strings.IndexByte(rest, '\x1b')
		if i < 0 {
			break
		}
		end := strings.IndexFunc(rest[i+1:], func(r rune) bool { return r != '[' && r != ';' && (r < '0' || r > '9') })
		if end < 0 || rest[i+1+end] != 'm' {
			t.Errorf("%s: a sequence that is not ours in %q", name, l)
			return
		}
		rest = rest[:i] + rest[i+end+2:]
	}
	for _, r := range rest {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			t.Errorf("%s: %U in %q", name, r, l)
			return
		}
	}
}
