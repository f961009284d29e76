package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

func newManCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: "Write a manual page for each command to DIR, which is made when it is missing. Put it\n" +
			"where man looks, as in the example, and `man signalbox-work-put` shows a page.",
		Example: "  signalbox man ~/.local/share/man/man1",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return g.writeMan(cmd.Root(), args[0]) },
	}
	cmd.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveFilterDirs)
	return cmd
}

// writeMan makes all pages before it writes the first.
func (g *globals) writeMan(root *cobra.Command, dir string) error {
	pages, err := manPages(root)
	if err != nil {
		return failf(exitFailed, "make the manual pages: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return failf(exitUsage, "cannot write to %s: %w; name another folder", dir, pathless(err))
	}
	for name, page := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), page, 0o644); err != nil {
			return failf(exitFailed, "write %s: %w", filepath.Join(dir, name), pathless(err))
		}
	}
	if g.json {
		return g.printReport(map[string]any{"event": "written", "dir": dir, "pages": len(pages)})
	}
	return printed(fmt.Fprintf(g.sys.Stdout, "wrote %s to %s\n", plural(len(pages), "page", "pages"), dir))
}

// manPages are the pages by the names of their files.
func manPages(root *cobra.Command) (map[string][]byte, error) {
	pages := make(map[string][]byte)
	var failed error
	eachCommand(root, func(c *cobra.Command) {
		var b bytes.Buffer
		c.DisableAutoGenTag = true
		// The library resolves the commands' names in place.
		header := doc.GenManHeader{Section: "1", Source: "signalbox " + build().Version, Manual: "Signalbox", Date: builtAt()}
		hideUseless(c)
		c.Long, c.Example = manMarkdown(firstOf(c.Long, c.Short)), strings.TrimRight(c.Example, "\n")
		if err := doc.GenMan(c, &header, &b); err != nil {
			failed = errors.Join(failed, err)
			return
		}
		pages[strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"] = withExitCodes(b.Bytes())
	})
	return pages, failed
}

// manMarkdown writes a help text as the Markdown that the library reads: what is
// indented stays as it is, and the rest means nothing but its words.
func manMarkdown(help string) string {
	lines := strings.Split(help, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "  ") {
			lines[i] = "    " + l
			continue
		}
		lines[i] = manSpecial.Replace(l)
	}
	return strings.Join(lines, "\n")
}

var manSpecial = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, ">", `\>`, "[", `\[`, "]", `\]`, "`", "")

// eachCommand visits root and all commands below it that a person is meant to use.
func eachCommand(root *cobra.Command, visit func(*cobra.Command)) {
	visit(root)
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() || c.HasAvailableSubCommands() {
			eachCommand(c, visit)
		}
	}
}

// hideUseless hides the global flags that c has no use for.
func hideUseless(c *cobra.Command) {
	c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = !takesGlobal(c, f.Name) })
}

// withExitCodes adds the section of the exit codes.
func withExitCodes(page []byte) []byte {
	var b bytes.Buffer
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fP\n%s\n", e.code, e.means)
	}
	if at := bytes.Index(page, []byte(".SH SEE ALSO")); at >= 0 {
		return append(append(bytes.Clone(page[:at]), b.Bytes()...), page[at:]...)
	}
	return append(page, b.Bytes()...)
}

// builtAt is when the source was committed, so that one source makes one page; now
// where that is not known.
func builtAt() *time.Time {
	t := time.Now()
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if at, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
				t = at
			}
		}
	}
	return &t
}
