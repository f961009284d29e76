package pane

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"signalbox/model/text"
)

// Text is what an output pane shows: raw, hostile lines with the number of the
// first one. Numbers count from the start of the stream, so that they stay when
// lines in front are dropped.
type Text struct {
	Lines []string
	First int
	// JSON says that a line is a JSON value, which the typed view spreads out.
	JSON bool
}

// End is the number behind the last line.
func (t Text) End() int { return t.First + len(t.Lines) }

// Line is the raw line called n, or "".
func (t Text) Line(n int) string {
	if n < t.First || n >= t.End() {
		return ""
	}
	return t.Lines[n-t.First]
}

// SplitText makes a Text of a whole output, line ends removed.
func SplitText(b []byte, isJSON bool) Text {
	s := strings.TrimSuffix(string(b), "\n")
	if s == "" {
		return Text{JSON: isJSON}
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return Text{Lines: lines, JSON: isJSON}
}

// typedLimit is the longest line that the typed view spreads out, in bytes.
const typedLimit = 64 << 10

// rows gives the safe rows that line n makes, at most one without wrap and type.
func (p *Pane) rows(t Text, n int, sgr bool) []string {
	raw := t.Line(n)
	if p.typed && t.JSON && len(raw) <= typedLimit {
		if rows := pretty(raw); rows != nil {
			return p.wrapAll(rows)
		}
	}
	return p.wrapAll([]string{text.OutputLine(raw, sgr)})
}

func (p *Pane) wrapAll(rows []string) []string {
	if !p.wrap || p.w < 1 {
		return rows
	}
	var out []string
	for _, r := range rows {
		out = append(out, wrapRow(r, p.w)...)
	}
	return out
}

// wrapRow cuts a safe row into pieces of at most w cells; each closes the
// colours it opens (B08).
func wrapRow(s string, w int) []string {
	n := cells(s)
	if n <= w {
		return []string{s}
	}
	var out []string
	for at := 0; at < n; at += w {
		out = append(out, cutRow(s, at, at+w))
	}
	return out
}

func styled(s string) bool { return strings.IndexByte(s, '\x1b') >= 0 }

// cells measures a safe row that may hold SGR.
func cells(s string) int {
	if styled(s) {
		return ansi.StringWidth(s)
	}
	return text.Width(s)
}

// cutRow cuts a safe row that may hold SGR by cells.
func cutRow(s string, from, to int) string {
	if !styled(s) {
		return text.Cut(s, from, to)
	}
	return ansi.Cut(s, from, to)
}

// pretty spreads a JSON object or array over rows; nil if s is neither.
func pretty(s string) []string {
	s = strings.TrimSpace(s)
	if s == "" || s[0] != '{' && s[0] != '[' {
		return nil
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(s), "", "  ") != nil {
		return nil
	}
	return text.Block(b.String())
}
