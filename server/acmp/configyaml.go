package acmp

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	safe "signalbox/model/text"
)

// checkForm refuses what no configuration needs and a decoder may never finish:
// very long or deep files, and anchors and aliases, which can grow without bound.
func checkForm(raw []byte) error {
	if len(raw) > maxConfigBytes {
		return fmt.Errorf("the file is larger than the %d bytes a configuration may have", maxConfigBytes)
	}
	return checkNesting(raw, false)
}

// CheckText refuses YAML that is nested deeper than anything a person writes; it
// may be of any length and use aliases. name stands for it in the error.
func CheckText(name string, raw []byte) error {
	if err := checkNesting(raw, true); err != nil {
		return atLine(name, err)
	}
	return nil
}

func checkNesting(raw []byte, aliases bool) error {
	depth := 0
	for _, t := range lexer.Tokenize(string(raw)) {
		line := 0
		if t.Position != nil {
			line = t.Position.Line
		}
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			if aliases {
				continue
			}
			return &lineError{line, "anchors and aliases (&, *, <<) are not taken here: write the value out"}
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		if depth > maxConfigDepth || t.Position != nil && t.Position.Column > 4*maxConfigDepth && t.Type == token.SequenceEntryType {
			return &lineError{line, "this is nested deeper than anything a person writes"}
		}
	}
	return nil
}

// lineError is what is wrong on one line of a file.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return e.text }

// atLine makes err the one line that a person gets to see of it.
func atLine(path string, err error) error {
	line, what := 1, err.Error()
	var le *lineError
	if errors.As(err, &le) {
		line, what = max(le.line, 1), le.text
	}
	return fmt.Errorf("%s:%d: %s", path, line, safe.Clip(safe.Line(oneLineText(what)), maxProblemCells))
}

// maxProblemCells is room for any problem of ours; a longer one repeats the file.
const maxProblemCells = 300

// ReadYAML reads a YAML file and refuses what no person wrote and a decoder may never
// finish: longer or nested deeper than any configuration, or with anchors and aliases.
// That error is one line with file and line number; one of the system is as it came.
func ReadYAML(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1)) // it may be a device without an end
	if err != nil {
		return nil, err
	}
	if err := checkForm(raw); err != nil {
		return nil, atLine(path, err)
	}
	return raw, nil
}

// CheckFile is [ReadYAML] in front of a reader that opens the file itself. A file that
// cannot be read, or only once, is left to that; a device is refused.
func CheckFile(path string) error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil
	case st.Mode()&os.ModeDevice != 0:
		return atLine(path, errors.New("this is a device, not a file"))
	case !st.Mode().IsRegular():
		return nil
	}
	_, err = ReadYAML(path)
	if errors.As(err, new(*fs.PathError)) {
		return nil
	}
	return err
}

// at is a value of a configuration with the line it stands on.
type at[T any] struct {
	v    T
	line int // 0 where it is absent
	set  bool
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (a *at[T]) UnmarshalYAML(n ast.Node) error {
	a.line, a.set = lineOf(n), true
	if _, null := n.(*ast.NullNode); null {
		a.set = false
		return nil
	}
	switch any(a.v).(type) {
	case int, int64: // the decoder would cut 1.5 to 1
		if _, whole := n.(*ast.IntegerNode); !whole {
			return a.problem(n, nil)
		}
	case string: // the decoder would take true, and 010 as 8
		if !isText(n) {
			return a.problem(n, nil)
		}
	case []string:
		if err := a.checkWords(n); err != nil {
			return err
		}
	}
	if err := yaml.NodeToValue(n, &a.v, yaml.Strict()); err != nil {
		return a.problem(n, err)
	}
	return nil
}

// isText reports whether a person wrote n as text.
func isText(n ast.Node) bool {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return true
	}
	return false
}

// checkWords demands that each entry of a list is text: null would become an empty
// word, and 010 an 8.
func (a *at[T]) checkWords(n ast.Node) error {
	list, isList := n.(*ast.SequenceNode)
	if !isList {
		return a.problem(n, nil)
	}
	for i, v := range list.Values {
		if isText(v) {
			continue
		}
		what := "is not text"
		switch v.(type) {
		case *ast.NullNode:
			what = "is empty"
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
			what = fmt.Sprintf("is %s, which YAML takes for a value and not for text", v.GetToken().Value)
		}
		return &lineError{max(lineOf(v), a.line), fmt.Sprintf("word %d of %s %s: write it in quotes", i+1, keyOf(n), what)}
	}
	return nil
}

// problem says in plain words that a value has the wrong form.
func (a *at[T]) problem(n ast.Node, err error) error {
	var le *lineError
	if errors.As(err, &le) {
		return le
	}
	want := "of another form"
	switch any(a.v).(type) {
	case string:
		want = "text; write it in quotes"
	case int, int64:
		want = "a whole number"
	case []string:
		want = `a list of words, such as ["go", "test"]: it is never given to a shell`
	case []capabilityFile:
		want = "a list of capabilities"
	}
	return a.errorf("%s must be %s", keyOf(n), want)
}

func (a *at[T]) errorf(format string, args ...any) error {
	return &lineError{a.line, fmt.Sprintf(format, args...)}
}

// millis reads a duration given in whole milliseconds; absent is 0.
func (a *at[T]) millis(name string) (time.Duration, error) {
	ms, _ := any(a.v).(int64)
	if ms < 0 || ms > maxTimeoutMS || (a.set && ms == 0) {
		return 0, a.errorf("%s %d is not a number of milliseconds above 0", name, ms)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// number is a decimal as it was written.
type number string

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (v *number) UnmarshalYAML(n ast.Node) error {
	*v = number(n.GetToken().Value)
	return nil
}

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// keyOf names the key that n is the value of.
func keyOf(n ast.Node) string {
	path := n.GetPath()
	return path[strings.LastIndexByte(path, '.')+1:]
}

// checkKeys demands a mapping whose keys are all known.
func checkKeys(n ast.Node, what string, known ...string) error {
	var values []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		return &lineError{lineOf(n), fmt.Sprintf("%s must be written as keys and values", what)}
	}
	seen := map[string]bool{}
	for _, v := range values {
		key := v.Key.GetToken().Value
		if !slices.Contains(known, key) {
			return &lineError{lineOf(v.Key), fmt.Sprintf("%s has no key %q%s", what, key, suggestion(key, known))}
		}
		if seen[key] {
			return &lineError{lineOf(v.Key), fmt.Sprintf("the key %q stands here a second time", key)}
		}
		seen[key] = true
	}
	return nil
}

// suggestion names the known key that may have been meant.
func suggestion(key string, known []string) string {
	best, dist := "", 4
	for _, k := range known {
		if d := distance(strings.ToLower(key), k); d < dist {
			best, dist = k, d
		}
	}
	if best == "" {
		return "; known are " + strings.Join(known, ", ")
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is how many letters must change to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		prev := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			prev, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, prev+cost)
		}
	}
	return row[len(b)]
}

// yamlProblem is err with its line, without the decoder's drawing of the file.
func yamlProblem(err error) error {
	var le *lineError
	if errors.As(err, &le) {
		return le
	}
	var ye yaml.Error
	if errors.As(err, &ye) {
		if t := ye.GetToken(); t != nil && t.Position != nil {
			return &lineError{t.Position.Line, ye.GetMessage()}
		}
		return &lineError{0, ye.GetMessage()}
	}
	return err
}

func oneLineText(s string) string { return strings.Join(strings.Fields(s), " ") }

func hasPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}
