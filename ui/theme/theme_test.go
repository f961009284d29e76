package theme

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// luminance is the relative luminance of WCAG 2.
func luminance(c rgb) float64 {
	lin := func(v rgb) float64 {
		x := float64(v&0xff) / 255
		if x <= 0.03928 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(c>>16) + 0.7152*lin(c>>8) + 0.0722*lin(c)
}

func contrast(a, b rgb) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Text is readable at 4.5:1, muted text at 3:1, on every ground a theme is made
// for and on its selections.
func TestContrast(t *testing.T) {
	for name, p := range map[string]palette{
		"dark": darkPalette, "light": lightPalette, "dark-contrast": darkContrastPalette, "light-contrast": lightContrastPalette,
	} {
		for _, ground := range append([]rgb{p.sel, p.selOff}, p.grounds...) {
			for token, c := range map[string]rgb{
				"text": p.text, "accent": p.accent, "ok": p.ok, "wait": p.wait, "warn": p.warn, "bad": p.bad,
			} {
				if r := contrast(c, ground); r < 4.5 {
					t.Errorf("%s: %s %06x on %06x is %.2f:1", name, token, c, ground, r)
				}
			}
			if r := contrast(p.muted, ground); r < 3 {
				t.Errorf("%s: muted %06x on %06x is %.2f:1", name, p.muted, ground, r)
			}
		}
		if r := contrast(p.grounds[0], p.warn); r < 4.5 {
			t.Errorf("%s: a badge is %.2f:1", name, r)
		}
	}
}

// Every style closes what it opens and draws nothing but its text.
func TestStylesClose(t *testing.T) {
	for _, o := range []Options{{}, {Dark: true}, {Name: HighContrast}, {Name: HighContrast, Dark: true}, {Depth: Basic16}, {Depth: NoColor}} {
		s := New(o)
		for i, st := range []Style{s.Text, s.Strong, s.Muted, s.Faint, s.Accent, s.Title, s.OK, s.Wait, s.Warn, s.Bad, s.Fresh, s.Dimmed, s.Key, s.Field, s.Badge} {
			for _, sel := range []Selection{SelNone, SelFocused, SelUnfocused} {
				got := st.Draw("word", sel)
				if ansi.Strip(got) != "word" || strings.Contains(got, "\x1b") && !strings.HasSuffix(got, reset) {
					t.Errorf("%+v: style %d draws %q", o, i, got)
				}
				if o.Depth == NoColor && regexp.MustCompile(`[34]8;|;3[0-7]|\[3[0-7]`).MatchString(strings.ReplaceAll(got, "[3m", "")) {
					t.Errorf("style %d has colour without colour: %q", i, got)
				}
			}
			if st.Draw("word", SelFocused) == st.Draw("word", SelNone) && i < 10 {
				t.Errorf("%+v: style %d does not show the selection", o, i)
			}
		}
	}
}

// The last gate: no control character passes a style.
func TestStylesDropControls(t *testing.T) {
	s := New(Options{Dark: true})
	for _, bad := range []string{"a\x1b[2Jb", "a\rb", "a\x00b", "a\u009bb", "a\x7fb"} {
		if got := ansi.Strip(s.Text.Render(bad)) + s.Text.Render(bad); strings.ContainsAny(got, "\x1b\r\x00\u009b\x7f") {
			t.Errorf("%q draws %q", bad, got)
		}
	}
	if got := s.Text.Render("你好 ✓ é"); got != "你好 ✓ é" {
		t.Errorf("harmless text became %q", got)
	}
}

// Every glyph is one cell wide by clusters and by wcwidth.
func TestGlyphsAreOneCell(t *testing.T) {
	for _, g := range []Glyphs{Unicode, ASCII} {
		all := []string{g.H, g.V, g.TeeDown, g.TeeUp, g.Cursor, g.Mark, g.Ellipsis, g.Dot, g.Arrow, g.Up, g.Down, g.Folded, g.Open, g.On,
			g.Off, g.Running, g.Check, g.Cross2, g.Bang, g.Query, g.Cycle, g.Block, g.Pause, g.Circle, g.Half, g.Flag, g.Link}
		for _, s := range append(all, g.Bar...) {
			if ansi.StringWidth(s) != 1 || ansi.StringWidthWc(s) != 1 {
				t.Errorf("%q is %d and %d cells", s, ansi.StringWidth(s), ansi.StringWidthWc(s))
			}
			if g.ASCII && (len(s) != 1 || s[0] > 0x7e) {
				t.Errorf("%q is not ASCII", s)
			}
		}
	}
}

// No colour and no style is made outside this package.
func TestNoColourElsewhere(t *testing.T) {
	bad := regexp.MustCompile(`lipgloss|\\x1b\[[0-9;]+m|color\.RGBA|0x[0-9a-fA-F]{6}\b`)
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.Contains(filepath.ToSlash(path), "/theme/") || strings.Contains(filepath.ToSlash(path), "/uitest/") || strings.Contains(filepath.ToSlash(path), "/worlds/") {
			return err
		}
		b, err := os.ReadFile(path)
		for i, l := range strings.Split(string(b), "\n") {
			if bad.MatchString(l) && !strings.HasPrefix(strings.TrimSpace(l), "//") {
				t.Errorf("%s:%d: %s", path, i+1, strings.TrimSpace(l))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func ExampleStyle_Render() {
	fmt.Printf("%q\n", New(Options{Depth: NoColor}).Strong.Render("word"))
	// Output: "\x1b[1mword\x1b[m"
}

// The colours of xterm by their numbers, as far as they are used for words, and as
// many terminals have them.
var xterm = map[string]rgb{
	"31": 0xcd0000, "32": 0x00cd00, "33": 0xcdcd00, "34": 0x0000ee, "36": 0x00cdcd,
	"91": 0xff0000, "92": 0x00ff00, "93": 0xffff00, "94": 0x5c5cff, "95": 0xff00ff, "96": 0x00ffff,
}

// At 16 colours every state can be read on a dark ground, in xterm's colours.
func TestContrastOfSixteen(t *testing.T) {
	st := New(Options{Dark: true, Depth: Basic16})
	for name, s := range map[string]Style{"ok": st.OK, "wait": st.Wait, "warn": st.Warn, "bad": st.Bad, "accent": st.Accent, "title": st.Title} {
		code := regexp.MustCompile(`[39][0-7]m`).FindString(s.Render("x"))
		c, ok := xterm[strings.TrimSuffix(code, "m")]
		if !ok {
			t.Errorf("%s: no colour in %q", name, s.Render("x"))
			continue
		}
		if got := contrast(c, 0x000000); got < 4.5 { // sixteen colours come with black
			t.Errorf("%s: %.1f to 1", name, got)
		}
	}
	if got := New(Options{Depth: Basic16}).Wait.Render("x"); !strings.HasPrefix(got, "\x1b[34m") {
		t.Errorf("on a light ground waiting is %q", got)
	}
}
