package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signalbox/server/acmp"
)

// Every YAML block of docs/recipes.md is a whole configuration that is accepted.
func TestRecipesAreValid(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "docs", "recipes.md"))
	if err != nil {
		t.Fatal(err)
	}
	pretendInstalled(t, "claude", "codex", "go", "python3", "sh", "wc")
	names := map[string]acmp.OutputMode{}
	blocks := strings.Split(string(raw), "```yaml\n")[1:]
	for _, b := range blocks {
		text, _, closed := strings.Cut(b, "\n```")
		if !closed {
			t.Fatal("an open block")
		}
		c, err := acmp.LoadConfig(provideFile(t, "recipe.yaml", text+"\n"))
		if err != nil {
			t.Errorf("%v:\n%s", err, text)
		}
		for _, one := range c.Capabilities {
			names[one.Info.Name] = one.Command.Output
		}
	}
	for name, mode := range map[string]acmp.OutputMode{"claude": "ndjson", "codex": "ndjson", "go-test": "lines", "steps": "ndjson"} {
		if names[name] != mode {
			t.Errorf("%s: output %q, want %q", name, names[name], mode)
		}
	}
}

// pretendInstalled puts programs that do nothing into PATH: a configuration is taken
// only where its programs are.
func pretendInstalled(t *testing.T, names ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

// The recipe of a script runs as it stands: the shell sees its text, heartbeats are
// taken out of the output.
func TestRecipeOfAScriptRuns(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "docs", "recipes.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(raw), "```yaml\nprovider_id: agent:scripts:local\n")
	text, _, _ = strings.Cut(text, "\n```")
	p := startProvideWith(t, provideFile(t, "recipe.yaml", "provider_id: agent:scripts:local\n"+strings.ReplaceAll(text, "sleep 1", "sleep 0.1")+"\n"))
	body := bodyOf(t, p.post(t, rawInvoke("task_recipe", "steps")))
	for _, want := range []string{`"data":{"step":5}`, `"output_streamed":true`, `"cost_cu":0.002`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	if bytes.Contains([]byte(body), []byte(`"data":{"acmp"`)) {
		t.Errorf("a control line in the output: %s", body)
	}
}
