package ui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// draw paints the rectangles as letters, to be compared with a drawing.
func draw(r Rects, w, h int) string {
	rows := make([][]byte, h)
	for y := range rows {
		rows[y] = []byte(strings.Repeat(".", w))
	}
	paint := func(r Rect, c byte) {
		for y := r.Y; y < r.Y+r.H; y++ {
			for x := r.X; x < r.X+r.W; x++ {
				rows[y][x] = c
			}
		}
	}
	paint(r.Header, 'h')
	paint(r.Rule, '-')
	paint(r.Body, 'b')
	paint(r.Base, '=')
	paint(r.Keys, 'k')
	out := make([]string, h)
	for i, r := range rows {
		// The middle of a row repeats; its ends are what matters.
		out[i] = string(r[:4]) + "~" + string(r[w-4:])
	}
	return strings.Join(out, "\n")
}

func TestLayout(t *testing.T) {
	want := strings.TrimSpace(`
hhhh~hhhh
----~----
.bbb~bbb.
.bbb~bbb.
.bbb~bbb.
.bbb~bbb.
.bbb~bbb.
.bbb~bbb.
.bbb~bbb.
.bbb~bbb.
.bbb~bbb.
.bbb~bbb.
.bbb~bbb.
.bbb~bbb.
====~====
kkkk~kkkk`)
	if d := cmp.Diff(want, draw(Layout(60, 16), 60, 16)); d != "" {
		t.Error(d)
	}
}

// Below the least size nothing is laid out, and no size panics (B89).
func TestLayoutSmall(t *testing.T) {
	for _, s := range [][2]int{{-1, -5}, {0, 0}, {1, 1}, {59, 40}, {60, 15}} {
		if r := Layout(s[0], s[1]); !r.Small {
			t.Errorf("%v is laid out as %+v", s, r)
		}
	}
	if Layout(60, 16).Small {
		t.Error("60x16 is too small")
	}
}
