package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pkg is the part of `go list -json` that the house rules look at.
type pkg struct {
	ImportPath string
	Dir        string
	Deps       []string
	GoFiles    []string
	Doc        string
}

func listPackages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,Deps,GoFiles,Doc", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

// room is the top folder of a package of ours, "" for main and for others' code.
func room(importPath string) string {
	rest, ours := strings.CutPrefix(importPath, "signalbox/")
	if !ours {
		return ""
	}
	top, _, _ := strings.Cut(rest, "/")
	return top
}

// TestRoomsKeepTheirDistance proves who may import whom, over the whole graph of
// dependencies and not only the direct ones (docs/architecture.md, "Rooms").
func TestRoomsKeepTheirDistance(t *testing.T) {
	allowed := map[string][]string{
		"model":       {"model"},
		"client":      {"model", "client"},
		"server":      {"model", "server"},
		"ui":          {"model", "ui"},
		"cli":         {"model", "client", "server", "ui", "cli"},
		"screenshots": {"model", "client", "server", "ui", "cli", "screenshots"},
	}
	seen := map[string]bool{}
	for _, p := range listPackages(t) {
		from := room(p.ImportPath)
		if from == "" {
			continue
		}
		may, known := allowed[from]
		if !known {
			t.Errorf("%s stands in a room that docs/architecture.md does not have", p.ImportPath)
			continue
		}
		seen[from] = true
		for _, dep := range p.Deps {
			if to := room(dep); to != "" && !slices.Contains(may, to) {
				t.Errorf("%s must not depend on %s", p.ImportPath, dep)
			}
			if strings.HasPrefix(dep, "charm.land/bubbletea") && from != "ui" && from != "cli" && from != "screenshots" {
				t.Errorf("%s must not depend on %s: only ui draws", p.ImportPath, dep)
			}
		}
	}
	for from := range allowed {
		if !seen[from] {
			t.Errorf("the rule for %s/ was never applied: is the room gone?", from)
		}
	}
}

// TestModelDoesNoIO keeps the model free of the outside: no network, no files,
// no processes.
func TestModelDoesNoIO(t *testing.T) {
	for _, p := range listPackages(t) {
		if room(p.ImportPath) != "model" {
			continue
		}
		for _, file := range p.GoFiles {
			src, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			for _, bad := range []string{"\"net\"", "\"net/http\"", "\"os\"", "\"os/exec\"", "time.Now(", "time.Sleep(", "go func("} {
				if bytes.Contains(src, []byte(bad)) {
					t.Errorf("%s/%s uses %s: the model holds values and rules only", p.ImportPath, file, bad)
				}
			}
		}
	}
}

// TestEveryPackageIntroducesItself demands a doc.go that says what the package
// owns.
func TestEveryPackageIntroducesItself(t *testing.T) {
	for _, p := range listPackages(t) {
		if p.ImportPath == "signalbox" {
			continue
		}
		if _, err := os.Stat(filepath.Join(p.Dir, "doc.go")); err != nil || p.Doc == "" {
			t.Errorf("%s has no doc.go with a package comment", p.ImportPath)
		}
	}
}
