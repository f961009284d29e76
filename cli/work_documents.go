package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"signalbox/model/text"
	"signalbox/server/acmp"
)

// source is one document as it was written: its value, and where each part of it
// stands, so that what is wrong can be shown with its line.
type source struct {
	name  string // of the file
	value any    // as of encoding/json with numbers kept as they are written
	lines map[string]int
	root  []string // path of the document in its file: an index in a list
}

// line is the line of the part at path, or of the nearest part around it.
func (s *source) line(path []string) int {
	full := append(append([]string{}, s.root...), path...)
	for n := len(full); n >= 0; n-- {
		if l, ok := s.lines[pathKey(full[:n])]; ok {
			return l
		}
	}
	return 1
}

// errorf is an error about the part at path.
func (s *source) errorf(path []string, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", s.name, s.line(path), fmt.Errorf(format, args...))
}

func pathKey(path []string) string { return strings.Join(path, "\x00") }

// split gives the value as its documents: a list holds several.
func (s *source) split() []*source {
	list, many := s.value.([]any)
	if !many {
		return []*source{s}
	}
	docs := make([]*source, len(list))
	for i, v := range list {
		docs[i] = &source{name: s.name, value: v, lines: s.lines, root: []string{strconv.Itoa(i)}}
	}
	return docs
}

// readSources reads the documents of a file. The same name twice in one mapping
// is an error at any depth, because readers differ in which one counts (B67).
//
// format is json, yaml or auto, which looks.
func readSources(name string, raw []byte, format string) ([]*source, error) {
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	if !utf8.Valid(raw) { // the reader of YAML would replace what is not (B70)
		line := 1
		for l := range bytes.Lines(raw) {
			if !utf8.Valid(l) {
				break
			}
			line++
		}
		return nil, fmt.Errorf("%s:%d: the text is not UTF-8; save the file as UTF-8", name, line)
	}
	trimmed := bytes.TrimSpace(raw)
	ext := filepath.Ext(name)
	looksJSON := len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && ext != ".yaml" && ext != ".yml"
	if format == "json" || format == "auto" && looksJSON {
		return readJSON(name, raw)
	}
	return readYAML(name, raw)
}

// jsonReader builds values token by token and notes the line of each.
type jsonReader struct {
	dec   *jsontext.Decoder
	raw   []byte
	lines map[string]int
	// seen and line are how far lines have been counted.
	seen int64
	line int
}

func readJSON(name string, raw []byte) ([]*source, error) {
	r := &jsonReader{dec: jsontext.NewDecoder(bytes.NewReader(raw)), raw: raw, line: 1}
	var docs []*source
	for {
		r.lines = make(map[string]int)
		v, err := r.read(nil)
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return docs, nil
		}
		if err != nil {
			return nil, r.explain(name, err)
		}
		docs = append(docs, (&source{name: name, value: v, lines: r.lines}).split()...)
	}
}

// at gives the line of an offset. Offsets only grow, except in errors.
func (r *jsonReader) at(offset int64) int {
	offset = min(max(offset, 0), int64(len(r.raw)))
	if offset < r.seen {
		return 1 + bytes.Count(r.raw[:offset], []byte("\n"))
	}
	r.line += bytes.Count(r.raw[r.seen:offset], []byte("\n"))
	r.seen = offset
	return r.line
}

func (r *jsonReader) explain(name string, err error) error {
	at := int64(len(r.raw))
	var se *jsontext.SyntacticError
	if errors.As(err, &se) {
		at = se.ByteOffset
		err = se.Err
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return fmt.Errorf("%s:%d: %s is there twice", name, r.at(at), text.ID(se.JSONPointer.LastToken()))
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s:%d: the document ends too early; a bracket or a quote is not closed", name, r.at(at))
	}
	return fmt.Errorf("%s:%d: this is not JSON: %s", name, r.at(at), text.Line(strings.TrimPrefix(err.Error(), "jsontext: ")))
}

func (r *jsonReader) read(path []string) (any, error) {
	tok, err := r.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	if _, named := r.lines[pathKey(path)]; !named {
		r.lines[pathKey(path)] = r.at(r.dec.InputOffset())
	}
	switch tok.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return tok.Bool(), nil
	case '"':
		return tok.String(), nil
	case '0':
		return json.Number(tok.String()), nil
	case '[':
		return r.list(path)
	default:
		return r.mapping(path)
	}
}

func (r *jsonReader) list(path []string) (any, error) {
	list := []any{}
	for r.dec.PeekKind() != ']' {
		v, err := r.read(append(path, strconv.Itoa(len(list))))
		if err != nil {
			return nil, notTheEnd(err)
		}
		list = append(list, v)
	}
	_, err := r.dec.ReadToken()
	return list, err
}

func (r *jsonReader) mapping(path []string) (any, error) {
	m := map[string]any{}
	for r.dec.PeekKind() != '}' {
		tok, err := r.dec.ReadToken()
		if err != nil {
			return nil, notTheEnd(err)
		}
		name := tok.String()
		below := append(path, name)
		r.lines[pathKey(below)] = r.at(r.dec.InputOffset())
		if m[name], err = r.read(below); err != nil {
			return nil, notTheEnd(err)
		}
	}
	_, err := r.dec.ReadToken()
	return m, err
}

// notTheEnd tells the end of the input inside a document from the one behind it.
func notTheEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func readYAML(name string, raw []byte) ([]*source, error) {
	if err := acmp.CheckText(name, raw); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(raw, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, configError(name, err)
	}
	var docs []*source
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		lines := make(map[string]int)
		if err := noteLines(name, d.Body, nil, lines); err != nil {
			return nil, err
		}
		var v any
		if err := yaml.NodeToValue(d.Body, &v); err != nil {
			return nil, configError(name, err)
		}
		if v == nil {
			continue
		}
		if v, err = asJSON(v); err != nil {
			return nil, fmt.Errorf("%s:%d: this cannot be written as JSON: numbers must be finite and names must be text", name, lines[""])
		}
		docs = append(docs, (&source{name: name, value: v, lines: lines}).split()...)
	}
	return docs, nil
}

// asJSON turns what YAML gave into what JSON would have given.
func asJSON(v any) (any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v = nil
	return v, dec.Decode(&v)
}

// noteLines notes the line of each part of a YAML document and refuses a name
// that stands twice in one mapping.
func noteLines(name string, n ast.Node, path []string, lines map[string]int) error {
	if n == nil || n.GetToken() == nil {
		return nil
	}
	if _, named := lines[pathKey(path)]; !named {
		lines[pathKey(path)] = n.GetToken().Position.Line
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		return noteLines(name, n.Value, path, lines)
	case *ast.TagNode:
		return noteLines(name, n.Value, path, lines)
	case *ast.MappingValueNode:
		return notePairs(name, []*ast.MappingValueNode{n}, path, lines)
	case *ast.MappingNode:
		return notePairs(name, n.Values, path, lines)
	case *ast.SequenceNode:
		for i, v := range n.Values {
			if err := noteLines(name, v, append(path, strconv.Itoa(i)), lines); err != nil {
				return err
			}
		}
	}
	return nil
}

func notePairs(name string, pairs []*ast.MappingValueNode, path []string, lines map[string]int) error {
	seen := make(map[string]bool, len(pairs))
	for _, p := range pairs {
		tok := p.Key.GetToken()
		if tok == nil {
			continue
		}
		key := tok.Value
		if seen[key] && key != "<<" {
			return fmt.Errorf("%s:%d: %s is there twice", name, tok.Position.Line, text.ID(key))
		}
		seen[key] = true
		below := append(path, key)
		lines[pathKey(below)] = tok.Position.Line
		if err := noteLines(name, p.Value, below, lines); err != nil {
			return err
		}
	}
	if len(pairs) > 0 && len(path) == 0 {
		if tok := pairs[0].Key.GetToken(); tok != nil {
			lines[""] = tok.Position.Line // the token of a mapping is its first colon
		}
	}
	return nil
}
