package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// yamlDocument writes v, which must be an object in JSON, as a block of YAML, its
// members in the order of JSON. Strings that could be read as anything else are
// quoted, and what does not print is escaped: the text is a stranger's, and the
// YAML library's own writer loses tabs, returns and bare line ends.
func yamlDocument(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	w := &yamlWriter{dec: jsontext.NewDecoder(bytes.NewReader(raw))}
	if _, err := w.dec.ReadToken(); err != nil {
		return nil, err
	}
	if err := w.mapping(0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return w.out.Bytes(), nil
}

type yamlWriter struct {
	dec *jsontext.Decoder
	out bytes.Buffer
}

// mapping writes members up to the end of an object; the line of the first has its
// indent already where it is the element of a list.
func (w *yamlWriter) mapping(depth int) error {
	for first := true; w.dec.PeekKind() != '}'; first = false {
		name, err := w.dec.ReadToken()
		if err != nil {
			return err
		}
		if !first || depth == 0 || w.atLineStart() {
			w.indent(depth)
		}
		w.out.WriteString(yamlWord(name.String()) + ":")
		if err := w.value(depth); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

func (w *yamlWriter) atLineStart() bool { return bytes.HasSuffix(w.out.Bytes(), []byte("\n")) }

func (w *yamlWriter) indent(depth int) { w.out.WriteString(strings.Repeat("  ", depth)) }

// value writes what stands behind a name, with its line end.
func (w *yamlWriter) value(depth int) error {
	tok, err := w.dec.ReadToken()
	if err != nil {
		return err
	}
	switch tok.Kind() {
	case '{':
		if w.dec.PeekKind() == '}' {
			w.out.WriteString(" {}\n")
			_, err := w.dec.ReadToken()
			return err
		}
		w.out.WriteByte('\n')
		return w.mapping(depth + 1)
	case '[':
		return w.list(depth)
	case '"':
		w.out.WriteString(" " + yamlScalar(tok.String(), depth+1) + "\n")
	default:
		w.out.WriteString(" " + tok.String() + "\n") // a number, true, false or null
	}
	return nil
}

func (w *yamlWriter) list(depth int) error {
	if w.dec.PeekKind() == ']' {
		w.out.WriteString(" []\n")
	} else {
		w.out.WriteByte('\n')
	}
	for w.dec.PeekKind() != ']' {
		w.indent(depth + 1)
		w.out.WriteByte('-')
		if w.dec.PeekKind() != '{' {
			if err := w.value(depth + 1); err != nil {
				return err
			}
			continue
		}
		if _, err := w.dec.ReadToken(); err != nil {
			return err
		}
		w.out.WriteByte(' ')
		if err := w.mapping(depth + 2); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// yamlPlain is text that needs no quotes wherever it stands: it begins with a letter
// and holds nothing that YAML gives a meaning. A colon is followed by more of the
// word.
var yamlPlain = regexp.MustCompile(`^[A-Za-z](?:[A-Za-z0-9_./+-]|:[A-Za-z0-9_./+-]| [A-Za-z0-9_./+])*$`)

// yamlWords are plain words that YAML, or some reader of it, takes for a value.
var yamlWords = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|y|n|null|nan|inf)$`)

// yamlScalar writes s as a literal block, plain or in double quotes.
func yamlScalar(s string, depth int) string {
	if block, ok := yamlBlock(s, depth); ok {
		return block
	}
	return yamlWord(s)
}

// yamlWord writes s plain or in double quotes.
func yamlWord(s string) string {
	if yamlPlain.MatchString(s) && !yamlWords.MatchString(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case printable(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// yamlBlock writes several lines as they are, where nothing in them could get lost.
func yamlBlock(s string, depth int) (string, bool) {
	lines := strings.Split(s, "\n")
	if len(lines) < 2 {
		return "", false
	}
	var b strings.Builder
	b.WriteString("|-")
	for _, l := range lines {
		if l == "" || l != strings.TrimSpace(l) || strings.ContainsFunc(l, func(r rune) bool { return !printable(r) }) {
			return "", false
		}
		b.WriteString("\n" + strings.Repeat("  ", depth) + l)
	}
	return b.String(), true
}

// printable reports whether r can stand in a file that is read on a terminal.
func printable(r rune) bool { return unicode.IsPrint(r) }
