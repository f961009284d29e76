package cli

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// finish gives every task its id, and the open ones what they wait for.
func (l *list) finish() error {
	lines := make(map[string]int)
	for _, t := range l.tasks {
		if !t.given {
			t.id = l.set.Prefix + slugs(append(slices.Clone(t.path), t.text))
		}
		if t.done {
			continue
		}
		if strings.ContainsRune(t.id+t.text+strings.Join(t.notes, ""), 0) {
			return l.errorf(t.line, "text with a zero character cannot be put")
		}
		if at, twice := lines[t.id]; twice {
			return l.errorf(t.line, "line %d is the same task; give one of them an id of its own: `- [ ] text {#id}`", at)
		}
		lines[t.id] = t.line
		if p := t.parent; p != nil && !p.done {
			p.below = append(p.below, t)
		}
	}
	return l.acyclic()
}

// needs are the ids that t waits for.
func (t *task) needs() []string {
	ids := slices.Clone(t.after)
	for _, b := range t.below {
		ids = append(ids, b.id)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// ticked are the ids of tasks that are done in the list and nowhere open.
func (l *list) ticked() map[string]bool {
	ids := make(map[string]bool)
	for _, t := range l.tasks {
		if t.done {
			ids[t.id] = true
		}
	}
	for _, t := range l.tasks {
		if !t.done {
			delete(ids, t.id)
		}
	}
	return ids
}

// acyclic refuses tasks that would wait for each other for ever.
func (l *list) acyclic() error {
	byID := make(map[string]*task)
	for _, t := range l.tasks {
		if !t.done {
			byID[t.id] = t
		}
	}
	const onTheWay, clear = 1, 2
	state := make(map[*task]int)
	var visit func(t *task) error
	visit = func(t *task) error {
		switch state[t] {
		case clear:
			return nil
		case onTheWay:
			return l.errorf(t.line, "the task waits for itself, over what it is made of or comes after")
		}
		state[t] = onTheWay
		for _, id := range t.needs() {
			if next := byID[id]; next != nil {
				if err := visit(next); err != nil {
					return err
				}
			}
		}
		state[t] = clear
		return nil
	}
	for _, t := range l.tasks {
		if !t.done {
			if err := visit(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// columns is the width of the blanks before s; a tab goes to the next multiple of 4.
func columns(s string) int {
	n := 0
	for _, c := range s {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

// dedent takes at most n columns of blanks off s.
func dedent(s string, n int) string {
	s = strings.Repeat(" ", columns(s)) + strings.TrimLeft(s, " \t")
	return s[min(n, columns(s)):]
}

// slugs makes one id of headings and texts: short, of letters and digits, the same
// for the same words.
func slugs(words []string) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = slug(w)
	}
	return strings.Join(parts, "/")
}

// slugLength bounds one part of an id in runes; what is longer ends in a checksum, as
// does what has no letter or digit at all.
const slugLength = 48

func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	out := strings.TrimRight(b.String(), "-")
	if runes := []rune(out); len(runes) > slugLength || len(runes) == 0 {
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:8]
		out = strings.TrimLeft(strings.TrimRight(string(runes[:min(len(runes), slugLength)]), "-")+"-"+sum, "-")
	}
	return out
}
