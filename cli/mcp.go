package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/model/text"
	"signalbox/server/mcp"
)

// agentFlags say which agent a command speaks for.
type agentFlags struct {
	as   string
	role string
}

func (f *agentFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.as, "as", "", "identity of the agent at the owner, such as claude-01")
	cmd.Flags().StringVar(&f.role, "role", string(acop.RoleWorker), "role to register with at the local box: worker, producer or reader")
}

// check refuses what no agent may be.
func (f *agentFlags) check() error {
	if f.as != "" && (text.ID(f.as) != f.as || strings.TrimSpace(f.as) == "") {
		return failf(exitUsage, "--as %q cannot be an identity: it must be plain text, such as claude-01", text.Clip(text.Line(f.as), 40))
	}
	switch acop.Role(f.role) {
	case acop.RoleWorker, acop.RoleProducer, acop.RoleReader:
		return nil
	}
	return failf(exitUsage, "--role must be worker, producer or reader, not %s; `signalbox token add` makes other credentials", text.ID(f.role))
}

func newMCPCommand(g *globals) *cobra.Command {
	f := &agentFlags{}
	stale := mcp.DefaultStaleAfter
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Give an agent the work tools over MCP on stdio",
		Long: "Serve the tools with which an agent finds, claims and reports work, over MCP on\n" +
			"stdin and stdout. With --as the agent registers with the local box by itself; its\n" +
			"token is kept in the box's folder for this user alone. The agent's leases are\n" +
			"renewed while it shows life. `signalbox mcp config` prints what to paste into an\n" +
			"agent's configuration.",
		Example: "  signalbox mcp --as claude-01\n" +
			"  signalbox mcp --server https://box.example:7180 --token-file worker-7.token",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.mcp(cmd.Context(), f, stale) },
	}
	f.add(cmd)
	cmd.Flags().DurationVar(&stale, "stale-after", stale, "renew no lease when the agent has shown no life for this long")
	cmd.AddCommand(newMCPConfigCommand(g))
	return cmd
}

// mcp is `signalbox mcp`.
func (g *globals) mcp(ctx context.Context, f *agentFlags, stale time.Duration) error {
	if err := f.check(); err != nil {
		return err
	}
	if stale <= 0 {
		return failf(exitUsage, "--stale-after must be more than nothing; 15m is usual")
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	log, closeLog, err := g.newLogger(nil)
	if err != nil {
		return err
	}
	defer closeLog()
	o := &lateOwner{find: func(ctx context.Context) (mcp.Owner, error) { return g.findAgent(ctx, f, log) }}
	if _, err := o.get(ctx); err != nil {
		var ee *exitError
		if errors.As(err, &ee) && ee.code == exitUsage {
			return err
		}
		// The agent outlives a box that is not up yet: its calls are refused until then.
		fmt.Fprintln(g.sys.Stderr, "signalbox: "+err.Error())
	}
	s := mcp.New(mcp.Options{Owner: o, StaleAfter: stale, Version: build().Version, Log: log})
	if err := s.ServeStdio(ctx, readCloser(g.sys.Stdin), writeCloser{g.sys.Stdout}); err != nil {
		return failf(exitFailed, "%w", err)
	}
	return nil
}

func readCloser(r io.Reader) io.ReadCloser {
	if rc, ok := r.(io.ReadCloser); ok {
		return rc
	}
	return io.NopCloser(r)
}

// writeCloser is a Writer whose Close does nothing: stdout is not ours to close.
type writeCloser struct{ io.Writer }

// Close implements io.Closer.
func (writeCloser) Close() error { return nil }

// agentPatience is how long an act of an agent is tried again: a model waits for it.
const agentPatience = 3 * time.Second

// findAgent connects as the agent: to the owner that flags or environment name,
// with a token given there, or to the local box, where it registers.
func (g *globals) findAgent(ctx context.Context, f *agentFlags, log *slog.Logger) (mcp.Owner, error) {
	c, err := g.agentClient(ctx, f, client.Options{Patience: agentPatience, Log: log})
	if err != nil {
		return nil, err
	}
	if err := g.sameAgent(ctx, c, f.as); err != nil {
		return nil, err
	}
	return agentOwner{c}, nil
}

// agentClient makes a client for the agent; o says how patient it is. With an
// o.Identity the owner is not asked who the token speaks for.
func (g *globals) agentClient(ctx context.Context, f *agentFlags, o client.Options) (*client.Client, error) {
	given := firstOf(g.namedTokenFile(), g.sys.Env("ACOP_BACKEND_BEARER_TOKEN")) != ""
	switch {
	case g.namedServer() != "" || given:
		t, err := g.findOwner(ctx)
		if err != nil {
			return nil, err
		}
		o.BaseURL, o.Token = t.URL, t.Token
	case f.as == "":
		return nil, failf(exitUsage, "--as is missing: it says which agent this is at the local box, such as --as claude-01")
	default:
		url, _, ok := localBox(ctx, g)
		if !ok {
			return nil, failf(exitUnreachable, "no local box is running; start one with signalbox or signalbox serve, or give --server URL")
		}
		token, err := g.register(ctx, f.as, acop.Role(f.role))
		if err != nil {
			return nil, err
		}
		o.BaseURL, o.Token, o.Identity = url, client.Token(token), f.as
	}
	c, err := client.New(o)
	if err != nil {
		return nil, failf(exitUsage, "%w", err)
	}
	return c, nil
}

// sameAgent refuses a token that speaks for somebody else than was said.
func (g *globals) sameAgent(ctx context.Context, c *client.Client, as string) error {
	id, err := c.Identity(ctx)
	if err != nil {
		return failf(exitUnreachable, "%w", err)
	}
	return speaksFor(id, as)
}

// speaksFor refuses a token of id where another agent was named.
func speaksFor(id, as string) error {
	if as != "" && id != as {
		return failf(exitUsage, "the token speaks for %s, not for %s; give that one's token or another --as", text.ID(id), text.ID(as))
	}
	return nil
}
