package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"signalbox/model/text"
)

// explainArguments makes every command below and including cmd say in words what
// was wrong with its arguments and flags and what it takes, in one line.
func explainArguments(cmd *cobra.Command) {
	if cmd.HasSubCommands() && !cmd.Runnable() {
		// A command that only holds others would print its help and succeed, whatever
		// was typed behind it.
		cmd.Args = cobra.NoArgs
		cmd.RunE = func(c *cobra.Command, _ []string) error {
			path := c.CommandPath()
			return failf(exitUsage, "say what to do with %s; `%s --help` lists it", strings.TrimPrefix(path, "signalbox "), path)
		}
	}
	check := cmd.Args
	cmd.Args = func(c *cobra.Command, args []string) error {
		if check != nil && check(c, args) != nil {
			return argumentError(c, args)
		}
		if name := uselessGlobal(c); name != "" {
			return failf(exitUsage, "--%s does nothing with `%s`; leave it out", name, c.CommandPath())
		}
		if err := emptyValue(c, args); err != nil {
			return err
		}
		if err := notText(c, args); err != nil {
			return err
		}
		if name := missingFlag(c); name != "" {
			return failf(exitUsage, "--%s is missing; see `%s --help`", name, c.CommandPath())
		}
		return nil
	}
	cmd.SetFlagErrorFunc(flagError)
	for _, sub := range cmd.Commands() {
		explainArguments(sub)
	}
}

// freeText are the flags whose value is for people, or of a task's own: it may be empty.
var freeText = []string{"input", "reason", "note", "notes", "summary", "blocker-summary", "details"}

// emptyValue refuses an argument or a flag that was given as nothing, as by a variable
// of the shell that is not set: it must not be taken for one that was left out, which
// may mean the local box. The command of the hooks says by itself what is wrong.
func emptyValue(c *cobra.Command, args []string) error {
	path := c.CommandPath()
	if path == "signalbox hook report" {
		return nil
	}
	if n := c.ArgsLenAtDash(); n >= 0 {
		args = args[:n] // what follows is a command's own
	}
	if slices.ContainsFunc(args, func(a string) bool { return strings.TrimSpace(a) == "" }) {
		_, takes, _ := strings.Cut(c.Use, " ")
		return failf(exitUsage, "%s takes %s, and an empty one was given", strings.TrimPrefix(path, "signalbox "), takes)
	}
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		switch list, many := f.Value.(pflag.SliceValue); {
		case err != nil || slices.Contains(freeText, f.Name):
		case f.Value.Type() == "string" && strings.TrimSpace(f.Value.String()) == "", many && slices.Contains(list.GetSlice(), ""):
			err = failf(exitUsage, "--%s was given nothing; give a value, or leave it out", f.Name)
		case f.Name == "if-revision" && f.Value.String() == "0":
			err = failf(exitUsage, "--if-revision needs the revision of an item, 1 or more; leave it out for any")
		}
	})
	return err
}

// ofThisMachine are the flags that name a file or a program here, which may be any bytes.
var ofThisMachine = []string{"client-ca", "config", "data", "log-file", "out", "provider", "tls-cert", "tls-key", "token-file", "tokens"}

// notText refuses what is not UTF-8 where it goes to an owner or a provider: on the way
// a part of it would be replaced, and another item or agent be meant (B70).
func notText(c *cobra.Command, args []string) error {
	path := c.CommandPath()
	if path == "signalbox hook report" {
		return nil
	}
	if n := c.ArgsLenAtDash(); n >= 0 {
		args = args[:n]
	}
	_, takes, _ := strings.Cut(c.Use, " ")
	ofFiles := strings.Contains(takes, "FILE") || strings.Contains(takes, "DIR")
	if !ofFiles && slices.ContainsFunc(args, func(a string) bool { return !utf8.ValidString(a) }) {
		return failf(exitUsage, "%s takes %s, and one was given that is not UTF-8", strings.TrimPrefix(path, "signalbox "), takes)
	}
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, many := f.Value.(pflag.SliceValue); many {
			values = list.GetSlice()
		}
		bad := func(v string) bool { return !utf8.ValidString(v) && !strings.HasPrefix(v, "@") } // @FILE
		if err == nil && !slices.Contains(ofThisMachine, f.Name) && slices.ContainsFunc(values, bad) {
			err = failf(exitUsage, "--%s was given what is not UTF-8; write it as UTF-8", f.Name)
		}
	})
	return err
}

// missingFlag is the first flag that c cannot do without and that was not given.
func missingFlag(c *cobra.Command) string {
	name := ""
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if name == "" && !f.Changed && slices.Contains(f.Annotations[cobra.BashCompOneRequiredFlag], "true") {
			name = f.Name
		}
	})
	return name
}

// flagError words what is wrong with a flag. What was typed may come from
// anywhere and is quoted only when it is clean.
func flagError(c *cobra.Command, err error) error {
	var (
		value   *pflag.InvalidValueError
		unknown *pflag.NotExistError
		bare    *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &value):
		f := value.GetFlag()
		return failf(exitUsage, "--%s needs %s, not %q; see `%s --help`", f.Name, flagKind(f), text.Clip(text.Line(value.GetValue()), 40), c.CommandPath())
	case errors.As(err, &unknown):
		name, dash := unknown.GetSpecifiedName(), "--"
		if unknown.GetSpecifiedShortnames() != "" {
			dash = "-"
		}
		behind := ""
		if strings.Contains(c.Use, " -- ") {
			behind = "put what belongs to the command behind two dashes; "
		}
		return failf(exitUsage, "there is no flag %s%s; %s`%s --help` lists the flags", dash, text.Clip(text.ID(name), 40), behind, c.CommandPath())
	case errors.As(err, &bare):
		return failf(exitUsage, "--%s needs %s; see `%s --help`", text.ID(bare.GetSpecifiedName()), flagKind(bare.GetFlag()), c.CommandPath())
	}
	return failf(exitUsage, "%s; `%s --help` lists the flags", text.Clip(text.Line(err.Error()), 120), c.CommandPath())
}

// flagKind says what sort of value a flag takes.
func flagKind(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "duration":
		return "a time such as 30s, 15m or 2h"
	case "uint", "uint32", "uint64":
		return "a whole number, 0 or more"
	case "int", "int32", "int64":
		return "a whole number"
	case "float32", "float64":
		return "a number"
	}
	return "a value"
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
	case len(args) == 1 && len(c.ValidArgs) > 0:
		return failf(exitUsage, "%s takes %s, not %s; see `%s --help`", name, takes, text.ID(args[0]), path)
	case len(args) == 0:
		return failf(exitUsage, "%s needs %s; see `%s --help`", name, takes, path)
	default:
		return failf(exitUsage, "%s takes %s, and got %d arguments; quote what belongs together", name, takes, len(args))
	}
}
