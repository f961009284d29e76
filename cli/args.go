package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"signalbox/model/text"
)

// explainArguments makes every command below and including cmd say in words what
// was wrong with its arguments and what it takes, in one line.
func explainArguments(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if check(c, args) == nil {
				return nil
			}
			return argumentError(c, args)
		}
	}
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return failf(exitUsage, "%w; `%s --help` lists the flags", err, c.CommandPath())
	})
	for _, sub := range cmd.Commands() {
		explainArguments(sub)
	}
}

func argumentError(c *cobra.Command, args []string) error {
	path := c.CommandPath()
	// Run begins every error with the program's name; it is not said twice.
	name := strings.TrimPrefix(path, "signalbox ")
	c.SuggestionsMinimumDistance = 2
	// "Use" names what a command takes: its name, then the arguments.
	_, takes, _ := strings.Cut(c.Use, " ")
	switch {
	case len(args) > 0 && c.HasAvailableSubCommands():
		word := text.ID(args[0])
		hint := fmt.Sprintf("`%s --help` lists them", path)
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			hint = fmt.Sprintf("did you mean `%s %s`?", path, strings.Join(near, "` or `"+path+" "))
		}
		return failf(exitUsage, "there is no command %s; %s", word, hint)
	case takes == "" || strings.HasPrefix(takes, "-"):
		return failf(exitUsage, "%s takes no argument, and got %s; see `%s --help`", name, text.ID(args[0]), path)
	case len(args) == 0:
		return failf(exitUsage, "%s needs %s; see `%s --help`", name, takes, path)
	default:
		return failf(exitUsage, "%s takes %s, and got %d arguments; quote what belongs together", name, takes, len(args))
	}
}
