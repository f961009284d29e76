package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"signalbox/ui"
)

var update = flag.Bool("update", false, "write the generated part of README.md anew")

// TestReadmeShowsTheLiveKeys keeps the key table of the README what the
// dashboard's own key map says.
func TestReadmeShowsTheLiveKeys(t *testing.T) {
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(raw), "<!-- keys:begin")
	note, rest, ok2 := strings.Cut(rest, "-->\n")
	table, tail, ok3 := strings.Cut(rest, "<!-- keys:end -->")
	if !ok1 || !ok2 || !ok3 {
		t.Fatal("README.md has lost the marks around its key table")
	}
	if want := ui.KeyTable(); table != want {
		if !*update {
			t.Fatal("the key table in README.md is not the dashboard's; run `go test . -run Keys -update`")
		}
		text := head + "<!-- keys:begin" + note + "-->\n" + want + "<!-- keys:end -->" + tail
		if err := os.WriteFile("README.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadmeBeginsWithTheTwoCommands keeps the first thing a newcomer reads.
func TestReadmeBeginsWithTheTwoCommands(t *testing.T) {
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	head := strings.Join(strings.SplitN(string(raw), "\n", 8)[:6], "\n")
	for _, want := range []string{"go run . demo", "go test ./..."} {
		if !strings.Contains(head, want) {
			t.Errorf("the first lines of README.md lack %q:\n%s", want, head)
		}
	}
}
