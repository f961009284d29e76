package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write the references in docs anew")

// tree is the command line as a test reads it.
func tree() *cobra.Command {
	return newRoot(&globals{sys: Sys{Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Env: func(string) string { return "" }}})
}

// TestReferenceIsFresh keeps docs/commands.md and docs/config.md what the program
// says.
func TestReferenceIsFresh(t *testing.T) {
	for name, want := range map[string]string{"commands.md": commandReference(tree()), "config.md": configReference()} {
		path := filepath.Join("..", "docs", name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if have, err := os.ReadFile(path); err != nil || string(have) != want {
			t.Errorf("docs/%s is not what the program says (%v); run `go test ./cli -run Reference -update`", name, err)
		}
	}
}

// TestReferenceNamesEverySetting: whatever the types that read the configuration
// take is in the file of `config init` and in the reference.
func TestReferenceNamesEverySetting(t *testing.T) {
	var known []string
	for _, s := range settings() {
		known = append(known, s.keys...)
	}
	for prefix, of := range map[string]reflect.Type{
		"": reflect.TypeFor[config](), "providers.": reflect.TypeFor[providerConfig](), "transcripts.": reflect.TypeFor[transcriptsConfig](),
	} {
		for f := range of.Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if key != "" && !slices.Contains(known, prefix+key) {
				t.Errorf("the table of settings lacks %s%s", prefix, key)
			}
			known = slices.DeleteFunc(known, func(k string) bool { return key != "" && k == prefix+key })
		}
	}
	if len(known) > 0 {
		t.Errorf("the table of settings has %q, which the file does not take", known)
	}
}

// TestEveryDataCommandTakesJSON: what prints data prints it as JSON, too. The others
// are named here, with what they print instead.
func TestEveryDataCommandTakesJSON(t *testing.T) {
	without := map[string]string{
		"signalbox": "a screen", "signalbox demo": "a screen", "signalbox serve": "one JSON line by itself", "signalbox provide": "one JSON line by itself",
		"signalbox mcp": "the MCP protocol", "signalbox mcp config": "a block to paste", "signalbox hook claude": "settings as JSON by itself",
		"signalbox hook codex": "settings to paste", "signalbox hook report": "what the agent's hook reads",
		"signalbox completion bash": "a script", "signalbox completion zsh": "a script", "signalbox completion fish": "a script", "signalbox completion powershell": "a script",
	}
	eachCommand(tree(), func(c *cobra.Command) {
		path := c.CommandPath()
		if !c.Runnable() || c.HasAvailableSubCommands() && path != "signalbox" && path != "signalbox mcp" {
			return
		}
		if _, exempt := without[path]; takesGlobal(c, "json") == exempt {
			t.Errorf("%s takes --json: %t", path, !exempt)
		}
	})
}

// TestConfigAndTokenSpeakJSON: commands that only tell of a deed tell it as JSON.
func TestConfigAndTokenSpeakJSON(t *testing.T) {
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens.yaml")
	for _, args := range [][]string{
		{"config", "check"}, {"config", "init"}, {"config", "check"}, {"version"}, {"man", filepath.Join(dir, "man")},
		{"token", "add", "a", "--role", "worker", "--tokens", tokens}, {"token", "add", "b", "--role", "lead", "--tokens", tokens},
		{"token", "list", "--tokens", tokens}, {"token", "revoke", "a", "--tokens", tokens},
	} {
		code, out, errs := runIn(t, dir, append(args, "--json")...)
		if code != exitOK || !json.Valid([]byte(out)) || strings.Count(out, "\n") != 1 || errs != "" {
			t.Errorf("%v: exit %d, %q %q", args, code, out, errs)
		}
	}
}

// TestNoCommandAsks: without a terminal, and without anything on standard input, no
// command waits for an answer; each ends by itself with a reason and a documented
// exit code.
func TestNoCommandAsks(t *testing.T) {
	t.Parallel()
	known := []int{exitOK, exitFailed, exitUsage, exitUnreachable}
	var calls [][]string
	eachCommand(tree(), func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		switch strings.Join(path, " ") {
		case "serve", "provide", "mcp", "hook report": // they serve until they are ended, or read what a program sends
			return
		}
		calls = append(calls, path)
		if _, takes, some := strings.Cut(c.Use, " "); some && !strings.HasPrefix(takes, "[") && strings.Join(path, " ") != "man" {
			calls = append(calls, append(slices.Clone(path), "x"))
		}
	})
	if len(calls) < 40 {
		t.Fatalf("only %d calls", len(calls))
	}
	p := newPatient(t)
	for _, args := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, binary(t), args...)
		cmd.Env, cmd.Dir = p.env, t.TempDir()
		in, inEnd, err := os.Pipe() // stays open: who reads it waits
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdin = in
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		code := exitCode(cmd.Run())
		_ = inEnd.Close()
		_ = in.Close()
		if !slices.Contains(known, code) || code != exitOK && strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%v: exit %d, %q %q", args, code, out.String(), errs.String())
		}
	}
}
