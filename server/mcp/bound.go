package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"signalbox/model/acop"
)

// Bounds of what one call puts into a model's window, in bytes. The owner takes
// documents of a megabyte and more; what does not fit is left out, named, and can be
// read piece by piece.
const (
	mostResult   = 48 << 10  // the structured result of a tool
	mostSaid     = 16 << 10  // its text
	mostResource = 256 << 10 // a resource, which a person or a program asked for
	mostPiece    = 12 << 10  // what one reading on brings, in both
	mostLeftOut  = 20        // places named in one result
)

// omission is one place of a result where something was left out.
type omission struct {
	Path  string `json:"path" jsonschema:"where in the result: JSON pointer"`
	Shown int    `json:"shown" jsonschema:"how many characters of the text, or members of the list, are here"`
	Of    int    `json:"of" jsonschema:"how many there are"`
}

// piece is one part of what was left out.
type piece struct {
	Path       string `json:"path"`
	Offset     int    `json:"offset"`
	Of         int    `json:"of" jsonschema:"how many characters or members there are"`
	NextOffset int    `json:"next_offset,omitempty" jsonschema:"where the next piece begins; absent at the end"`
	Text       string `json:"text,omitempty" jsonschema:"of a text: the characters from offset on"`
	Members    []any  `json:"members,omitempty" jsonschema:"of a list: the members from offset on"`
}

// tree decodes what was just encoded, numbers as they stand.
func tree(raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil // cannot happen: it is our own JSON
	}
	return v
}

// shorten makes v fit into most bytes: the longest texts and lists first, and all
// to the same length. What was left out is told in order of the paths.
func shorten(v any, most int) (any, []omission) {
	const leastText, leastList = 256, 2
	text, list := most/2, 1024
	for {
		c := cutter{text: text, list: list}
		out := c.cut(v, "")
		raw, err := json.Marshal(out)
		if err != nil || len(raw) <= most || text <= leastText && list <= leastList {
			return out, c.left
		}
		text, list = max(text*2/3, leastText), max(list*2/3, leastList)
	}
}

// cutter cuts texts to so many bytes and lists to so many members.
type cutter struct {
	text, list int
	left       []omission
}

func (c *cutter) cut(v any, path string) any {
	switch v := v.(type) {
	case string:
		if len(v) <= c.text {
			return v
		}
		s := whole(v[:c.text])
		c.left = append(c.left, omission{path, utf8.RuneCountInString(s), utf8.RuneCountInString(v)})
		return s
	case []any:
		if len(v) > c.list {
			c.left = append(c.left, omission{path, c.list, len(v)})
		}
		out := make([]any, min(len(v), c.list))
		for i := range out {
			out[i] = c.cut(v[i], path+"/"+strconv.Itoa(i))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out[k] = c.cut(v[k], path+"/"+pointer.Replace(k))
		}
		return out
	}
	return v
}

// pointer escapes a name as a JSON pointer has it.
var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// whole takes away a character that was cut through at the end.
func whole(s string) string {
	for i := 1; i <= utf8.UTFMax && i <= len(s); i++ {
		if utf8.RuneStart(s[len(s)-i]) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// pieceOf reads on in v: from offset on at path, as much as fits.
func pieceOf(v any, path string, offset int) (*piece, *acop.Error) {
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch at := v.(type) {
		case map[string]any:
			v = at[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(at) {
				return nil, noPath()
			}
			v = at[i]
		default:
			return nil, noPath()
		}
	}
	p := &piece{Path: path, Offset: offset}
	switch v := v.(type) {
	case string:
		runes := []rune(v)
		p.Of = len(runes)
		from := min(offset, len(runes))
		rest := string(runes[from:])
		p.Text = whole(rest[:min(len(rest), mostPiece)])
		p.NextOffset = from + utf8.RuneCountInString(p.Text)
	case []any:
		p.Of = len(v)
		from := min(offset, len(v))
		size := 0
		for _, m := range v[from:] {
			m, _ = shorten(m, mostPiece/2)
			raw, err := json.Marshal(m)
			if size += len(raw); err != nil || size > mostPiece && len(p.Members) > 0 {
				break
			}
			p.Members = append(p.Members, m)
		}
		p.NextOffset = from + len(p.Members)
	default:
		return nil, noPath()
	}
	if p.NextOffset >= p.Of {
		p.NextOffset = 0
	}
	return p, nil
}

func noPath() *acop.Error {
	return badArguments("there is no text and no list at this path; take it from left_out of the result without path")
}

// leftOut tells in words what was left out and how to read it.
func leftOut(tool string, left []omission, more int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nLeft out here, because it is long:")
	for _, o := range left {
		fmt.Fprintf(&b, "\n- %s: %d of %d", clip(o.Path, 200), o.Shown, o.Of)
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n- and %d other places", more)
	}
	switch tool {
	case toolItem:
		b.WriteString("\nRead on with the same call and path, and offset where you go on; the notes with " + toolBoard + ".")
	case toolBoard:
		b.WriteString("\nRead one note with entry_id; then on in it with path and offset.")
	default:
		b.WriteString("\nRead it with " + toolItem + " or " + toolBoard + ".")
	}
	return b.String()
}
