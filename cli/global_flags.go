package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The global flags that a command has use for, by its path. A command that is not
// named here takes all of them.
var (
	flagsOfScreen = []string{"provider", "config", "read-only", "log-file", "no-color", "ascii"}
	flagsOfWork   = []string{"server", "token-file", "read-only", "json", "log-file"}

	globalFlags = map[string][]string{
		"signalbox":              append([]string{"server", "token-file"}, flagsOfScreen...),
		"signalbox demo":         flagsOfScreen,
		"signalbox serve":        {"config", "log-file"},
		"signalbox provide":      {"config", "log-file"},
		"signalbox invoke":       {"provider", "config", "read-only", "json", "log-file"},
		"signalbox compact":      {"json", "log-file"},
		"signalbox doctor":       {"server", "token-file", "provider", "config", "json"},
		"signalbox config":       {},
		"signalbox config init":  {"config", "json"},
		"signalbox config check": {"config", "json"},
		"signalbox stop":         {"json"},
		"signalbox mcp":          {"server", "token-file", "log-file"},
		"signalbox mcp config":   {"server", "token-file"},
		"signalbox hook":         {},
		"signalbox hook claude":  {"server", "token-file"},
		"signalbox hook codex":   {"server", "token-file"},
		"signalbox hook report":  {"server", "token-file"},
		"signalbox token":        {},
		"signalbox token add":    {"json"},
		"signalbox token list":   {"json"},
		"signalbox token revoke": {"json"},
		"signalbox man":          {"json"},
		"signalbox completion":   {},
		"signalbox version":      {"json"},
		"signalbox work":         flagsOfWork, // and whatever is below it
	}
)

// takesGlobal reports whether the global flag name means something to c: what
// stands for it, or for the nearest command above but the root, decides.
func takesGlobal(c *cobra.Command, name string) bool {
	flags, listed := globalFlags[c.CommandPath()]
	for !listed && c.HasParent() && c.Parent().HasParent() {
		c = c.Parent()
		flags, listed = globalFlags[c.CommandPath()]
	}
	return !listed || slices.Contains(flags, name)
}

// uselessGlobal is the first global flag that was given and does nothing for c;
// "" when there is none.
func uselessGlobal(c *cobra.Command) string {
	name := ""
	c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if name == "" && f.Changed && !takesGlobal(c, f.Name) {
			name = f.Name
		}
	})
	return name
}

// trimHelp makes the help of each command show the global flags it has use for.
func trimHelp(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		hideUseless(c)
		help(c, args)
	})
}
