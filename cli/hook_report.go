package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/model/text"
)

func newHookReportCommand(g *globals) *cobra.Command {
	f := &agentFlags{}
	contents := false
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Report the event of a hook, given on stdin, as a heartbeat of the agent's claims",
		Long: "Read the event that an agent gives its hooks on stdin and send a heartbeat for each\n" +
			"claim of the agent. It never stands in the agent's way: it ends within 3 seconds\n" +
			"with exit code 0, and says on stderr what went wrong.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), hookPatience)
			defer cancel()
			if err := g.hookReport(ctx, f, contents); err != nil {
				// Exit code 2 would mean "block this" to the agent.
				fmt.Fprintln(g.sys.Stderr, "signalbox: not reported: "+err.Error())
			}
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&contents, "contents", false, "report also what a tool was used on, such as the command")
	return cmd
}

const (
	hookPatience = 2500 * time.Millisecond
	maxHookEvent = 4 << 20
	// hookEvery is how often the same state is reported at most: an agent may use
	// many tools a second, and each heartbeat is written to the log.
	hookEvery = 10 * time.Second
)

// hookEvent is what Claude Code and Codex give to a hook, as far as it matters.
type hookEvent struct {
	Event     string         `json:"hook_event_name"`
	Tool      string         `json:"tool_name"`
	ToolInput map[string]any `json:"tool_input"`
}

// hookReport is `signalbox hook report`.
func (g *globals) hookReport(ctx context.Context, f *agentFlags, contents bool) error {
	if err := f.check(); err != nil {
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(g.sys.Stdin, maxHookEvent))
	if err != nil {
		return fmt.Errorf("read the event: %w", err)
	}
	var e hookEvent
	if err := json.Unmarshal(raw, &e); err != nil || e.Event == "" {
		return fmt.Errorf("stdin holds no event of a hook; this command is run by the hooks that `signalbox hook claude` prints")
	}
	status, summary := e.progress(contents)
	if status == "" || !g.worthReporting(f.as, e.Event, status) {
		return nil
	}
	c, err := g.agentClient(ctx, f, client.Options{Patience: -1, Identity: f.as})
	if err != nil {
		return err
	}
	defer c.Close()
	who, err := c.Identity(ctx)
	if err != nil {
		return err
	}
	held, err := c.Claims(ctx, who)
	if err != nil {
		return err
	}
	var failed error
	for _, h := range held.Claims {
		act := acop.Act{Verb: acop.VerbHeartbeat, ClaimID: h.Claim.ClaimID, ProgressStatus: status, Reason: summary}
		if ownWords(h.Lease, held.AtUTC) {
			act.Reason = "" // they say more than the name of a tool
		}
		if _, err := c.Do(ctx, act); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", text.ID(h.Claim.WorkItemID), err)) // the others are alive all the same
		}
	}
	return failed
}

// wordsLast is how long what a model said of its progress is left to stand.
const wordsLast = 2 * time.Minute

const toolWord = "used "

// ownWords tells whether a lease has fresh progress that the model worded itself.
func ownWords(l *acop.Lease, now acop.Time) bool {
	return l != nil && l.Progress != "" && !strings.HasPrefix(l.Progress, toolWord) && now.Sub(l.ProgressAtUTC) < wordsLast
}

// progress is what an event says about the agent; "" for nothing.
func (e *hookEvent) progress(contents bool) (status, summary string) {
	switch e.Event {
	case "SessionStart":
		return "session_started", ""
	case "UserPromptSubmit":
		return "working", ""
	case "PostToolUse":
		if strings.HasPrefix(e.Tool, "mcp__signalbox__") || e.Tool == "" {
			return "", "" // the owner has heard that itself
		}
		summary = toolWord + text.Clip(text.Line(e.Tool), 60)
		if used := e.used(); contents && used != "" {
			summary += ": " + used
		}
		return "working", summary
	case "Notification", "PermissionRequest":
		return "waiting for its user", ""
	case "Stop":
		return "idle", ""
	case "SessionEnd":
		return acop.StatusSessionEnded, ""
	}
	return "", ""
}

// used is what a tool was used on, in one line.
func (e *hookEvent) used() string {
	for _, name := range []string{"command", "file_path", "path", "pattern", "url", "query", "description"} {
		if s, ok := e.ToolInput[name].(string); ok && s != "" {
			return text.Clip(text.Line(s), 200)
		}
	}
	return ""
}

// worthReporting holds back what was reported a moment ago, or could not be: an owner
// that does not answer must not slow every tool of the agent. It remembers the last
// report of an agent in a file of its own; without one everything is reported.
func (g *globals) worthReporting(as, event, status string) bool {
	dir := filepath.Join(g.stateDir(), "hooks")
	if makePrivateDir(dir) != nil {
		return true
	}
	file := agentFile(dir, g.reporter(as), ".last")
	state := []byte(event + " " + status)
	last, err := os.ReadFile(file)
	if info, statErr := os.Stat(file); err == nil && statErr == nil && bytes.Equal(last, state) && time.Since(info.ModTime()) < hookEvery {
		return false
	}
	_ = writePrivate(file, state) // the worst is one report too many
	return true
}

// reporter tells agents apart: one with a server or a token of its own from others of
// its name at the local box, and from those that are given no name.
func (g *globals) reporter(as string) string {
	server := g.namedServer()
	token := g.namedTokenFile()
	if server == "" && token == "" {
		return as
	}
	return strings.Join([]string{as, server, token}, " ")
}
