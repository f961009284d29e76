package cli

import (
	"fmt"
	"strings"

	"signalbox/model/text"
)

// plural counts things in words: 1 item, 2 items.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// renewed says how often a lease was renewed.
func renewed(n int) string {
	switch n {
	case 0:
		return "not renewed yet"
	case 1:
		return "renewed once"
	}
	return fmt.Sprintf("renewed %d times", n)
}

// withKind names an object by its kind and id; an id that begins with its kind,
// as claim:7f does, says it already.
func withKind(kind, id string) string {
	if strings.HasPrefix(id, kind+":") || strings.HasPrefix(id, kind+"-") || strings.HasPrefix(id, kind+"_") {
		return text.ID(id)
	}
	return kind + " " + text.ID(id)
}

// Widths of a cell of a table: more of an id or a sentence shows with --json.
const (
	cellID   = 40
	cellKey  = 200
	cellText = 100
)

// keyCell is the id that names a row: people copy it into the next command, so it is
// whole unless nobody could read it anyway.
func keyCell(id string) string { return text.Middle(text.ID(id), cellKey) }

// cell is an id for a table, both its ends kept.
func cell(id string) string { return text.Middle(text.ID(id), cellID) }

// cells are ids for one cell of a table.
func cells(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	s := cell(ids[0])
	for i, id := range ids[1:] {
		if text.Width(s) >= cellID {
			return s + fmt.Sprintf(" +%d", len(ids)-1-i)
		}
		s += "," + cell(id)
	}
	return s
}

// counted gives each word once, where it comes first, with how often it comes.
func counted(all []string) []string {
	var out []string
	n := make(map[string]int)
	for _, w := range all {
		if n[w]++; n[w] == 1 {
			out = append(out, w)
		}
	}
	for i, w := range out {
		if n[w] > 1 {
			out[i] = fmt.Sprintf("%s (%d)", w, n[w])
		}
	}
	return out
}

// names lists words for a sentence.
func names[T ~string](all []T) string { return strings.Join(wordsOf(all), ", ") }

// wordsOf gives the values of a closed set as strings.
func wordsOf[T ~string](all []T) []string {
	out := make([]string, len(all))
	for i, w := range all {
		out[i] = string(w)
	}
	return out
}
