package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestArgumentsAreExplained shows that a wrong call gets one line that says what
// is wrong and what would be right, and exit code 2.
func TestArgumentsAreExplained(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"wrok"}, []string{"no command wrok", "signalbox work"}},
		{[]string{"zzz"}, []string{"no command zzz", "signalbox --help"}},
		{[]string{"work", "lst"}, []string{"no command lst", "signalbox work list"}},
		{[]string{"work", "show"}, []string{"work show needs WORK_ITEM_ID"}},
		{[]string{"work", "show", "a", "b"}, []string{"takes WORK_ITEM_ID", "2 arguments"}},
		{[]string{"invoke"}, []string{"invoke needs CAPABILITY"}},
		{[]string{"serve", "now"}, []string{"takes no argument", "now"}},
		{[]string{"serve", "--bogus"}, []string{"--bogus", "signalbox serve --help"}},
		{[]string{"work", "show", "\x1b[2Jx", "b"}, []string{"2 arguments"}},
		{[]string{"\x1b[2Jx"}, []string{"no command"}},
	} {
		var out, errs bytes.Buffer
		sys := Sys{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Env: func(string) string { return "" }}
		if code := Run(t.Context(), c.args, sys); code != exitUsage {
			t.Errorf("%q ended with %d, want %d", c.args, code, exitUsage)
		}
		line := errs.String()
		if strings.Count(line, "\n") != 1 || strings.ContainsRune(line, '\x1b') || out.Len() > 0 {
			t.Errorf("%q printed %q and %q, want one clean line of error", c.args, out.String(), line)
		}
		for _, w := range c.want {
			if !strings.Contains(line, w) {
				t.Errorf("%q printed %q, which lacks %q", c.args, line, w)
			}
		}
	}
}
