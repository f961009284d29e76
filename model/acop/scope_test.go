package acop

import (
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func owning(repo string, paths, symbols []string) *Item {
	return &Item{WorkItem: WorkItem{TargetRepoID: repo, OwnedPaths: paths, OwnedSymbols: symbols}}
}

// C-074.
func TestOverlappingPaths(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want string // "" = no overlap
	}{
		{"src/auth", "src/auth", "src/auth"},
		{"src/auth", "src/auth/token.go", "src/auth/token.go"},
		{"src/auth/", "./src/auth/token.go", "./src/auth/token.go"},
		{"src/auth", "src/authz", ""},
		{"src/auth.go", "src/auth", ""},
		{"src", "docs", ""},
		{".", "docs/a.md", "docs/a.md"},
		{"/src/a", "src/a/b", "src/a/b"},
		{`src\auth`, "src/auth/x.go", "src/auth/x.go"},
		{"src/../docs", "docs/a", "docs/a"},
		{"*.go", "main.go", "main.go"},
		{"*.go", "src/main.go", ""},
		{"**/*.go", "src/main.go", "src/main.go"},
		{"**/*.go", "main.go", "main.go"},
		{"src/**/test", "src/a/b/test/x.go", "src/a/b/test/x.go"},
		{"src/**/test", "src/test", "src/test"},
		{"src/**/test", "doc/test", ""},
		{"src/**", "src", "src"},
		{"a/**/z", "**/b/**", "a/**/z"},
		{"a/*/c", "a/b/*", "a/*/c"},
		{"a/*.go", "a/*.ts", ""},
		{"a/x*.go", "a/*y.go", "a/*y.go"},
		{"a/?.go", "a/bc.go", ""},
		{"a/[abc].go", "a/b.go", "a/b.go"},
		{"a/[", "a/[", "a/["},
		{"Src/a", "src/a", ""},
		{"", "src", ""},
		{"grün/weiß", "grün", "grün/weiß"},
		{"*ß", "gro?", "*ß"},
	} {
		got, _ := Overlaps(owning("", []string{c.a}, nil), owning("", []string{c.b}, nil))
		back, _ := Overlaps(owning("", []string{c.b}, nil), owning("", []string{c.a}, nil))
		if strings.Join(got, ",") != c.want {
			t.Errorf("%q and %q: %q, want %q", c.a, c.b, got, c.want)
		}
		if diff := cmp.Diff(got, back); diff != "" {
			t.Errorf("%q and %q depend on the order:\n%s", c.a, c.b, diff)
		}
	}
}

func TestOverlapsRepositoriesAndSymbols(t *testing.T) {
	paths, symbols := Overlaps(
		owning("r1", []string{"src", "src/a", "doc"}, []string{"auth.Session", "cli.Run"}),
		owning("r1", []string{"src/a"}, []string{"auth.Session.Close", "auth.Sessions", "cli.Run"}))
	if diff := cmp.Diff([]string{"src/a"}, paths); diff != "" {
		t.Errorf("paths:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"auth.Session.Close", "cli.Run"}, symbols); diff != "" {
		t.Errorf("symbols:\n%s", diff)
	}
	paths, symbols = Overlaps(owning("r1", []string{"src"}, []string{"a"}), owning("r2", []string{"src"}, []string{"a"}))
	if len(paths)+len(symbols) > 0 {
		t.Error("two repositories do not collide")
	}
	if paths, _ = Overlaps(owning("r1", []string{"src"}, nil), owning("", []string{"src"}, nil)); len(paths) != 1 {
		t.Error("an item that names no repository may be in any")
	}
	if !MatchPath("src/**", "src/a.go") || MatchPath("src/**", "doc/a.go") || MatchPath("", "x") {
		t.Error("MatchPath")
	}
}

// What a grant rule covers lies whole in its path (D-58).
func TestCoversPath(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"docs/**", "docs/a/b.md", true}, {"docs/**", "docs", true}, {"docs/*", "docs/a/b.md", false}, {"**/*.go", "a/b/c.go", true},
		{"**/*.go", "c.go", true}, {"a/**/z", "a/z", true}, {"a/**/z", "a/b/c/z", true}, {"a/b", "a/b", true}, {"a/b", "a", false}, {"[", "x", false},
		{"docs/**", "/docs/./a.md", true}, {"docs/**", `docs\a.md`, true}, {"docs/**", "docs/../src", false}, {"**", ".", true}, {"*", ".", false},
		{"docs/*", "docs/**", false}, {"docs/**", "docs/**", true}, {"docs/?", "docs/*", false}, {"docs/*", "docs/*.md", true}, {"docs/*.md", "docs/*.md", true},
		{"", "a", false}, {"**", "", false},
		{strings.Repeat("**/a/", 40) + "b", strings.Repeat("a/", 120) + "c", false}, // in no time
	} {
		if got := CoversPath(c.glob, c.path); got != c.want {
			t.Errorf("%s on %s: %v", c.glob, c.path, got)
		}
	}
}

// Two patterns that both match a real path, by path.Match on each segment, meet.
func TestMeetAgreesWithPathMatch(t *testing.T) {
	seg := rapid.StringOfN(rapid.SampledFrom([]rune("ab*?")), 1, 4, -1)
	name := rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 1, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b, n := seg.Draw(t, "a"), seg.Draw(t, "b"), name.Draw(t, "name")
		ma, _ := path.Match(a, n)
		mb, _ := path.Match(b, n)
		if ma && mb && !segmentsMeet(a, b, newEffort()) {
			t.Fatalf("%q and %q both match %q", a, b, n)
		}
		if segmentsMeet(a, b, newEffort()) != segmentsMeet(b, a, newEffort()) {
			t.Fatalf("%q and %q depend on the order", a, b)
		}
	})
}

// Patterns meet if and only if one of all short paths lies in both.
func TestMeetAgreesWithSearch(t *testing.T) {
	seg := rapid.SampledFrom([]string{"a", "b", "*", "**"})
	var paths [][]string
	for n := 1; n <= 6; n++ {
		for bits := range 1 << n {
			p := make([]string, n)
			for i := range p {
				p[i] = string("ab"[bits>>i&1])
			}
			paths = append(paths, p)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(seg, 1, 3).Draw(t, "a")
		b := rapid.SliceOfN(seg, 1, 3).Draw(t, "b")
		want := false
		for _, p := range paths {
			want = want || covers(a, p) && covers(b, p)
		}
		if got := meet(a, b, newEffort()); got != want {
			t.Fatalf("meet(%v, %v) = %v, a search says %v", a, b, got, want)
		}
	})
}

// covers is the plain definition: pattern owns p and all below it.
func covers(pattern, p []string) bool {
	if len(pattern) == 0 {
		return true
	}
	if pattern[0] == "**" {
		return covers(pattern[1:], p) || len(p) > 0 && covers(pattern, p[1:])
	}
	return len(p) > 0 && (pattern[0] == "*" || pattern[0] == p[0]) && covers(pattern[1:], p[1:])
}

func TestHostilePatternsAreCheap(t *testing.T) {
	deep := strings.Repeat("**/*a*b*/", 5000)
	wide := strings.Repeat("*?", 20000)
	Overlaps(owning("", []string{deep, wide}, nil), owning("", []string{deep + "x", wide + "y"}, nil))
}

func BenchmarkOverlaps(b *testing.B) {
	x := NewScope(owning("r", []string{"src/auth", "src/http/*.go", "docs"}, []string{"auth.Session"}))
	y := NewScope(owning("r", []string{"src/store", "src/http/**/x.ts", "cmd"}, []string{"store.Open"}))
	for b.Loop() {
		x.Overlaps(y)
	}
}

// TestHostileScopes compares what is made to take long: the answer comes soon and
// errs on the side of a warning (C-074, B84).
func TestHostileScopes(t *testing.T) {
	many := func(n int, one func(i int) string) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = one(i)
		}
		return out
	}
	glob := strings.Repeat("*a*b*c", 80)
	deep := strings.Repeat("**/*x*y/", 60)
	for name, c := range map[string]struct{ a, b *Item }{
		"wildcards in one name": {
			owning("", many(400, func(i int) string { return glob + strconv.Itoa(i) }), nil),
			owning("", many(400, func(i int) string { return glob + "z" + strconv.Itoa(i) }), nil)},
		"deep": {
			owning("", many(400, func(i int) string { return "a" + strconv.Itoa(i) + "/" + deep + "p" }), nil),
			owning("", many(400, func(i int) string { return "**/" + deep + "q" }), nil)},
		"plain": {
			owning("", many(100_000, func(i int) string { return "a" + strconv.Itoa(i) }), nil),
			owning("", many(100_000, func(i int) string { return "b" + strconv.Itoa(i) }), nil)},
		"symbols": {
			owning("", nil, many(100_000, func(i int) string { return "a" + strconv.Itoa(i) })),
			owning("", nil, many(100_000, func(i int) string { return "b" + strconv.Itoa(i) }))},
	} {
		began := time.Now()
		paths, symbols := Overlaps(c.a, c.b)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: took %s", name, took)
		}
		if len(paths)+len(symbols) == 0 {
			t.Errorf("%s: what could not be compared counts as no overlap", name)
		}
	}
	// Large and honest: compared to the end.
	a := owning("", many(900, func(i int) string { return "src/a" + strconv.Itoa(i) + "/main.go" }), nil)
	b := owning("", many(900, func(i int) string { return "src/b" + strconv.Itoa(i) + "/*.go" }), nil)
	if paths, _ := Overlaps(a, b); len(paths) > 0 {
		t.Errorf("900 paths against 900 others overlap in %v", paths[0])
	}
}

// TestOneEffortForManyScopes compares many scopes that are made to take long within
// one budget: small and honest ones are judged right all the same.
func TestOneEffortForManyScopes(t *testing.T) {
	glob := strings.Repeat("*a*b*c", 80)
	var dear []Scope
	for i := range 60 {
		paths := make([]string, 400)
		for j := range paths {
			paths[j] = glob + strconv.Itoa(i) + "z" + strconv.Itoa(j)
		}
		dear = append(dear, NewScope(owning("", paths, nil)))
	}
	w := NewEffort()
	for _, a := range dear {
		for _, b := range dear {
			if paths, _ := a.OverlapsWithin(b, w); len(paths) == 0 {
				t.Fatal("what could not be compared counts as no overlap")
			}
		}
	}
	if w.left != 0 {
		t.Fatalf("%d steps are left: the pairs take too few to prove anything", w.left)
	}
	a := NewScope(owning("r", []string{"src/auth", "src/http/*.go", "docs"}, []string{"auth.Session"}))
	b := NewScope(owning("r", []string{"src/store", "src/web/**/x.ts", "cmd"}, []string{"store.Open"}))
	c := NewScope(owning("r", []string{"src/auth/login.go"}, []string{"auth.Session.Close"}))
	if paths, symbols := a.OverlapsWithin(b, w); len(paths)+len(symbols) > 0 {
		t.Errorf("an overlap that is none: %q %q", paths, symbols)
	}
	if paths, symbols := a.OverlapsWithin(c, w); len(paths) != 1 || len(symbols) != 1 {
		t.Errorf("an overlap is missed: %q %q", paths, symbols)
	}
}
