package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/model/text"
)

func newMCPConfigCommand(g *globals) *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use:   "config claude|codex|generic",
		Short: "Print the block to paste into an agent's configuration",
		Long: "Print the block that gives an agent the work tools: for Claude Code to .mcp.json,\n" +
			"for Codex to .codex/config.toml, generic for clients that read \"mcpServers\".\n" +
			"Each agent needs a name of its own, --as, and so a folder of its own: two with one name\n" +
			"share their claims. What would be refused at the agent's first use is refused here.",
		Example: "  signalbox mcp config claude --as claude-01    # paste into .mcp.json\n" +
			"  signalbox mcp config codex --as codex-01 >> .codex/config.toml",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"claude", "codex", "generic"},
		RunE:      func(cmd *cobra.Command, args []string) error { return g.mcpConfig(cmd.Context(), args[0], f) },
	}
	f.add(cmd)
	return cmd
}

// mcpConfig is `signalbox mcp config`.
func (g *globals) mcpConfig(ctx context.Context, kind string, f *agentFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	self, words, err := g.agentCommand(ctx, f, kind, "mcp")
	if err != nil {
		return err
	}
	if kind == "codex" {
		// After an empty line, for it is appended to what stands there.
		return printed(fmt.Fprintf(g.sys.Stdout, "\n[mcp_servers.signalbox]\ncommand = %s\nargs = %s\n", tomlString(self), tomlList(words)))
	}
	entry := map[string]any{"command": self, "args": words}
	if kind == "claude" {
		entry["type"] = "stdio"
	}
	return g.printIndented(map[string]any{"mcpServers": map[string]any{"signalbox": entry}})
}

// agentCommand is the command line, program and arguments, with which an agent of a
// kind starts a command of this program for itself. What could not work there is
// refused here.
func (g *globals) agentCommand(ctx context.Context, f *agentFlags, kind string, command ...string) (self string, words []string, err error) {
	if self, err = ownPath(); err != nil {
		return "", nil, failf(exitFailed, "find the path of this program: %w", err)
	}
	words = append([]string{}, command...)
	server, file := g.namedServer(), g.namedTokenFile()
	if server != "" {
		if err := usableServer(server); err != nil {
			return "", nil, failf(exitUsage, "%w", err)
		}
		if file == "" {
			return "", nil, failf(exitUsage, "--token-file is missing: with --server the agent needs a token of its own; `signalbox token add` makes one")
		}
		words = append(words, "--server", server)
	}
	switch {
	case file != "":
		if file, err = filepath.Abs(file); err != nil {
			return "", nil, failf(exitUsage, "%w", err)
		}
		if err := g.maySpeak(ctx, f); err != nil {
			return "", nil, err
		}
		words = append(words, "--token-file", file)
	case f.as == "":
		return "", nil, failf(exitUsage, "--as is missing: it says which agent this is at the local box, such as --as %s-01; each needs a name of its own", kind)
	default:
		if err := g.mayRegister(ctx, f.as, acop.Role(f.role)); err != nil {
			return "", nil, err
		}
	}
	if f.as != "" {
		words = append(words, "--as", f.as)
	}
	if f.role != "" && f.role != "worker" {
		words = append(words, "--role", f.role)
	}
	for _, w := range append([]string{self}, words...) {
		if text.ID(w) != w {
			return "", nil, failf(exitUsage, "%s cannot stand in a configuration: it holds what does not print; give it another name", text.ID(w))
		}
	}
	return self, words, nil
}

// maySpeak refuses a token that speaks for another agent than was named, where the owner
// can be asked. Where it cannot, the agent is told at its first use.
func (g *globals) maySpeak(ctx context.Context, f *agentFlags) error {
	if f.as == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, agentPatience)
	defer cancel()
	c, err := g.agentClient(ctx, f, client.Options{Patience: -1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil
	}
	defer c.Close()
	id, err := c.Identity(ctx)
	if err != nil {
		return nil
	}
	return speaksFor(id, f.as)
}

// usableServer refuses what no client takes for an owner.
func usableServer(server string) error {
	base, err := ownerBase(server)
	if err != nil {
		return err
	}
	_, err = client.New(client.Options{BaseURL: base})
	return err
}

// ownPath is the path of this program: the one in PATH where that is the same file,
// for it outlives an update where a folder of one version does not.
func ownPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	found, err := exec.LookPath(filepath.Base(os.Args[0]))
	if err != nil || !filepath.IsAbs(found) {
		return self, nil
	}
	mine, err := os.Stat(self)
	if err != nil {
		return self, nil
	}
	if there, err := os.Stat(found); err != nil || !os.SameFile(mine, there) {
		return self, nil
	}
	return found, nil
}

func (g *globals) printIndented(v any) error {
	enc := json.NewEncoder(g.sys.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return printed(0, enc.Encode(v))
}

// tomlString writes a basic string: Go's quoting of printable text is TOML's, and
// what is not printable is refused before.
func tomlString(s string) string { return strconv.Quote(s) }

func tomlList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = tomlString(w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
