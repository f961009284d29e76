package ui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"signalbox/ui/pane/worlds"
	"signalbox/ui/theme"
)

// B93: with --ascii nothing of ours is drawn with other signs, whatever the text was
// that it stands for: screens, sheets, forms, palette, help, filter and toasts.
func TestASCIIEverywhere(t *testing.T) {
	for _, name := range []string{"empty", "one", "long", "hostile", "cut off"} { // none has letters that are not ASCII
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sweep{t: t, name: name, m: sweepModel(t, worlds.All()[name], [2]int{80, 24}), opened: map[string]bool{}}
			s.m.opts.ASCII = true
			s.m.look.styles = theme.New(theme.Options{Dark: true, ASCII: true})
			seen := map[rune]bool{}
			s.check = func(what, content string) {
				for _, r := range ansi.Strip(content) {
					if r > 0x7e && !seen[r] && !strings.ContainsRune("你好世界", r) { // which the sweep types
						seen[r] = true
						t.Errorf("%s: %q (%U) is drawn", what, r, r)
					}
				}
			}
			s.all(name == "hostile" && !testing.Short()) // it has what the others have, and more
		})
	}
}
