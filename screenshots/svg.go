package main

import (
	"fmt"
	"html"
	"image/color"
	"strings"

	"github.com/charmbracelet/x/vt"
)

// The size of one cell in the picture, in SVG user units, and the type size
// that fits it.
const (
	cellW, cellH = 8.4, 18.0
	fontSize     = 14.0
	margin       = 12.0
)

// The attribute bits of an emulator cell that show in a picture.
const (
	attrBold    = 1 << 0
	attrFaint   = 1 << 1
	attrItalic  = 1 << 2
	attrReverse = 1 << 5
)

// ground is the terminal's own pair of colours.
type ground struct{ fg, bg color.Color }

var (
	darkGround  = ground{fg: color.RGBA{0xd0, 0xd4, 0xdc, 0xff}, bg: color.RGBA{0x12, 0x14, 0x19, 0xff}}
	lightGround = ground{fg: color.RGBA{0x1f, 0x23, 0x28, 0xff}, bg: color.RGBA{0xff, 0xff, 0xff, 0xff}}
)

// run is a stretch of cells of one row that look alike.
type run struct {
	x, cells int
	text     strings.Builder
	fg, bg   string
	attrs    uint8
}

// drawSVG draws the emulator's cells.
func drawSVG(emu *vt.SafeEmulator, g ground) string {
	w, h := emu.Width(), emu.Height()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" font-family="ui-monospace,'JetBrains Mono','DejaVu Sans Mono',Menlo,Consolas,monospace" font-size="%.0f">`+"\n",
		float64(w)*cellW+2*margin, float64(h)*cellH+2*margin, fontSize)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="6" fill="%s"/>`+"\n", hex(g.bg))
	for y := range h {
		for _, r := range rowRuns(emu, y, w, g) {
			drawRun(&b, r, y, g)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func rowRuns(emu *vt.SafeEmulator, y, w int, g ground) []*run {
	var runs []*run
	for x := 0; x < w; {
		content, width, fg, bg, attrs := cellLook(emu, x, y, g)
		var last *run
		if len(runs) > 0 {
			last = runs[len(runs)-1]
		}
		if last == nil || last.fg != fg || last.bg != bg || last.attrs != attrs {
			last = &run{x: x, fg: fg, bg: bg, attrs: attrs}
			runs = append(runs, last)
		}
		last.text.WriteString(content)
		last.cells += width
		x += width
	}
	return runs
}

func cellLook(emu *vt.SafeEmulator, x, y int, g ground) (content string, width int, fg, bg string, attrs uint8) {
	c := emu.CellAt(x, y)
	if c == nil || c.Content == "" {
		return " ", 1, hex(g.fg), hex(g.bg), 0
	}
	fc, bc := c.Style.Fg, c.Style.Bg
	if fc == nil {
		fc = g.fg
	}
	if bc == nil {
		bc = g.bg
	}
	if c.Style.Attrs&attrReverse != 0 {
		fc, bc = bc, fc
	}
	return c.Content, max(c.Width, 1), hex(fc), hex(bc), c.Style.Attrs & (attrBold | attrFaint | attrItalic)
}

func drawRun(b *strings.Builder, r *run, y int, g ground) {
	left, top := margin+float64(r.x)*cellW, margin+float64(y)*cellH
	width := float64(r.cells) * cellW
	if r.bg != hex(g.bg) {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", left, top, width, cellH, r.bg)
	}
	text := r.text.String()
	if strings.TrimSpace(text) == "" {
		return
	}
	style := ""
	if r.attrs&attrBold != 0 {
		style += ` font-weight="bold"`
	}
	if r.attrs&attrItalic != 0 {
		style += ` font-style="italic"`
	}
	if r.attrs&attrFaint != 0 {
		style += ` opacity="0.6"`
	}
	// textLength holds each run to its cells whatever font the viewer has.
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs" xml:space="preserve" fill="%s"%s>%s</text>`+"\n",
		left, top+cellH*0.74, width, r.fg, style, html.EscapeString(text))
}

func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
