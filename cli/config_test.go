package cli

import (
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"signalbox/model/fleet"
)

// runIn runs one command line with a config folder of its own.
func runIn(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = Run(t.Context(), args, Sys{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Env: func(k string) string { return map[string]string{"XDG_CONFIG_HOME": dir, "XDG_STATE_HOME": dir}[k] },
	})
	return code, out.String(), errs.String()
}

// The file that init writes is right as it is, and stays so when every setting in
// it is taken into use.
func TestConfigInitAndCheck(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := runIn(t, dir, "config", "check")
	if code != exitOK || !strings.Contains(out, "the defaults hold") {
		t.Fatal(code, out, errs)
	}
	if code, _, errs = runIn(t, dir, "config", "init"); code != exitOK {
		t.Fatal(code, errs)
	}
	path := filepath.Join(dir, "signalbox", "config.yaml")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	if code, out, errs = runIn(t, dir, "config", "check"); code != exitOK || !strings.Contains(out, "is right") {
		t.Fatal(code, out, errs)
	}
	if code, _, errs = runIn(t, dir, "config", "init"); code != exitUsage || !strings.Contains(errs, "is there already") {
		t.Fatal(code, errs)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	for _, l := range strings.Split(string(raw), "\n") {
		if strings.HasPrefix(l, "#notify: off") || strings.HasPrefix(l, "#    token_file") {
			continue // stands twice, to show both; names a file that is not there
		}
		if rest, ok := strings.CutPrefix(l, "#"); ok && !strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "  ") {
			l = rest
		}
		used = append(used, l)
	}
	c, err := parseConfig(path, []byte(strings.Join(used, "\n")))
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(used, "\n"))
	}
	if c.Theme != "auto" || c.Notify.how != "command" || len(c.OnAsk) != 3 || len(c.Providers) != 2 || len(c.Keys) < 20 || *c.Transcripts.Keep != 1000 {
		t.Errorf("%+v", c)
	}
}

// What is wrong is one line that begins with file and line.
func TestConfigErrorsNameTheLine(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"theme: dark\nthema: dark\n", "c.yaml:2:1: unknown field \"thema\""},
		{"theme: pink\n", `c.yaml:1: theme: "pink" is none of auto, dark, light, high-contrast`},
		{"\nmouse: maybe\n", `c.yaml:2: mouse: "maybe" is none of on, off`},
		{"notify: loud\n", `c.yaml:1: notify: "loud" is none of`},
		{"notify: []\n", "c.yaml:1: notify: a command needs to be listed"},
		{"notify_floor: worst\n", "c.yaml:1: notify_floor:"},
		{"keys:\n  grant: g\n  fly: f\n", `c.yaml:3: keys: there is no action "fly"`},
		{"keys:\n  deny: ctrl+y\n  grant: r\n", `c.yaml:3: keys: "r" would be both revoke and grant`},
		{"keys:\n  grant: [ctrl+g, Ctrl-G]\n", `c.yaml:2: keys: "Ctrl-G" of grant is not a key`},
		{"keys: {grant: esc}\n", "c.yaml:1: keys: \"esc\""},
		{"keys:\n  grant: g\n  grant: h\n", "c.yaml:3:"},
		{"ascii: perhaps\n", "c.yaml:1:"},
		{"transcripts:\n  keep: 0\n", "c.yaml:2: transcripts.keep must be 1 or more"},
		{"on_ask: \"unclosed 'quote\"\n", "open quote"},
		{"theme: [dark\n", "c.yaml:1"},
		{"providers:\n- name: a\n  url: http://127.0.0.1:1/mcp\n  urn: x\n", "c.yaml:4:3: unknown field \"urn\""},
		{"providers:\n- {name: a, url: 'http://127.0.0.1:1/mcp'}\n- {name: a, command: x}\n", "the name is taken"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "c.yaml")
		if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		code, _, errs := runIn(t, dir, "config", "check", "--config", path)
		if code != exitUsage || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 || strings.Contains(errs, "panic") {
			t.Errorf("%q: exit %d, %q, want %q", c.file, code, errs, c.want)
		}
		// invoke reads the same file as strictly.
		code, _, errs = runIn(t, dir, "invoke", "x", "--config", path)
		if code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("invoke with %q: exit %d, %q", c.file, code, errs)
		}
	}
}

// Both forms of a setting mean the same.
func TestConfigForms(t *testing.T) {
	c, err := parseConfig("c.yaml", []byte("mouse: off\nnotify: bell\non_ask: my-hook 'two words'\nkeys: {grant: [ctrl+g, f2], deny: Z}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Mouse != "off" || c.Notify.how != "bell" || len(c.OnAsk) != 2 || c.OnAsk[1] != "two words" ||
		len(c.Keys["grant"]) != 2 || c.Keys["deny"][0] != "Z" || c.floor() != fleet.SeverityMedium {
		t.Errorf("%+v", c)
	}
	if c, err = parseConfig("c.yaml", nil); err != nil || c.Notify.how != "" {
		t.Errorf("%+v %v", c, err)
	}
}

// A hook gets the ask as JSON on its standard input, and no shell sees it.
func TestHookGetsTheAsk(t *testing.T) {
	out := filepath.Join(t.TempDir(), "ask.json")
	h := newHook([]string{"sh", "-c", `cat > "$0"`, out}, slog.New(slog.DiscardHandler))
	h.run(t.Context(), fleet.Ask{Kind: "decide", Key: "k", Title: "$(touch x) \x1b]0;y\x07", WorkItemID: "work:a",
		Severity: fleet.SeverityHigh, Since: time.Now(), Blocks: 3})
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var got askJSON
	if err := json.Unmarshal(raw, &got); err != nil || got.Kind != "decide" || got.Severity != "high" || got.Blocks != 3 ||
		got.WorkItemID != "work:a" || got.Title != "$(touch x) \x1b]0;y\x07" {
		t.Errorf("%v %+v", err, got)
	}
	if _, err := os.Stat("x"); err == nil || !os.IsNotExist(err) && err != fs.ErrNotExist {
		t.Error("the title was run")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h.run(ctx, fleet.Ask{}) // ends with the dashboard
	newHook([]string{filepath.Join(t.TempDir(), "missing")}, slog.New(slog.DiscardHandler)).run(t.Context(), fleet.Ask{})
	if newHook(nil, nil) != nil {
		t.Error("no command made a hook")
	}
}
