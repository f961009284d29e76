package kit

import (
	"math"
	"strings"

	"signalbox/ui/theme"
)

// BarCells is the width of every bar.
const BarCells = 8

// Bar draws ratio (0..1, clamped) in n cells: a heavy line on a thin track in
// steps of half a cell, or [####--] with the ASCII set. Lines keep bars of
// adjacent rows apart, where full blocks would run together into one patch. A
// ratio that is not a number draws as unknown. What the bar measures must stand
// beside it.
func Bar(g *theme.Glyphs, ratio float64, n int) string {
	if n <= 0 {
		return ""
	}
	if math.IsNaN(ratio) {
		return NoBar(g, n)
	}
	ratio = max(0, min(1, ratio))
	if g.ASCII {
		return asciiBar(g, ratio, n)
	}
	steps := len(g.Bar) - 1
	full := int(math.Round(ratio * float64(n*steps)))
	if full == 0 && ratio > 0 {
		full = 1
	}
	var b strings.Builder
	for i := range n {
		b.WriteString(g.Bar[max(0, min(steps, full-i*steps))])
	}
	return b.String()
}

func asciiBar(g *theme.Glyphs, ratio float64, n int) string {
	if n < 3 {
		return strings.Repeat(g.Bar[1], int(math.Round(ratio*float64(n)))) + Blank(n-int(math.Round(ratio*float64(n))))
	}
	inner := n - 2
	full := int(math.Round(ratio * float64(inner)))
	if full == 0 && ratio > 0 {
		full = 1
	}
	return "[" + strings.Repeat(g.Bar[1], full) + strings.Repeat(g.Bar[0], inner-full) + "]"
}

// NoBar is drawn where a bar would be and nothing is known: absent data must
// look absent, not empty.
func NoBar(g *theme.Glyphs, n int) string {
	return strings.Repeat(g.Dot, max(0, n))
}

// barSplit cuts a bar into what is filled and what is left of its track.
func barSplit(g *theme.Glyphs, bar string) (fill, track string) {
	i := strings.Index(bar, g.Bar[0])
	if i < 0 {
		return bar, ""
	}
	return bar[:i], bar[i:]
}
