package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"signalbox/ui"
)

func newConfigCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Write or check the configuration file",
		Long: "The file says how the dashboard looks and which keys it has, what happens when\n" +
			"something needs you, and which providers there are. Without one everything has a\n" +
			"default.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:     "init",
		Short:   "Write a commented file with the defaults",
		Example: "  signalbox config init",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return g.configInit() },
	}, &cobra.Command{
		Use:     "check",
		Short:   "Say what is wrong with the file, with its line",
		Example: "  signalbox config check --config ./signalbox.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return g.configCheck() },
	})
	return cmd
}

// configInit writes the commented file and never replaces one.
func (g *globals) configInit() error {
	path, _ := g.configPath()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return failf(exitFailed, "%s is there already; remove it first, or name another with --config", path)
	}
	if err := makePrivateDir(filepath.Dir(path)); err != nil {
		return failf(exitFailed, "%w", err)
	}
	if err := writePrivate(path, []byte(configTemplate())); err != nil {
		return failf(exitFailed, "write %s: %w", path, err)
	}
	fmt.Fprintf(g.sys.Stdout, "wrote %s; what stands behind # is the default\n", path)
	return nil
}

// configCheck reads the file as the dashboard would, the files it names included.
func (g *globals) configCheck() error {
	c, err := g.loadConfig()
	if err != nil {
		return failf(exitFailed, "%w", err)
	}
	if c.path == "" {
		fmt.Fprintf(g.sys.Stdout, "there is no %s; the defaults hold\n", g.defaultConfig())
		return nil
	}
	if _, err := g.configProviders(g.sys.Env(envInsecureHTTP) == "1"); err != nil {
		return failf(exitFailed, "%w", err)
	}
	fmt.Fprintf(g.sys.Stdout, "%s is right: %s\n", c.path, plural(len(c.Providers), "provider", "providers"))
	return nil
}

// configTemplate is the file with every setting as a comment.
func configTemplate() string {
	var b strings.Builder
	b.WriteString(`# Signalbox: how the dashboard looks and behaves. Take the # away to change a
# default. "signalbox config check" says what is wrong, with its line.

# The colours: auto asks the terminal; dark, light, high-contrast.
#theme: auto

# Draw with ASCII characters only.
#ascii: false

# Clicks and the wheel. Turned off, the terminal's own selection works again.
#mouse: on

# How a new ask makes itself known while the terminal has no focus: off, bell,
# osc (a desktop notification by the terminal), or a command as a list of words,
# which gets the ask as JSON on its standard input.
#notify: off
#notify: [notify-send, signalbox]

# Asks below this severity stay quiet: low, medium, high, critical.
#notify_floor: medium

# A command that is run for every new ask, focused or not, with the ask as JSON on
# its standard input. No shell is involved.
#on_ask: [my-hook, --from, signalbox]

# Providers beside those of --provider: each has a url or a command.
#providers:
#  - name: workshop
#    url: http://127.0.0.1:7190/mcp
#    token_file: workshop.token   # beside this file, or an absolute path
#  - name: local
#    command: [my-provider, --stdio]
#    dir: /path/to/work/in
#    env: {LEVEL: debug}

# How much of the tasks' output is kept on disk.
#transcripts:
#  keep: 1000            # outputs of the newest tasks
#  max_bytes: 2147483648 # of all of them

# Other keys: the action's name and one key or a list. A key that two actions would
# have is an error.
#keys:
`)
	for _, a := range ui.KeyMap() {
		quoted := make([]string, len(a.Keys))
		for i, k := range a.Keys {
			quoted[i] = fmt.Sprintf("%q", k)
		}
		line := strings.Join(quoted, ", ")
		if len(quoted) > 1 {
			line = "[" + line + "]"
		}
		fmt.Fprintf(&b, "#  %-28s # %s\n", a.ID+": "+line, a.Help)
	}
	return b.String()
}
