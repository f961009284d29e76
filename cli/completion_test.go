package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// proposed asks as a shell does and gives the proposals without their descriptions.
func (r *workRig) proposed(args ...string) []string {
	r.t.Helper()
	got := runWith(r.t.Context(), "", map[string]string{"XDG_STATE_HOME": r.t.TempDir(), "SIGNALBOX_SERVER": r.box.URL, "SIGNALBOX_TOKEN_FILE": r.lead},
		append([]string{"__complete"}, args...)...)
	if got.code != exitOK {
		r.t.Fatalf("__complete %q: exit %d, %s", args, got.code, got.stderr)
	}
	var out []string
	for line := range strings.Lines(got.stdout) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !strings.HasPrefix(word, ":") {
			out = append(out, word)
		}
	}
	return out
}

// TestShellsAreProposedWorkItems: the owner's items are proposed where they fit, and
// nothing of a stranger's text gets onto the command line.
func TestShellsAreProposedWorkItems(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	r.must("work_item_id: work:one\ncreated_at_utc: 2026-01-01T00:00:00Z\nwork_kind: repair\ntitle: \"a\\e[31m\\tb\\nc\"\n---\nwork_item_id: work:two\ncreated_at_utc: 2026-01-02T00:00:00Z\nwork_kind: repair\nstatus: requires_attention\n---\n"+
		"work_item_id: \"work:$(touch x)\"\nwork_kind: repair\n---\nwork_item_id: \"-rf\"\nwork_kind: repair\n", "put", "-")
	want := func(want string, args ...string) {
		t.Helper()
		if got := strings.Join(r.proposed(args...), " "); got != want {
			t.Errorf("%q: %q is proposed, want %q", args, got, want)
		}
	}
	want("work:two work:one", "work", "show", "")
	want("work:one", "work", "show", "work:o")
	want("work:two", "work", "resolve", "")
	want("work:one", "work", "grant", "")
	want("", "work", "accept", "")
	want("", "work", "show", "work:one", "")
	want("work:one", "work", "export", "work:two", "")
	want("work:two work:one", "work", "block", "work:one", "--depends-on", "")
	want("ready blocked", "work", "resolve", "work:two", "--to", "")
	want("json yaml markdown", "work", "export", "--format", "")
	want("worker producer lead orchestrator reader", "token", "add", "x", "--role", "")
	want("", "work", "show", "--server", "http://127.0.0.1:1", "")
	list := filepath.Join(t.TempDir(), "tokens.yaml")
	for _, id := range []string{"kestrel", "two words"} {
		if got := runWith(t.Context(), "", nil, "token", "add", id, "--role", "worker", "--tokens", list); got.code != exitOK {
			t.Fatal(got.stderr)
		}
	}
	want("kestrel", "token", "revoke", "--tokens", list, "")
}

// TestCompletionScripts: each shell that is here reads its script without a fault.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for shell, check := range map[string][]string{
		"bash": {"bash", "-n"}, "zsh": {"zsh", "-n"}, "fish": {"fish", "--no-execute"}, "powershell": nil,
	} {
		got := runWith(t.Context(), "", nil, "completion", shell)
		if got.code != exitOK || !strings.Contains(got.stdout, "__complete") || got.stderr != "" {
			t.Errorf("%s: exit %d, %d bytes, %q", shell, got.code, len(got.stdout), got.stderr)
			continue
		}
		if len(check) == 0 {
			continue
		}
		if _, err := exec.LookPath(check[0]); err != nil {
			t.Logf("%s is not installed: its script is not read", shell)
			continue
		}
		path := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(path, []byte(got.stdout), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(check[0], append(check[1:], path)...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v %s", shell, err, out)
		}
	}
	if got := runWith(t.Context(), "", nil, "completion", "tcsh"); got.code != exitUsage || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("a shell that is not known: exit %d, %q", got.code, got.stderr)
	}
}

// TestManPages: there is a page for each command, with what matters in it.
func TestManPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man", "man1")
	if got := runWith(t.Context(), "", nil, "man", dir); got.code != exitOK || !strings.Contains(got.stdout, "pages to "+dir) {
		t.Fatalf("exit %d, %q %q", got.code, got.stdout, got.stderr)
	}
	for name, words := range map[string][]string{
		"signalbox.1":          {".SH EXIT STATUS", "nobody answers"},
		"signalbox-work-put.1": {"- [ ] Charge cards once", "  - [ ] Find the double call", "<!-- id: ID -->", "\\-\\-dry-run", "\\-\\-read-only", ".SH EXIT STATUS"},
		"signalbox-doctor.1":   {"\\-\\-listen"},
	} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		page := strings.NewReplacer(`\-`, "-", `\_`, "_").Replace(string(raw))
		for _, w := range words {
			if !strings.Contains(page, strings.ReplaceAll(w, `\-`, "-")) {
				t.Errorf("%s lacks %q:\n%s", name, w, page)
			}
		}
		if strings.Contains(page, "--ascii") && name != "signalbox.1" {
			t.Errorf("%s has a flag that its command refuses", name)
		}
		if strings.Contains(page, "Auto generated") {
			t.Errorf("%s names the day it was made", name)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runWith(t.Context(), "", nil, "man", file); got.code != exitUsage || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
		t.Errorf("a file in place of a folder: exit %d, %q", got.code, got.stderr)
	}
}
