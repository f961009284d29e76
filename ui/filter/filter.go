package filter

import (
	"math"
	"strconv"
	"strings"
	"time"

	"signalbox/model/acop"
)

// Fields are the fields a term may name, for help and completion.
func Fields() []string {
	return []string{"status", "repo", "branch", "agent", "kind", "severity", "priority", "blocker", "item", "provider", "older", "newer"}
}

// Row is what a query looks at. Texts are raw; they are searched, not shown.
type Row struct {
	// Text are the texts that plain words search, beside the fields below.
	Text [4]string

	Status   string
	Repo     string
	Branch   string
	Agent    string
	Kind     string
	Severity string
	Priority string
	Item     string
	Provider string
	Blockers []acop.Blocker
	// Since is what older: and newer: measure from; zero matches neither.
	Since time.Time
}

// Query is a parsed filter line. The zero Query matches everything.
type Query struct {
	terms []term
	// Problem says in plain words what could not be read; such terms are left out.
	Problem string
}

type term struct {
	field string // "" = plain word
	any   []string
	not   bool
	span  time.Duration // of older and newer
}

// Parse reads a filter line. It never fails: see [Query.Problem].
func Parse(line string) Query {
	var q Query
	for _, w := range split(line) {
		not := len(w) > 1 && w[0] == '-'
		if not {
			w = w[1:]
		}
		t := term{not: not, any: []string{strings.ToLower(w)}}
		if name, value, ok := strings.Cut(w, ":"); ok && fieldOf(name) != "" {
			t.field = fieldOf(name)
			t.any = alternatives(value)
			if len(t.any) == 0 {
				continue // "status:" is being typed
			}
		}
		if t.field == "older" || t.field == "newer" {
			d, ok := parseSpan(t.any[0])
			if !ok {
				q.Problem = t.field + ": wants a time like 30s, 10m, 2h or 3d"
				continue
			}
			t.span = d
		}
		q.terms = append(q.terms, t)
	}
	return q
}

// Empty reports whether q matches everything.
func (q Query) Empty() bool { return len(q.terms) == 0 }

// Timed reports whether the answer for a row can change by time alone.
func (q Query) Timed() bool {
	for _, t := range q.terms {
		if t.span > 0 {
			return true
		}
	}
	return false
}

// Match reports whether r passes. now is on the clock of r.Since.
func (q Query) Match(r *Row, now time.Time) bool {
	for i := range q.terms {
		t := &q.terms[i]
		if t.match(r, now) == t.not {
			return false
		}
	}
	return true
}

func (t *term) match(r *Row, now time.Time) bool {
	switch t.field {
	case "":
		return t.word(r)
	case "older":
		return !r.Since.IsZero() && now.Sub(r.Since) >= t.span
	case "newer":
		return !r.Since.IsZero() && now.Sub(r.Since) < t.span
	case "blocker":
		return t.blocker(r)
	}
	return t.in(r.field(t.field))
}

func (r *Row) field(name string) string {
	switch name {
	case "status":
		return r.Status
	case "repo":
		return r.Repo
	case "branch":
		return r.Branch
	case "agent":
		return r.Agent
	case "kind":
		return r.Kind
	case "severity":
		return r.Severity
	case "priority":
		return r.Priority
	case "item":
		return r.Item
	case "provider":
		return r.Provider
	}
	return ""
}

func (t *term) in(s string) bool {
	for _, v := range t.any {
		if contains(s, v) {
			return true
		}
	}
	return false
}

func (t *term) blocker(r *Row) bool {
	for i := range r.Blockers {
		if t.in(r.Blockers[i].BlockerCode) || t.in(r.Blockers[i].DependsOnWorkItemID) {
			return true
		}
	}
	return false
}

func (t *term) word(r *Row) bool {
	for _, s := range r.Text {
		if t.in(s) {
			return true
		}
	}
	return t.in(r.Item) || t.in(r.Agent) || t.in(r.Status) || t.in(r.Kind) ||
		t.in(r.Repo) || t.in(r.Branch) || t.in(r.Provider) || t.in(r.Priority)
}

// split cuts a line at blanks outside double quotes and drops the quotes.
func split(line string) []string {
	var words []string
	var b strings.Builder
	quoted := false
	flush := func() {
		if b.Len() > 0 {
			words = append(words, b.String())
			b.Reset()
		}
	}
	for _, r := range line {
		switch {
		case r == '"':
			quoted = !quoted
		case r == ' ' && !quoted:
			flush()
		default:
			b.WriteRune(r)
		}
	}
	flush()
	return words
}

// aliases are the words that single screens have for a field.
var aliases = map[string]string{
	"verb": "kind", "capability": "kind", "author": "agent", "actor": "agent", "worker": "agent",
	"state": "status", "outcome": "status", "id": "item", "task": "item",
}

// fieldOf is the field called name, or "".
func fieldOf(name string) string {
	name = strings.ToLower(name)
	if f, ok := aliases[name]; ok {
		return f
	}
	for _, f := range Fields() {
		if f == name {
			return f
		}
	}
	return ""
}

func alternatives(value string) []string {
	var out []string
	for v := range strings.SplitSeq(strings.ToLower(value), ",") {
		if v != "" {
			out = append(out, v)
		}
	}
	return out
}

// parseSpan reads 30s, 10m, 2h, 3d or 1w.
func parseSpan(s string) (time.Duration, bool) {
	if len(s) < 2 {
		return 0, false
	}
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	unit := units[s[len(s)-1]]
	n, err := strconv.ParseFloat(s[:len(s)-1], 64)
	span := n * float64(unit)
	if unit == 0 || err != nil || !(span >= 1) || span >= math.MaxInt64 { // NaN fails, too
		return 0, false
	}
	return time.Duration(span), true
}

// contains reports whether s holds sub, which is in lower case. ASCII letters
// are compared without regard to case; others as strings.ToLower has them.
func contains(s, sub string) bool {
	if len(sub) == 0 {
		return true
	}
	ascii := true
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			ascii = false
			break
		}
	}
	if !ascii {
		return strings.Contains(strings.ToLower(s), sub)
	}
	for i := 0; i+len(sub) <= len(s); i++ {
		if lower(s[i]) == sub[0] && equalFold(s[i:i+len(sub)], sub) {
			return true
		}
	}
	return false
}

func equalFold(s, lowered string) bool {
	for i := range len(lowered) {
		if lower(s[i]) != lowered[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
