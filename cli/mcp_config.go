package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	client "signalbox/client/acop"
	"signalbox/model/text"
)

func newMCPConfigCommand(g *globals) *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use:   "config claude|codex|generic",
		Short: "Print the block to paste into an agent's configuration",
		Long: "Print the block that gives an agent the work tools: for Claude Code to .mcp.json,\n" +
			"for Codex to ~/.codex/config.toml, generic for clients that read \"mcpServers\".\n" +
			"Each agent needs a name of its own: two with one name share their claims.",
		Example: "  signalbox mcp config claude --as claude-01    # paste into .mcp.json\n" +
			"  signalbox mcp config codex --as codex-01 >> ~/.codex/config.toml",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"claude", "codex", "generic"},
		RunE:      func(_ *cobra.Command, args []string) error { return g.mcpConfig(args[0], f) },
	}
	f.add(cmd)
	return cmd
}

// usualAgent is the name of an agent for which none was given.
func usualAgent(kind string) string {
	if kind == "generic" {
		return "agent-01"
	}
	return kind + "-01"
}

// mcpConfig is `signalbox mcp config`.
func (g *globals) mcpConfig(kind string, f *agentFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	self, words, err := g.agentCommand(f, kind, "mcp")
	if err != nil {
		return err
	}
	if kind == "codex" {
		return printed(fmt.Fprintf(g.sys.Stdout, "[mcp_servers.signalbox]\ncommand = %s\nargs = %s\n", tomlString(self), tomlList(words)))
	}
	entry := map[string]any{"command": self, "args": words}
	if kind == "claude" {
		entry["type"] = "stdio"
	}
	return g.printIndented(map[string]any{"mcpServers": map[string]any{"signalbox": entry}})
}

// agentCommand is the command line, program and arguments, with which an agent
// starts a command of this program for itself.
func (g *globals) agentCommand(f *agentFlags, kind string, command ...string) (self string, words []string, err error) {
	if self, err = os.Executable(); err != nil {
		return "", nil, failf(exitFailed, "find the path of this program: %w", err)
	}
	words = append([]string{}, command...)
	as := f.as
	if server := firstOf(g.server, g.sys.Env("SIGNALBOX_SERVER")); server != "" {
		base, err := ownerBase(server)
		if err == nil {
			_, err = client.New(client.Options{BaseURL: base})
		}
		if err != nil {
			return "", nil, failf(exitUsage, "%w", err)
		}
		file := g.namedTokenFile()
		if file == "" {
			return "", nil, failf(exitUsage, "--token-file is missing: with --server the agent needs a token of its own; `signalbox token add` makes one")
		}
		if file, err = filepath.Abs(file); err != nil {
			return "", nil, failf(exitUsage, "%w", err)
		}
		words = append(words, "--server", server, "--token-file", file)
	} else if as == "" {
		as = usualAgent(kind)
	}
	if as != "" {
		words = append(words, "--as", as)
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
