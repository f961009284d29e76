package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newHookCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Let an agent's own hooks report its life to the owner",
		Long: "Print settings whose hooks send a claim heartbeat when the agent uses a tool, waits\n" +
			"or ends its session, so that the board does not depend on the model remembering.\n" +
			"A heartbeat names the tool and never what was done with it, unless --contents is\n" +
			"given. It prolongs no lease.",
		Example: "  signalbox hook claude --as claude-01    # paste into .claude/settings.local.json\n" +
			"  signalbox hook codex --as codex-01 >> .codex/config.toml",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return failf(exitUsage, "say for which agent: `signalbox hook claude` or `signalbox hook codex`")
		},
	}
	for _, kind := range []string{"claude", "codex"} {
		cmd.AddCommand(newHookPrintCommand(g, kind))
	}
	cmd.AddCommand(newHookReportCommand(g))
	return cmd
}

func newHookPrintCommand(g *globals, kind string) *cobra.Command {
	f := &agentFlags{}
	contents := false
	where := map[string]string{"claude": "Claude Code, for .claude/settings.local.json", "codex": "Codex, for .codex/config.toml"}
	cmd := &cobra.Command{
		Use:   kind,
		Short: "Print hooks for " + where[kind],
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return g.hookSettings(cmd.Context(), kind, f, contents) },
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&contents, "contents", false, "report also what a tool was used on, such as the command")
	return cmd
}

// hookEvents are the events of an agent that are reported, by their names in its
// settings. Of some an agent wants to be told for which tools: for all.
var hookEvents = map[string][]string{
	"claude": {"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Notification", "Stop", "StopFailure", "SessionEnd"},
	"codex":  {"SessionStart", "UserPromptSubmit", "PostToolUse", "PermissionRequest", "Interrupt", "Stop", "SessionEnd"},
}

// ofTools tells the events that come with a tool.
var ofTools = map[string]bool{"PostToolUse": true, "PostToolUseFailure": true, "PermissionRequest": true}

// hookSeconds bounds a hook; Codex grants the end of a session and an interrupt no more.
const hookSeconds = 3

// hookSettings is `signalbox hook claude` and `signalbox hook codex`.
func (g *globals) hookSettings(ctx context.Context, kind string, f *agentFlags, contents bool) error {
	if err := f.check(); err != nil {
		return err
	}
	self, words, err := g.agentCommand(ctx, f, kind, "hook", "report")
	if err != nil {
		return err
	}
	if contents {
		words = append(words, "--contents")
	}
	line := shellLine(append([]string{self}, words...))
	if kind == "codex" {
		return printed(fmt.Fprint(g.sys.Stdout, codexHooks(line)))
	}
	events := map[string]any{}
	for _, e := range hookEvents[kind] {
		group := map[string]any{"hooks": []any{map[string]any{"type": "command", "command": line, "timeout": hookSeconds}}}
		if ofTools[e] {
			group["matcher"] = "*"
		}
		events[e] = []any{group}
	}
	return g.printIndented(map[string]any{"hooks": events})
}

// codexHooks are hooks in the form of config.toml, each table after an empty line, for
// they are appended to what stands there. Codex asks once, at its start or with /hooks,
// whether they are trusted.
func codexHooks(line string) string {
	var b strings.Builder
	for _, e := range hookEvents["codex"] {
		fmt.Fprintf(&b, "\n[[hooks.%s]]\n", e)
		if ofTools[e] {
			b.WriteString("matcher = \".*\"\n")
		}
		fmt.Fprintf(&b, "[[hooks.%s.hooks]]\ntype = \"command\"\ncommand = %s\ntimeout = %d\n", e, tomlString(line), hookSeconds)
	}
	return b.String()
}

// shellLine quotes words for a POSIX shell where they need it.
func shellLine(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:=@%+,", r))
		}) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out[i] = w
	}
	return strings.Join(out, " ")
}
