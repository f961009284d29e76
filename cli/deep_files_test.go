package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDeepFilesAreRefusedAtOnce gives every command that reads a YAML file one
// that no decoder finishes: it is refused in one line that names the file, and
// nothing is left behind (B87).
func TestDeepFilesAreRefusedAtOnce(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "deep.yaml")
	if err := os.WriteFile(deep, []byte(strings.Repeat("[", 100_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	for _, args := range [][]string{
		{"serve", "--data", data, "--listen", "127.0.0.1:0", "--tokens", deep},
		{"serve", "--data", data, "--listen", "127.0.0.1:0", "--config", deep},
		{"provide", "--config", deep},
		{"invoke", "x", "--config", deep},
		{"config", "check", "--config", deep},
		{"token", "list", "--tokens", deep},
		{"work", "put", deep, "--server", "http://127.0.0.1:1", "--token-file", deep},
	} {
		var out, errs bytes.Buffer
		sys := Sys{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Env: func(name string) string {
			if strings.HasPrefix(name, "XDG_") {
				return dir
			}
			return ""
		}}
		code := Run(t.Context(), args, sys)
		line := errs.String()
		if code == exitOK || strings.Count(line, "\n") != 1 || !strings.Contains(line, "deep.yaml") || len(line) > 400 {
			t.Errorf("%v ended with %d and %.300q, want a failure and one line that names the file", args, code, line)
		}
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("a refused start left a data folder behind")
	}
}
