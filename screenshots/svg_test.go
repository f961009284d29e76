package main

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
)

func TestDrawSVGKeepsTextStyleAndPlace(t *testing.T) {
	emu := vt.NewSafeEmulator(20, 2)
	if _, err := emu.Write([]byte("a<b \x1b[1;38;2;255;0;0mred\x1b[0m\r\n\x1b[48;2;0;0;255m x \x1b[0m")); err != nil {
		t.Fatal(err)
	}
	svg := drawSVG(emu, darkGround)
	for _, want := range []string{
		"a&lt;b",
		`fill="#ff0000" font-weight="bold">red<`,
		`fill="#0000ff"`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %s:\n%s", want, svg)
		}
	}
	if n := strings.Count(svg, "<text "); n != 3 {
		t.Errorf("%d runs of text, want 3 (plain, red, on blue):\n%s", n, svg)
	}
}
