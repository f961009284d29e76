package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

func newConfigCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Write or check the configuration file",
		Long: "The file says how the dashboard looks and which keys it has, what happens when\n" +
			"something needs you, and which providers there are. Without one everything has a\n" +
			"default.",
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
		return failf(exitUsage, "%s is there already; remove it first, or name another with --config", path)
	}
	if err := makePrivateDir(filepath.Dir(path)); err != nil {
		return failf(exitUsage, "%w", err)
	}
	if err := writePrivate(path, []byte(configTemplate())); err != nil {
		return failf(exitFailed, "write %s: %w", path, err)
	}
	if g.json {
		return g.printReport(map[string]any{"event": "written", "path": path})
	}
	return printed(fmt.Fprintf(g.sys.Stdout, "wrote %s; what stands behind # is the default\n", path))
}

// configCheck reads the file as the dashboard would, the files it names included.
func (g *globals) configCheck() error {
	c, err := g.loadConfig()
	if err != nil {
		return failf(exitUsage, "%w", err)
	}
	if c.path == "" {
		if g.json {
			return g.printReport(map[string]any{"event": "checked", "path": nil, "providers": 0})
		}
		return printed(fmt.Fprintf(g.sys.Stdout, "there is no %s; the defaults hold\n", g.defaultConfig()))
	}
	if _, err := g.configProviders(g.sys.Env(envInsecureHTTP) == "1"); err != nil {
		return failf(exitUsage, "%w", err)
	}
	if g.json {
		return g.printReport(map[string]any{"event": "checked", "path": c.path, "providers": len(c.Providers)})
	}
	return printed(fmt.Fprintf(g.sys.Stdout, "%s is right: %s\n", c.path, plural(len(c.Providers), "provider", "providers")))
}

// printReport prints v as one line of JSON.
func (g *globals) printReport(v any) error {
	enc := json.NewEncoder(g.sys.Stdout)
	enc.SetEscapeHTML(false)
	return stdoutError(enc.Encode(v))
}
