package acop

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// audited are the rows of the requirements that this owner answers for: the core
// (C), its HTTP binding (H), the settled silences (D), the loose client (E) and
// the known faults of such owners (B) in coordination, HTTP and JSON, resources and security.
func audited() []string {
	var ids []string
	add := func(letter string, from, to int, but ...int) {
		for n := from; n <= to; n++ {
			if !slices.Contains(but, n) {
				ids = append(ids, rowID(letter, n))
			}
		}
	}
	add("C", 1, 94)
	add("H", 1, 89)
	add("D", 23, 63)
	add("E", 1, 21)
	add("B", 44, 65, 49, 53, 59, 64) // these numbers are not given out
	add("B", 67, 78, 68)
	for _, n := range []int{79, 80, 81, 84, 87, 96, 98, 99, 100, 101, 102, 103, 104, 105} {
		add("B", n, n)
	}
	return ids
}

func rowID(letter string, n int) string {
	switch letter {
	case "B":
		return fmt.Sprintf("B%02d", n)
	case "D", "E":
		return fmt.Sprintf("%s-%02d", letter, n)
	}
	return fmt.Sprintf("%s-%03d", letter, n)
}

var rowName = regexp.MustCompile(`\b([CHDEB])-?(\d{2,3})(?:\.\.(?:[CHDEB]-?)?(\d{2,3}))?\b`)

// rowsNamed lists the rows that a text names, ranges such as C-032..C-039 spelled
// out.
func rowsNamed(text string) []string {
	var out []string
	for _, g := range rowName.FindAllStringSubmatch(strings.ReplaceAll(text, "_", " "), -1) {
		from, _ := strconv.Atoi(g[2])
		to := from
		if g[3] != "" {
			to, _ = strconv.Atoi(g[3])
		}
		if to-from > 10 {
			continue // whoever says to prove half a table proves no row of it
		}
		for n := from; n <= to; n++ {
			out = append(out, rowID(g[1], n))
		}
	}
	return out
}

// testsByRow reads every test of the module and notes which rows its name, its
// description and the comments in it name.
func testsByRow(t *testing.T) map[string][]string {
	t.Helper()
	out := make(map[string][]string)
	fset := token.NewFileSet()
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, "_test.go") || e.Name() == "audit_test.go" {
			return err
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return nil // somebody's unfinished file; the compiler tells
		}
		for _, d := range file.Decls {
			fn, isFunc := d.(*ast.FuncDecl)
			if !isFunc || !strings.HasPrefix(fn.Name.Name, "Test") && !strings.HasPrefix(fn.Name.Name, "Fuzz") &&
				!strings.HasPrefix(fn.Name.Name, "Benchmark") && fn.Doc == nil {
				continue
			}
			text := fn.Name.Name + " " + fn.Doc.Text()
			for _, c := range file.Comments {
				if c.Pos() >= fn.Pos() && c.End() <= fn.End() {
					text += " " + c.Text()
				}
			}
			name := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../") + "." + fn.Name.Name
			for _, row := range rowsNamed(text) {
				if !slices.Contains(out[row], name) {
					out[row] = append(out[row], name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEveryRowIsCovered demands that each audited row is named by a test, or
// stands in testdata/elsewhere.txt with the reason why none names it.
func TestEveryRowIsCovered(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/elsewhere.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reasons := make(map[string]string)
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if id, why, found := strings.Cut(sc.Text(), " "); found && !strings.HasPrefix(id, "#") {
			reasons[id] = why
		}
	}
	covered := testsByRow(t)
	for _, id := range audited() {
		tests, why := covered[id], reasons[id]
		switch {
		case len(tests) == 0 && why == "":
			t.Errorf("%s is neither named by a test nor explained", id)
		case len(tests) > 0 && why != "":
			t.Errorf("%s is explained and yet named by %v", id, tests)
		}
		t.Log(id, tests, why)
	}
	for id := range reasons {
		if !slices.Contains(audited(), id) {
			t.Errorf("%s is explained and no audited row", id)
		}
	}
}
