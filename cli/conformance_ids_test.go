package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// requirementsFile names, for each requirement of Part A and each end it binds, the
// tests that cover it, or why none can: id, role, and tests or "reason: ...".
const requirementsFile = "testdata/acmp_requirements.tsv"

// lastRequirement is the last id of Part A that binds buyer or provider.
const lastRequirement = 159

// TestEveryRequirementIsCovered fails for an id of Part A that no test covers and no
// reason excuses, and for a row whose test is not there or does not name the id.
func TestEveryRequirementIsCovered(t *testing.T) {
	raw, err := os.ReadFile(requirementsFile)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for n, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		if n == 0 || line == "" {
			continue // the head
		}
		cols := strings.Split(line, "\t")
		if len(cols) != 3 {
			t.Errorf("line %d: %d columns", n+1, len(cols))
			continue
		}
		id, role, by := cols[0], cols[1], cols[2]
		if role != "provider" && role != "buyer" && role != "ui" {
			t.Errorf("%s: role %q", id, role)
		}
		if seen[id+role] {
			t.Errorf("%s %s stands there twice", id, role)
		}
		seen[id], seen[id+role] = true, true
		if reason, excused := strings.CutPrefix(by, "reason: "); excused {
			if len(reason) < 10 {
				t.Errorf("%s %s: no reason", id, role)
			}
			continue
		}
		for name := range strings.SplitSeq(by, " ") {
			if err := namedIn(name, id); err != nil {
				t.Errorf("%s %s: %v", id, role, err)
			}
		}
	}
	for n := 1; n <= lastRequirement; n++ {
		if id := fmt.Sprintf("A-%03d", n); !seen[id] {
			t.Errorf("%s is neither covered nor excused", id)
		}
	}
}

var (
	idRange  = regexp.MustCompile(`A-(\d{3})(?: to A-(\d{3}))?`)
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	sources  = map[string]map[string]string{} // package to test to its text
)

// namedIn reports whether the test, as package.Name, is there and names the id. The
// text of a test begins behind the declaration before it, so that its comment counts.
func namedIn(test, id string) error {
	pkg, name, ok := strings.Cut(test, ".")
	if !ok {
		return fmt.Errorf("%q is not package.Test", test)
	}
	tests, err := testsOf(pkg)
	if err != nil {
		return err
	}
	text, ok := tests[name]
	if !ok {
		return fmt.Errorf("there is no test %s", test)
	}
	want, _ := strconv.Atoi(id[2:]) // the caller's ids have three digits
	for _, m := range idRange.FindAllStringSubmatch(text, -1) {
		from, _ := strconv.Atoi(m[1])
		to := from
		if m[2] != "" {
			to, _ = strconv.Atoi(m[2])
		}
		if from <= want && want <= to {
			return nil
		}
	}
	return fmt.Errorf("%s does not name it", test)
}

func testsOf(pkg string) (map[string]string, error) {
	if tests, known := sources[pkg]; known {
		return tests, nil
	}
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(pkg), "*_test.go"))
	if err != nil {
		return nil, err
	}
	tests := map[string]string{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		src := string(raw)
		for _, part := range regexp.MustCompile(`(?m)^[})]\n`).Split(src, -1) {
			if m := testFunc.FindStringSubmatch(part); m != nil {
				tests[m[1]] = part
			}
		}
		if strings.HasSuffix(f, "conformance_test.go") && pkg == "cli" {
			cases, _, _ := strings.Cut(src, "\nfunc declaration(") // the table of cases
			tests["TestConformance"] = cases
		}
	}
	sources[pkg] = tests
	return tests, nil
}
