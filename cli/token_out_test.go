package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTokenIntoFile: --out leaves the token in a file for its owner alone and nowhere
// else; what could not be written makes no token.
func TestTokenIntoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list, file := filepath.Join(dir, "tokens.yaml"), filepath.Join(dir, "ana.token")
	run := func(args ...string) ran {
		return runWith(t.Context(), "", map[string]string{"XDG_STATE_HOME": dir}, append([]string{"token", "--tokens", list}, args...)...)
	}
	if err := os.WriteFile(file, []byte("old\n"), 0o644); err != nil { // is replaced, mode and all
		t.Fatal(err)
	}
	got := run("add", "ana", "--role", "lead", "--out", file)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(raw))
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v %v", info.Mode(), err)
	}
	tokens, err := loadTokens(list)
	if err != nil {
		t.Fatal(err)
	}
	if id, known := tokens.Principal(token); !known || id != "ana" || got.stdout != "" || strings.Contains(got.stderr, token) || !strings.Contains(got.stderr, file) {
		t.Errorf("%q is %q; %q %q", token, id, got.stdout, got.stderr)
	}
	if got := run("add", "ben", "--role", "worker", "--out", filepath.Join(dir, "ben"), "--json"); strings.Contains(got.stdout, `"token":`) || !strings.Contains(got.stdout, `"token_file":`) {
		t.Errorf("--json: %q %q", got.stdout, got.stderr)
	}
	before, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	for out, want := range map[string]string{
		"": "--out", dir: "no file", filepath.Join(dir, "none", "x"): "there is no folder", list: "the list",
	} {
		got := run("add", "eve", "--role", "worker", "--out", out)
		if got.code != exitUsage || !strings.Contains(got.stderr, want) || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("--out %q: exit %d, %q %q", out, got.code, got.stdout, got.stderr)
		}
	}
	if after, err := os.ReadFile(list); err != nil || string(after) != string(before) {
		t.Errorf("what was refused changed the list: %v\n%s", err, after)
	}
}

// TestTokenIntoOpenFile: a token that the shell wrote where others can read it is told.
func TestTokenIntoOpenFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for mode, warned := range map[os.FileMode]bool{0o644: true, 0o600: false} {
		f, err := os.OpenFile(filepath.Join(dir, "token"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Chmod(mode); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(binary(t), "token", "add", "ana", "--role", "lead", "--tokens", filepath.Join(dir, "tokens.yaml"))
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = f, &said
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		if got := strings.Contains(said.String(), "0600"); got != warned {
			t.Errorf("mode %s: %q", mode, said.String())
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
