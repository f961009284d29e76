package acop

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Scope is the code surface an item owns, ready for comparison. The zero Scope
// overlaps nothing. It is a value; building it once and comparing it often is
// what a reader with many live claims does.
type Scope struct {
	repo    string
	paths   []pathPattern
	symbols []string
}

type pathPattern struct {
	text     string
	segments []string
	wild     bool
}

// effort is how many steps a comparison may still take. Who has none left takes
// what it compares for meeting: better one warning too many.
type effort int

// mostEffort is some milliseconds. Honest scopes of a thousand paths each need less;
// without a bound two items of a few hundred kilobytes, full of wildcards, would
// occupy the reader for minutes.
const mostEffort effort = 1 << 20

func newEffort() *effort { e := mostEffort; return &e }

// Effort bounds what one reader spends on all its comparisons together, in some
// hundred milliseconds: each pair of scopes takes what it needs, and once the whole is
// spent, only as much as small scopes need. It is for one goroutine; make it with
// [NewEffort].
type Effort struct{ left effort }

const (
	// allEffort is sixteen pairs that take as long as they may.
	allEffort = 16 * mostEffort
	// leastEffort compares some dozens of paths with as many others.
	leastEffort effort = 1 << 12
)

// NewEffort is a whole budget.
func NewEffort() *Effort { return &Effort{allEffort} }

// pair is what the next pair may take; done gives back what it left.
func (w *Effort) pair() (e *effort, done func()) {
	given := min(max(w.left, leastEffort), mostEffort)
	rest := given
	return &rest, func() { w.left = max(w.left-(given-rest), 0) }
}

// spend takes n steps and reports whether there were as many.
func (e *effort) spend(n int) bool {
	*e -= effort(n)
	return *e > 0
}

func (p pathPattern) meets(q pathPattern, e *effort) bool {
	if p.wild || q.wild {
		return meet(p.segments, q.segments, e)
	}
	// The usual case: one path is the other or lies below it.
	n := min(len(p.segments), len(q.segments))
	return slices.Equal(p.segments[:n], q.segments[:n])
}

// NewScope reads owned_paths and owned_symbols of an item (C-074). A path owns
// itself and everything below it; *, ? and [..] match within one segment, **
// any number of segments.
func NewScope(i *Item) Scope {
	s := Scope{repo: i.WorkItem.TargetRepoID, symbols: i.WorkItem.OwnedSymbols}
	for _, p := range i.WorkItem.OwnedPaths {
		if segs, ok := splitPath(p); ok {
			s.paths = append(s.paths, pathPattern{text: p, segments: segs, wild: wild(p)})
		}
	}
	return s
}

// Empty reports whether the scope owns nothing that could be compared.
func (s Scope) Empty() bool { return len(s.paths) == 0 && len(s.symbols) == 0 }

// Overlaps lists what both scopes own: of two paths or symbols that meet, the
// narrower one, each once and sorted. Two items that name different
// repositories never overlap. Of scopes that take too long to compare, it lists
// what it found by then, and the pair at which it stopped as if that met.
func (s Scope) Overlaps(t Scope) (paths, symbols []string) {
	return s.OverlapsWithin(t, NewEffort())
}

// OverlapsWithin is Overlaps at the expense of w, which is shared by many pairs.
func (s Scope) OverlapsWithin(t Scope, w *Effort) (paths, symbols []string) {
	if s.repo != "" && t.repo != "" && s.repo != t.repo {
		return nil, nil
	}
	left, done := w.pair()
	paths = s.meetPaths(t, left)
	done()
	left, done = w.pair()
	symbols = s.meetSymbols(t, left)
	done()
	if len(paths)+len(symbols) == 0 {
		return nil, nil
	}
	slices.Sort(paths)
	slices.Sort(symbols)
	return slices.Compact(paths), slices.Compact(symbols)
}

func (s Scope) meetPaths(t Scope, left *effort) (paths []string) {
	for _, a := range s.paths {
		for _, b := range t.paths {
			more := left.spend(1)
			if !more || a.meets(b, left) {
				paths = append(paths, narrower(a, b).text)
			}
			if !more {
				return paths
			}
		}
	}
	return paths
}

func (s Scope) meetSymbols(t Scope, left *effort) (symbols []string) {
	for _, a := range s.symbols {
		for _, b := range t.symbols {
			if !left.spend(1) {
				return append(symbols, max(a, b))
			}
			if sym, ok := symbolsMeet(a, b); ok {
				symbols = append(symbols, sym)
			}
		}
	}
	return symbols
}

// Overlaps compares what two items own; see [Scope.Overlaps].
func Overlaps(a, b *Item) (paths, symbols []string) {
	return NewScope(a).Overlaps(NewScope(b))
}

// MatchPath reports whether pattern (as in [NewScope]) owns any path that p
// owns. Grant rules that hold back use it.
func MatchPath(pattern, p string) bool {
	a, ok := splitPath(pattern)
	if !ok {
		return false
	}
	b, ok := splitPath(p)
	return ok && meet(a, b, newEffort())
}

// CoversPath reports whether glob covers p whole; grant rules that let pass use
// it. Unlike in [NewScope], glob covers what it matches and nothing below that,
// unless it ends in **. What p leaves open, glob must leave open as well.
func CoversPath(glob, p string) bool {
	g, ok := splitPath(glob)
	if !ok {
		return false
	}
	segs, ok := splitPath(p)
	if !ok {
		return false
	}
	// reach[j] tells whether the part of g looked at so far covers segs[:j].
	reach := make([]bool, len(segs)+1)
	next := make([]bool, len(segs)+1)
	reach[0] = true
	for _, seg := range g {
		for j := range next {
			if seg == "**" {
				next[j] = reach[j] || j > 0 && next[j-1]
			} else {
				next[j] = j > 0 && reach[j-1] && coversSegment(seg, segs[j-1])
			}
		}
		reach, next = next, reach
	}
	return reach[len(segs)]
}

// coversSegment reports whether glob, which is not **, covers one segment of a path.
func coversSegment(glob, seg string) bool {
	if wild(seg) {
		return seg != "**" && (glob == "*" || glob == seg)
	}
	ok, err := path.Match(glob, seg)
	return err == nil && ok
}

// maxSegments bounds the work that one hostile path can cause.
const maxSegments = 128

func splitPath(p string) ([]string, bool) {
	p = strings.TrimSpace(strings.ReplaceAll(p, `\`, "/"))
	if p == "" {
		return nil, false
	}
	// Everything is taken as relative to the root of the repository.
	p = strings.TrimPrefix(path.Clean("/"+p), "/")
	if p == "" {
		return nil, true // the whole repository
	}
	segs := strings.Split(p, "/")
	return segs[:min(len(segs), maxSegments)], true
}

// narrower picks the pattern that owns less, as far as can be told: the longer
// one, and of equals the one without wildcards.
func narrower(a, b pathPattern) pathPattern {
	if c := cmp.Compare(depth(a), depth(b)); c != 0 {
		if c > 0 {
			return a
		}
		return b
	}
	if a.wild != b.wild {
		if b.wild {
			return a
		}
		return b
	}
	if b.text < a.text {
		return b // either would do; the answer must not depend on the order
	}
	return a
}

// depth is the least number of segments of a path that p matches.
func depth(p pathPattern) int {
	n := 0
	for _, s := range p.segments {
		if s != "**" {
			n++
		}
	}
	return n
}

func wild(s string) bool { return strings.ContainsAny(s, "*?[") }

// meet reports whether some path is owned by both patterns. Both own what lies
// below them, so the shorter one only has to agree as far as it goes.
func meet(a, b []string, e *effort) bool {
	for len(a) > 0 && len(b) > 0 && a[0] != "**" && b[0] != "**" {
		if !segmentsMeet(a[0], b[0], e) {
			return false
		}
		a, b = a[1:], b[1:]
	}
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	return meetDeep(a, b, e)
}

// meetDeep is meet with ** in play: reach[j] tells whether a[:i] and b[:j] can
// stand for the same segments.
func meetDeep(a, b []string, e *effort) bool {
	reach := make([]bool, len(b)+1)
	next := make([]bool, len(b)+1)
	reach[0] = true
	for i := 0; i <= len(a); i++ {
		clear(next)
		if !e.spend(len(b)) {
			return true
		}
		for j := 0; j <= len(b); j++ {
			if !reach[j] {
				continue
			}
			if i == len(a) || j == len(b) {
				return true // one pattern is used up: the other lies below it
			}
			deepA, deepB := a[i] == "**", b[j] == "**"
			if deepA {
				next[j] = true // ** stands for nothing more
			}
			// ** takes the other's segment and stays, or stands for nothing.
			if deepA || deepB {
				reach[j+1] = true
			}
			if deepB {
				next[j] = true
			}
			if !deepA && !deepB && segmentsMeet(a[i], b[j], e) {
				next[j+1] = true
			}
		}
		reach, next = next, reach
	}
	return false
}

// segmentsMeet reports whether one file name matches both patterns. A class
// [..] counts as any character: better one warning too many.
func segmentsMeet(a, b string, e *effort) bool {
	if a == b {
		return true
	}
	wa, wb := wild(a), wild(b)
	if !wa && !wb {
		return false
	}
	x, y := tokens(a), tokens(b)
	return !e.spend(len(x)*len(y)) || wildcardsMeet(x, y)
}

const (
	anyRune  rune = -1
	anyRunes rune = -2
)

func tokens(s string) []rune {
	out := make([]rune, 0, len(s))
	for i := 0; i < len(s); {
		switch s[i] {
		case '*':
			out = append(out, anyRunes)
			i++
		case '?':
			out = append(out, anyRune)
			i++
		case '[':
			if end := strings.IndexByte(s[i:], ']'); end > 0 {
				out = append(out, anyRune)
				i += end + 1
				continue
			}
			out = append(out, '[')
			i++
		default:
			for _, r := range s[i:] {
				out = append(out, r)
				i += len(string(r))
				break
			}
		}
	}
	return out[:min(len(out), 512)]
}

func wildcardsMeet(a, b []rune) bool {
	reach := make([]bool, len(b)+1)
	next := make([]bool, len(b)+1)
	reach[0] = true
	for i := 0; i <= len(a); i++ {
		clear(next)
		for j := 0; j <= len(b); j++ {
			if !reach[j] {
				continue
			}
			if i == len(a) && j == len(b) {
				return true
			}
			starA := i < len(a) && a[i] == anyRunes
			starB := j < len(b) && b[j] == anyRunes
			if starB {
				reach[j+1] = true
			}
			if starA {
				next[j] = true
			}
			if i == len(a) || j == len(b) {
				continue
			}
			switch {
			case starA:
				reach[j+1] = true
			case starB:
				next[j] = true
			case a[i] == b[j] || a[i] == anyRune || b[j] == anyRune:
				next[j+1] = true
			}
		}
		reach, next = next, reach
	}
	return false
}

// symbolsMeet reports whether two symbols are the same or one contains the
// other (auth.Session contains auth.Session.Close), and gives the narrower.
func symbolsMeet(a, b string) (string, bool) {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if len(a) > len(b) {
		a, b = b, a
	}
	if a == "" || !strings.HasPrefix(b, a) {
		return "", false
	}
	if len(a) == len(b) {
		return b, true
	}
	switch b[len(a)] {
	case '.', ':', '#', '/', '$':
		return b, true
	}
	return "", false
}
