package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
		{[]string{"token"}, []string{"say what to do with token", "signalbox token --help"}},
		{[]string{"token", "lst"}, []string{"no command lst", "signalbox token list"}},
		{[]string{"config"}, []string{"say what to do with config"}},
		{[]string{"mcp", "config", "vim"}, []string{"takes claude|codex|generic, not vim"}},
		{[]string{"hook", "vim"}, []string{"no command vim"}},
		{[]string{"completion", "tcsh"}, []string{"no command tcsh", "signalbox completion bash"}},
		{[]string{"completion", "bash", "x"}, []string{"takes no argument"}},
		{[]string{"invoke"}, []string{"invoke needs CAPABILITY"}},
		{[]string{"serve", "now"}, []string{"takes no argument", "now"}},
		{[]string{"serve", "--bogus"}, []string{"--bogus", "signalbox serve --help"}},
		{[]string{"demo", "--seed", "abc"}, []string{`--seed needs a whole number, 0 or more, not "abc"`}},
		{[]string{"demo", "--seed", "-1"}, []string{`--seed needs a whole number, 0 or more, not "-1"`}},
		{[]string{"demo", "--seed", "99999999999999999999"}, []string{"--seed needs a whole number"}},
		{[]string{"demo", "--seed", "\x1b[2J"}, []string{"--seed needs a whole number"}},
		{[]string{"demo", "--seed"}, []string{"--seed needs a whole number"}},
		{[]string{"work", "grant", "a", "--ttl", "soon"}, []string{`--ttl needs a time such as 30s, 15m or 2h, not "soon"`}},
		{[]string{"work", "list", "--limit", "many"}, []string{"--limit needs a whole number"}},
		{[]string{"work", "list", "--claimable=perhaps"}, []string{"--claimable needs true or false"}},
		{[]string{"work", "list", "-x"}, []string{"there is no flag -x"}},
		{[]string{"work", "list", "--\x1b[2J"}, []string{"there is no flag"}},
		{[]string{"work", "list", "---"}, []string{"signalbox work list --help"}},
		{[]string{"token", "add", "a"}, []string{"--role is missing"}},
		{[]string{"demo", "--server", "http://127.0.0.1:1"}, []string{"--server does nothing with `signalbox demo`"}},
		{[]string{"demo", "--json"}, []string{"--json does nothing"}},
		{[]string{"--json"}, []string{"--json does nothing with `signalbox`"}},
		{[]string{"serve", "--provider", "a=http://127.0.0.1:1"}, []string{"--provider does nothing with `signalbox serve`"}},
		{[]string{"token", "list", "--config", "x"}, []string{"--config does nothing with `signalbox token list`"}},
		{[]string{"work", "list", "--ascii"}, []string{"--ascii does nothing with `signalbox work list`"}},
		{[]string{"version", "--log-file", "x"}, []string{"--log-file does nothing"}},
		{[]string{"work", "show", "\x1b[2Jx", "b"}, []string{"2 arguments"}},
		{[]string{"\x1b[2Jx"}, []string{"no command"}},
		{[]string{"work", "show", "w\xff"}, []string{"work show takes WORK_ITEM_ID", "not UTF-8"}},
		{[]string{"work", "grant", "w", "--to", "a\xff"}, []string{"--to was given what is not UTF-8"}},
		{[]string{"work", "complete", "w", "--evidence", "validation=r\xff"}, []string{"--evidence was given what is not UTF-8"}},
		{[]string{"work", "cancel", "w", "--reason", "\xff"}, []string{"--reason was given what is not UTF-8"}},
		{[]string{"invoke", "c", "--input", "\xff"}, []string{"--input was given what is not UTF-8"}},
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

// TestHelpShowsTheGlobalFlagsThatApply: what a command's help lists is what it
// takes, and every command has been thought of.
func TestHelpShowsTheGlobalFlagsThatApply(t *testing.T) {
	root := newRoot(&globals{sys: Sys{Env: func(string) string { return "" }}})
	var names []string
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())
		top := strings.Join(path[:min(len(path), 2)], " ")
		if _, listed := globalFlags[top]; !listed {
			t.Errorf("globalFlags says nothing about %s", top)
		}
		var out, errs bytes.Buffer
		sys := Sys{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Env: func(string) string { return "" }}
		if code := Run(t.Context(), append(path[1:], "--help"), sys); code != exitOK || errs.Len() > 0 {
			t.Errorf("%s --help ended with %d: %s", c.CommandPath(), code, errs.String())
		}
		for _, n := range names {
			if shown := strings.Contains(out.String(), " --"+n+" "); shown != takesGlobal(c, n) {
				t.Errorf("%s --help shows --%s: %t, it takes it: %t", c.CommandPath(), n, shown, !shown)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
}
