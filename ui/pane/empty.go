package pane

import (
	"fmt"
	"time"

	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/theme"
)

// Empty fills w×h cells with a few lines that teach: the first says what would
// be here, the others what brings it.
func Empty(st *theme.Styles, w, h int, head string, lines ...string) string {
	out := make([]string, 0, h)
	for range min(2, max(0, (h-len(lines)-2)/3)) {
		out = append(out, "")
	}
	out = append(out, "  "+st.Strong.Render(text.ClipMark(head, w-2, st.G.Ellipsis)), "")
	for _, l := range lines {
		for _, row := range text.Wrap(l, max(1, w-4)) {
			out = append(out, "  "+st.Muted.Render(row))
		}
	}
	return kit.Lines(out, w, h)
}

// OwnerLine says how the owner is reached, for screens that have nothing of it
// to show.
func OwnerLine(l fleet.Link, now time.Time) string {
	server := text.ID(l.Server)
	if server == "" {
		server = "the owner"
	}
	switch l.State {
	case fleet.LinkLive:
		return "Connected to " + server + " (y copies the address)."
	case fleet.LinkRefused:
		return fmt.Sprintf("%s refuses this program: %s", server, text.Line(l.Problem))
	case fleet.LinkDegraded:
		s := fmt.Sprintf("Cut off from %s, try %d", server, l.Try)
		if l.Problem != "" {
			s += ": " + text.Line(l.Problem)
		}
		return s
	}
	return "Connecting to " + server + "."
}

// Clean makes one-line prose ready for a column of w cells without reading more
// of a huge text than could be shown.
func Clean(s string, w int) string { return text.Line(text.Head(s, 16*max(0, w)+256)) }

// Prose breaks prose of several lines into at most most rows of w cells; what
// does not fit is marked at the end.
func Prose(s string, w, most int, g *theme.Glyphs) []string {
	if w <= 0 || most <= 0 {
		return nil
	}
	var out []string
	for _, line := range text.Block(text.Head(s, 16*w*most+256)) {
		for _, row := range text.Wrap(line, w) {
			if len(out) == most {
				last := out[most-1]
				out[most-1] = text.ClipMark(last, w-1, "") + g.Ellipsis
				return out
			}
			out = append(out, row)
		}
	}
	return out
}

// CleanID is Clean for ids, shortened in the middle.
func CleanID(g *theme.Glyphs, s string, w int) string {
	return text.MiddleMark(text.ID(bounded(s)), w, g.Ellipsis)
}

// CleanName is Clean for names made of parts, such as work:api:charge-errors or
// agent:otter: in little room the last part tells them apart.
func CleanName(g *theme.Glyphs, s string, w int) string {
	if w > nameMiddle {
		return CleanID(g, s, w)
	}
	return text.TailMark(text.ID(bounded(s)), w, g.Ellipsis)
}

// nameMiddle is the width up to which a name loses its beginning.
const nameMiddle = 20

// bounded cuts the middle out of a huge id.
func bounded(s string) string {
	if len(s) > 4096 {
		return text.Head(s, 2048) + s[len(s)-1024:]
	}
	return s
}

// Ago says how long ago in words: just now, 12s ago; none yet for no instant.
func Ago(t, now time.Time) string {
	if t.IsZero() {
		return "none yet"
	}
	return kit.Since(t, now)
}
