package cli

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"signalbox/model/acop"
)

// everyCommand visits each command of the tree that does something and is shown.
func everyCommand(visit func(c *cobra.Command, words []string)) {
	root := newRoot(&globals{sys: Sys{Env: func(string) string { return "" }}})
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if !c.Hidden {
			visit(c, strings.Fields(c.CommandPath())[1:])
			for _, sub := range c.Commands() {
				walk(sub)
			}
		}
	}
	walk(root)
}

// argumentsOf are arguments that a command takes, by its usage.
func argumentsOf(c *cobra.Command) (args []string) {
	if c.CommandPath() == "signalbox work run" {
		return []string{"work:x", "--", "true"}
	}
	for _, w := range strings.Fields(c.Use)[1:] {
		switch {
		case strings.HasPrefix(w, "-"):
			return args
		case w == "FILE|-":
			args = append(args, "-")
		case strings.Contains(w, "|"):
			args = append(args, strings.Split(w, "|")[0])
		case !strings.HasPrefix(w, "["):
			args = append(args, "work:x")
		}
	}
	return args
}

// flagsOf are the flags that a command takes, its own and the global ones.
func flagsOf(c *cobra.Command) (flags []*pflag.Flag) {
	add := func(f *pflag.Flag) {
		global := c.Root().PersistentFlags().Lookup(f.Name) != nil
		if f.Name != "help" && f.Name != "version" && !f.Hidden && (!global || takesGlobal(c, f.Name)) {
			flags = append(flags, f)
		}
	}
	c.InheritedFlags().VisitAll(add)
	c.NonInheritedFlags().VisitAll(add)
	return flags
}

// usageCode is what a command ends with when it is called wrongly. The one that an
// agent's hooks call never stands in the agent's way.
func usageCode(c *cobra.Command) int {
	if c.CommandPath() == "signalbox hook report" {
		return exitOK
	}
	return exitUsage
}

// home is an empty world for a command, and what became of it.
type home struct{ dir string }

func (h home) run(t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return runWith(ctx, stdin, map[string]string{"HOME": h.dir, "XDG_STATE_HOME": h.dir, "XDG_CONFIG_HOME": h.dir, "TERM": "xterm"}, args...)
}

// files are all that is in the world, with what is in them.
func (h home) files(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			all[path] = "folder"
			return err
		}
		raw, err := os.ReadFile(path)
		all[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// refusedWell tells what is wrong with how a command refused: the code, one clean line
// with the words, nothing else said and nothing done.
func refusedWell(t *testing.T, h home, before map[string]string, args []string, got ran, code int, words ...string) {
	t.Helper()
	line := got.stderr
	if got.code != code || got.stdout != "" || strings.Count(line, "\n") != 1 || !strings.HasPrefix(line, "signalbox: ") {
		t.Errorf("%q: exit %d, want %d; stdout %q, stderr %q", args, got.code, code, got.stdout, line)
	}
	for _, w := range append(words, "") {
		if !strings.Contains(line, w) {
			t.Errorf("%q: %q lacks %q", args, line, w)
		}
	}
	for _, bad := range []string{"panic", "goroutine", "Usage:", "\x1b", ".go:"} {
		if strings.Contains(line, bad) {
			t.Errorf("%q: %q in %q", args, bad, line)
		}
	}
	if !maps.Equal(before, h.files(t)) {
		t.Errorf("%q: something was made or changed: %v", args, slices.Sorted(maps.Keys(h.files(t))))
	}
}

// Each flag of each command: unknown, without a value, with a wrong one and with an
// empty one. It ends with 2 and one line that names the flag, and nothing is done.
func TestEveryFlagIsRefusedWell(t *testing.T) {
	t.Parallel()
	h := home{t.TempDir()}
	before, flags := h.files(t), 0
	everyCommand(func(c *cobra.Command, words []string) {
		refuse := func(name string, more ...string) {
			args := append(slices.Clone(words), more...)
			refusedWell(t, h, before, args, h.run(t, "", args...), usageCode(c), "-"+name)
		}
		refuse("-nonsense", "--nonsense")
		refuse("-nonsense", "--nonsense=1")
		refuse("Z", "-Z")
		for _, f := range flagsOf(c) {
			flags++
			name := "-" + f.Name
			if f.NoOptDefVal == "" {
				refuse(name, "--"+f.Name)
			}
			list, many := f.Value.(pflag.SliceValue)
			_ = list
			switch kind := f.Value.Type(); {
			case many || kind == "string":
				if !slices.Contains(freeText, f.Name) && c.CommandPath() != "signalbox hook report" {
					refuse(name, append(argumentsFirst(c), "--"+f.Name+"=")...)
				}
			default:
				refuse(name, "--"+f.Name+"=perhaps")
			}
		}
		// A global flag that does nothing for the command is refused as well.
		c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
			if takesGlobal(c, f.Name) || !c.Runnable() {
				return
			}
			args := append(argumentsFirst(c), "--"+f.Name+"=true")
			refuse("-"+f.Name, args...)
		})
	})
	if flags < 200 {
		t.Errorf("only %d flags were tried", flags)
	}
}

// argumentsFirst are arguments that stand before flags; those of `work run` follow them.
func argumentsFirst(c *cobra.Command) []string {
	if args := argumentsOf(c); !slices.Contains(args, "--") {
		return args
	}
	return []string{"work:x"}
}

// Each command with too many arguments, too few and an empty one.
func TestEveryArgumentIsRefusedWell(t *testing.T) {
	t.Parallel()
	h := home{t.TempDir()}
	before := h.files(t)
	everyCommand(func(c *cobra.Command, words []string) {
		args := argumentsOf(c)
		refuse := func(more ...string) {
			all := append(slices.Clone(words), more...)
			refusedWell(t, h, before, all, h.run(t, "", all...), usageCode(c))
		}
		if c.CommandPath() == "signalbox work run" { // the arguments of its command are its own
			all := []string{"work", "run", "work:x", "--", "true", ""}
			refusedWell(t, h, before, all, h.run(t, "", all...), exitUnreachable, "--server")
		}
		if c.CommandPath() == "signalbox work export" || c.CommandPath() == "signalbox work run" {
			return // any number
		}
		refuse(append(slices.Clone(args), "one", "too", "many")...)
		if len(args) > 0 {
			refuse()
			refuse("")
		}
	})
}

// Each command that asks an owner, where none answers, where none is named, with a
// server that is none, a token that is none, and files that cannot be had.
func TestEveryCommandWithoutAnOwner(t *testing.T) {
	t.Parallel()
	h := home{t.TempDir()}
	token := filepath.Join(h.dir, "token")
	if err := os.WriteFile(token, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, asked := h.files(t), 0
	const item = `{"work_item_id":"work:x","work_kind":"repair"}`
	needed := map[string][]string{
		"block": {"--summary", "x"}, "post": {"--summary", "x"}, "supersede": {"--by", "work:y"},
		"complete": {"--summary", "x"}, "heartbeat": {"--note", "x"},
	}
	everyCommand(func(c *cobra.Command, words []string) {
		if len(words) != 2 || words[0] != "work" {
			return
		}
		args := append(slices.Clone(words), needed[words[1]]...)
		for _, name := range []string{"reason", "note"} {
			if c.NonInheritedFlags().Lookup(name) != nil && words[1] != "settings" && words[1] != "heartbeat" {
				args = append(args, "--"+name, "x")
			}
		}
		try := func(code int, word string, flags ...string) {
			all := append(append(slices.Clone(args), flags...), argumentsOf(c)...)
			refusedWell(t, h, before, all, h.run(t, item, all...), code, word)
			asked++
		}
		try(exitUnreachable, "--server")
		try(exitUnreachable, "127.0.0.1:9", "--server", "http://127.0.0.1:9", "--token-file", token)
		try(exitUsage, "URL", "--server", "127.0.0.1:7180", "--token-file", token)
		try(exitUsage, "URL", "--server", "ftp://box.example", "--token-file", token)
		try(exitUsage, "--token-file", "--server", "http://127.0.0.1:9")
		try(exitUsage, "nowhere", "--server", "http://127.0.0.1:9", "--token-file", filepath.Join(h.dir, "nowhere"))
		try(exitUsage, "--log-file", "--server", "http://127.0.0.1:9", "--token-file", token, "--log-file", filepath.Join(h.dir, "no", "log"))
	})
	if asked < 150 {
		t.Errorf("only %d calls were tried", asked)
	}
}

// What contradicts itself, names what is not there or would open more than was asked
// for is refused before anything is done.
func TestCommandsRefuseWhatCannotBeMeant(t *testing.T) {
	t.Parallel()
	h := home{t.TempDir()}
	folder, plain, capabilities := filepath.Join(h.dir, "folder"), filepath.Join(h.dir, "plain"), filepath.Join(h.dir, "c.yaml")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{plain: "x\n", capabilities: "provider_id: agent:t:local\ncapabilities:\n  - {name: x, command: ['true']}\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := h.files(t)
	serve := "serve --listen 127.0.0.1:0 --data " + filepath.Join(h.dir, "new")
	for line, want := range map[string]string{
		serve + " --tls-key x":                                                  "key",
		serve + " --client-ca x":                                                "certificate",
		serve + " --oidc-audience x":                                            "issuer",
		serve + " --oidc-role a=worker":                                         "issuer",
		serve + " --oidc-role worker":                                           "--oidc-role",
		serve + " --tokens " + folder:                                           "folder",
		serve + " --config " + folder:                                           "folder",
		"serve --listen 127.0.0.1:0 --data " + plain:                            "plain",
		"provide --config " + capabilities + " --stdio --listen :1":             "--listen is for HTTP",
		"provide --config " + capabilities + " --stdio --client-ca x":           "--client-ca is for HTTP",
		"provide --config " + capabilities + " --tls-key x":                     "key",
		"provide --config " + plain:                                             "plain:1",
		"compact --data " + plain:                                               "plain",
		"stop --data " + plain:                                                  "no such folder",
		"stop --data " + filepath.Join(h.dir, "nowhere"):                        "no such folder",
		"mcp --as x --role lead":                                                "--role",
		"mcp --as x --stale-after 0s":                                           "--stale-after",
		"token add x --role boss":                                               "--role",
		"token add x --role worker --tokens " + folder:                          "folder",
		"token add x --role worker --out " + folder:                             "folder",
		"token add x --role worker --out " + folder + "/no/token":               "folder",
		"config check --config " + folder:                                       "folder",
		"config init --config " + plain:                                         "plain",
		"man " + plain:                                                          "plain",
		"work export --live --status cancelled":                                 "--live",
		"work export --format xml":                                              "--format",
		"work export a --status ready":                                          "not both",
		"work list --limit 0":                                                   "--limit",
		"work list --with x":                                                    "--agent",
		"work list --order newest":                                              "--order",
		"work list --status paused":                                             "paused",
		"work events --after -7":                                                "--after",
		"work events --family x":                                                "families are",
		"work settings --grant-mode x":                                          "--grant-mode",
		"work settings --reason x":                                              "--grant-mode",
		"work cancel a --if-revision 0 --reason x":                              "--if-revision",
		"work post a --summary x --if-revision 7":                               "--if-revision",
		"work post a --summary x --kind y":                                      "--kind",
		"work block a --summary x --severity y":                                 "--severity",
		"work resolve a --note x --to y":                                        "--to",
		"work resolve a --note x --blocker y":                                   "--to blocked",
		"work send-back a --reason x --kind review":                             "--kind",
		"work grant a --to w --ttl -5m":                                         "--ttl",
		"work accept a --read-only":                                             "--read-only",
		"work put " + folder:                                                    "folder",
		"work put " + plain + " --format xml":                                   "--format",
		"invoke x --provider p":                                                 "--provider",
		"invoke x --provider p=ftp://x":                                         "--provider p",
		"invoke x --provider p=http://192.0.2.1/mcp":                            "http://",
		"invoke x --provider p=http://127.0.0.1:9/mcp --on q":                   "--on q",
		"invoke x --provider p=http://127.0.0.1:9/mcp --timeout 0":              "--timeout",
		"invoke x --provider p=http://127.0.0.1:9/mcp --max-price a":            "--max-price",
		"invoke x --provider p=http://127.0.0.1:9/mcp --input @" + folder:       "--input",
		"invoke x --provider p=http://127.0.0.1:9/mcp --type json --input no":   "--type",
		"invoke x --provider p=http://127.0.0.1:9/mcp --read-only":              "--read-only",
		"invoke x --provider p=http://127.0.0.1:9/mcp --input - --input-stream": "--input-stream",
	} {
		args := strings.Fields(line)
		refusedWell(t, h, before, args, h.run(t, "", args...), exitUsage, want)
	}
}

// A token of the wrong role is told so by the owner: 1, one line, and what to do.
func TestEveryActWithTheWrongRole(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	r.must("work_item_id: work:x\nwork_kind: repair\n", "put", "-")
	reader := r.as("reader-1", acop.RoleReader)
	h := home{t.TempDir()}
	before, revision := h.files(t), r.detail("work:x").Revision
	for _, line := range []string{
		"put -", "cancel work:x --reason x", "block work:x --summary x", "post work:x --summary x", "supersede work:x --by work:y",
		"grant work:x --to w", "settings --grant-mode lead", "freeze --reason x", "unfreeze",
	} {
		args := append([]string{"work", "--server", r.box.URL, "--token-file", reader}, strings.Fields(line)...)
		got := h.run(t, "work_item_id: work:y\nwork_kind: repair\n", args...)
		refusedWell(t, h, before, args, got, exitFailed, "token")
	}
	if now := r.detail("work:x").Revision; now != revision {
		t.Errorf("the item moved from revision %d to %d", revision, now)
	}
}

// Output that cannot be written is a failure, told in one line; a token that nobody got
// does not stay good.
func TestOutputThatIsNotTaken(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer full.Close()
	h := home{t.TempDir()}
	if got := h.run(t, "", "token", "add", "first", "--role", "lead"); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	for _, line := range []string{
		"version", "version --json", "token list", "token add second --role worker", "token add second --role worker --json", "config check", "config check --json",
		"completion bash", "mcp config claude --as x", "hook claude --as x", "stop", "doctor",
	} {
		var errs strings.Builder
		code := Run(t.Context(), strings.Fields(line), Sys{
			Stdin: strings.NewReader(""), Stdout: full, Stderr: &errs,
			Env: func(k string) string { return map[string]string{"XDG_STATE_HOME": h.dir, "XDG_CONFIG_HOME": h.dir}[k] },
		})
		if code != exitFailed || strings.Count(errs.String(), "\n") != 1 || !strings.Contains(errs.String(), "write the output") {
			t.Errorf("%s: exit %d: %s", line, code, errs.String())
		}
	}
	if got := h.run(t, "", "token", "list"); strings.Contains(got.stdout, "second") || !strings.Contains(got.stdout, "first") {
		t.Errorf("a token that nobody got is good: %s", fmt.Sprint(got))
	}
}
