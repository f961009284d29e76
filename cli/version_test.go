package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestVersionNeedsNoTerminal(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}, {"version", "--json"}} {
		var out, errs bytes.Buffer
		sys := Sys{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Env: func(string) string { return "" }}
		if code := Run(t.Context(), args, sys); code != exitOK || errs.Len() > 0 {
			t.Errorf("%v ended with %d and %q", args, code, errs.String())
		}
		if args[len(args)-1] == "--json" {
			var b buildInfo
			if err := json.Unmarshal(out.Bytes(), &b); err != nil || b.Version == "" || b.Go == "" {
				t.Errorf("%v printed %q", args, out.String())
			}
		} else if !strings.HasPrefix(out.String(), "signalbox ") || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%v printed %q, want one line", args, out.String())
		}
	}
}

// TestOutputThatIsNotTakenIsAFailure: a full disk is no wrong usage.
func TestOutputThatIsNotTakenIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer full.Close()
	for _, args := range [][]string{{"version"}, {"version", "--json"}, {"--version"}, {"completion", "bash"}, {"mcp", "config", "claude", "--as", "x"}, {"hook", "codex", "--as", "x"}} {
		var errs bytes.Buffer
		sys := Sys{Stdin: strings.NewReader(""), Stdout: full, Stderr: &errs, Env: func(string) string { return "" }}
		if code := Run(t.Context(), args, sys); code != exitFailed || !strings.HasPrefix(errs.String(), "signalbox: write the output: ") {
			t.Errorf("%v ended with %d and %q", args, code, errs.String())
		}
	}
}
