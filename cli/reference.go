package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandReference is docs/commands.md: every command as its help has it.
func commandReference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# The command line\n\n<!-- made from the program by \"go test ./cli -run Reference -update\" -->\n\n" +
		"Every command explains itself with `--help`; `signalbox man DIR` writes the same as manual\n" +
		"pages, and `signalbox completion bash|zsh|fish|powershell` has a shell propose commands,\n" +
		"flags and work items. Data goes to standard output, as text or with `--json` as JSON, one\n" +
		"line of error to standard error. No command asks a question: what is missing is said, with\n" +
		"exit code 2. A global flag that does nothing for a command is refused by it, and so\n" +
		"is an argument or a flag that is given as nothing, as by a variable that is not set.\n\n" +
		"## Exit codes\n\n| code | means |\n| --- | --- |\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "| %s | %s |\n", e.code, e.means)
	}
	b.WriteString("\n## Commands\n\n| command | does |\n| --- | --- |\n")
	eachCommand(root, func(c *cobra.Command) {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-"), cellWords(c.Short))
	})
	eachCommand(root, func(c *cobra.Command) {
		hideUseless(c)
		fmt.Fprintf(&b, "\n## %s\n\n", c.CommandPath())
		if c.Runnable() {
			fmt.Fprintf(&b, "```\n%s\n```\n\n", c.UseLine())
		}
		fmt.Fprintf(&b, "```text\n%s\n```\n", strings.TrimSpace(firstOf(c.Long, c.Short)))
		if c.Example != "" {
			fmt.Fprintf(&b, "\n```sh\n%s\n```\n", strings.TrimRight(dedentAll(c.Example), "\n"))
		}
		writeFlags(&b, c)
	})
	return b.String()
}

// dedentAll takes the two blanks off each line that the examples of a help begin with.
func dedentAll(s string) string {
	return strings.TrimPrefix(strings.ReplaceAll(s, "\n  ", "\n"), "  ")
}

func writeFlags(b *strings.Builder, c *cobra.Command) {
	head := "\n| flag | default | does |\n| --- | --- | --- |\n"
	row := func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name, usage := pflag.UnquoteUsage(f)
		flag := "--" + f.Name
		if name != "" {
			flag += " " + name
		}
		def := f.DefValue
		if def == "" || def == "[]" || def == "false" || def == "0" || def == "0s" {
			def = ""
		} else {
			def = "`" + def + "`"
		}
		b.WriteString(head)
		head = ""
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", flag, def, cellWords(usage))
	}
	c.NonInheritedFlags().VisitAll(row)
	c.InheritedFlags().VisitAll(row)
}

// cellWords is text for a cell of a Markdown table.
func cellWords(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
}
