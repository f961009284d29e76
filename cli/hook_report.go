package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
		Args:        cobra.NoArgs,
		Annotations: map[string]string{neverFails: "not reported"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), hookPatience)
			defer cancel()
			return g.hookReport(ctx, f, contents)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&contents, "contents", false, "report also what a tool was used on, such as the command")
	return cmd
}

const (
	hookPatience = 2500 * time.Millisecond
	// hookEvery is how often the same state is reported at most: an agent may use
	// many tools a second, and each heartbeat is written to the log.
	hookEvery = 10 * time.Second
)

// hookReport is `signalbox hook report`.
func (g *globals) hookReport(ctx context.Context, f *agentFlags, contents bool) (err error) {
	defer func() {
		if v := recover(); v != nil { // the exit code of a panic would block the agent
			err = fmt.Errorf("this program is at fault: %v", v)
		}
	}()
	if err := f.check(); err != nil {
		return err
	}
	e, err := awaitHookEvent(ctx, g.sys.Stdin)
	if err != nil {
		return err
	}
	status, summary := e.progress(contents)
	if status == "" || !g.worthReporting(ctx, f.as, status, summary) {
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
	var failed []string
	for _, h := range held.Claims {
		act := acop.Act{Verb: acop.VerbHeartbeat, ClaimID: h.Claim.ClaimID, ProgressStatus: status, Reason: summary}
		if status != agentStopped && ownWords(h.Lease, held.AtUTC) {
			act.Reason = "" // they say more than the name of a tool
		}
		if _, err := c.Do(ctx, act); err != nil {
			failed = append(failed, text.ID(h.Claim.WorkItemID)+": "+err.Error()) // the others are alive all the same
		}
	}
	if len(failed) > 0 {
		return errors.New(strings.Join(failed, "; "))
	}
	return nil
}

// wordsLast is how long what a model said of its progress is left to stand.
const wordsLast = 2 * time.Minute

const toolWord = "used "

// ownWords tells whether a lease has fresh progress that the model worded itself.
func ownWords(l *acop.Lease, now acop.Time) bool {
	return l != nil && l.Progress != "" && !strings.HasPrefix(l.Progress, toolWord) && !strings.HasPrefix(l.Progress, stopWord) &&
		now.Sub(l.ProgressAtUTC) < wordsLast
}

// worthReporting holds back what was reported a moment ago, or could not be: an owner
// that does not answer must not slow every tool of the agent. It remembers the last
// report of an agent in a file of its own, under a lock, for an agent uses many tools
// at once; without the file everything is reported.
func (g *globals) worthReporting(ctx context.Context, as, status, summary string) bool {
	dir := filepath.Join(g.stateDir(), "hooks")
	if makePrivateDir(dir) != nil {
		return true
	}
	file := agentFile(dir, g.reporter(as), ".last")
	leave, err := holdFile(ctx, file+".lock")
	if err != nil {
		return true
	}
	defer leave()
	state := []byte(status)
	if strings.HasPrefix(summary, toolWord) {
		state = []byte(status + " with a tool") // whichever it is
	}
	last, err := os.ReadFile(file)
	if info, statErr := os.Stat(file); err == nil && statErr == nil && bytes.Equal(last, state) && time.Since(info.ModTime()).Abs() < hookEvery {
		return false
	}
	_ = os.WriteFile(file, state, 0o600) // the worst is one report too many
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
