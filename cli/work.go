package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/model/text"
)

// newWorkCommand is `signalbox work`: what the dashboard can do, for scripts.
func newWorkCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "work",
		Short: "List, put, decide and do work items from a script",
		Long: `List, put and decide work items at the owner. With a worker's token: find work
(pickup), take it (claim), keep it (renew, heartbeat), finish it (complete, release),
or do all of that around a command (run). Data goes to stdout, as a table or with
--json as JSON; one line about what went wrong goes to stderr.
Exit code 0 done, 1 refused, 2 wrong usage, 3 the owner cannot be reached.`,
	}
	cmd.AddCommand(newWorkPut(g), newWorkExport(g), newWorkList(g), newWorkShow(g), newWorkEvents(g))
	for i := range workActs {
		cmd.AddCommand(workActs[i].command(g))
	}
	cmd.AddCommand(workerCommands(g)...)
	cmd.AddCommand(newWorkSettings(g), newWorkFreeze(g), newWorkUnfreeze(g))
	return cmd
}

// work is one run of a work command.
type work struct {
	g *globals
	c *client.Client
}

// workPatience is how long a command tries to reach the owner: a script would
// rather know soon.
const workPatience = 3 * time.Second

// openWork connects; changes tells that the command changes something.
func (g *globals) openWork(ctx context.Context, changes bool) (*work, func(), error) {
	if changes && g.readOnly {
		return nil, nil, failf(exitUsage, "this command changes something and --read-only was given")
	}
	log, closeLog, err := g.newLogger(nil)
	if err != nil {
		return nil, nil, err
	}
	c, err := g.connect(ctx, log, workPatience)
	if err != nil {
		closeLog()
		return nil, nil, err
	}
	return &work{g: g, c: c}, func() { c.Close(); closeLog() }, nil
}

// printJSON prints v as one line.
func (w *work) printJSON(v any) error {
	enc := json.NewEncoder(w.g.sys.Stdout)
	enc.SetEscapeHTML(false)
	return stdoutError(enc.Encode(v))
}

// printf prints to stdout.
func (w *work) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(w.g.sys.Stdout, format, args...)
	return stdoutError(err)
}

// printed is stdoutError for what the fmt functions give.
func printed(_ int, err error) error { return stdoutError(err) }

func stdoutError(err error) error {
	if err != nil {
		return failf(exitFailed, "write the output: %w", err)
	}
	return nil
}

// workError gives err its exit code and the words of a person: what happened, to
// what, and what to do.
func workError(what string, err error) error {
	var ee *exitError
	var e *acop.Error
	switch {
	case err == nil || errors.As(err, &ee):
		return err
	case errors.Is(err, context.Canceled):
		return failf(exitInterrupted, "")
	case errors.As(err, &e):
		return failf(exitFailed, "%s: %s", text.Line(what), refusalWords(e))
	case errors.Is(err, client.ErrUntrusted): // it says what helps
		return failf(exitUnreachable, "%s: %s", text.Line(what), text.Line(err.Error()))
	case errors.Is(err, client.ErrUnreachable):
		return failf(exitUnreachable, "%s: %s; check --server, or start the owner", text.Line(what), text.Line(err.Error()))
	case errors.Is(err, client.ErrProtocol):
		return failf(exitUnreachable, "%s: %s; is this an owner of ACOP 1.x?", text.Line(what), text.Line(err.Error()))
	}
	return failf(exitUsage, "%s: %s", text.Line(what), text.Line(err.Error()))
}

// refusalWords words a refusal. The message is the owner's and hostile text.
func refusalWords(e *acop.Error) string {
	info := acop.Info(e.Code)
	s := info.Plain
	if e.Message != "" {
		s += " (" + text.Line(e.Message) + ")"
	}
	if e.RetryAfterSeconds > 0 {
		s += fmt.Sprintf("; try again in %d s", e.RetryAfterSeconds)
	} else if info.Next != "" {
		s += "; " + info.Next
	}
	return s + " [" + text.ID(string(e.Code)) + "]"
}
