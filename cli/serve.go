package cli

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	owner "signalbox/server/acop"
)

// serveFlags are the flags of `signalbox serve`.
type serveFlags struct {
	data       string
	listen     string
	tokens     string
	acceptLoss bool
}

func newServeCommand(g *globals) *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the owner of the work without a dashboard",
		Long: "Keep work items, claims and the blackboard, and serve them over HTTP.\n" +
			"Prints one JSON line when ready. Without --tokens it serves this machine only\n" +
			"and leaves the lead's token in the data folder.",
		Example: "  signalbox serve --data ./box --tokens tokens.yaml --listen 127.0.0.1:7180",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return g.serve(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.data, "data", "", "folder of the owner's state (default: the local box's)")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:7180", "address to serve HTTP on; port 0 picks one")
	fl.StringVar(&f.tokens, "tokens", "", "YAML list of {identity, role, token or token_sha256}")
	fl.BoolVar(&f.acceptLoss, "accept-loss", false, "open a damaged log with what is left of it")
	return cmd
}

// serve is `signalbox serve`.
func (g *globals) serve(ctx context.Context, f *serveFlags) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	o := ownerOptions{Data: f.data, Listen: f.listen, Tokens: f.tokens, AcceptLoss: f.acceptLoss}
	if g.config != "" {
		conf, err := owner.LoadConfig(g.config)
		if err != nil {
			return failf(exitUsage, "%w", err)
		}
		o.Config = conf
	}
	if o.Tokens == "" {
		o.Tokens = o.Config.Tokens
	}
	if o.Data == "" {
		o.Data = g.localData()
	}
	log, closeLog, err := g.provideLog()
	if err != nil {
		return err
	}
	defer closeLog()
	o.Log = log
	b, err := openOwner(ctx, o)
	if err != nil {
		return err
	}
	if err := g.printReady(map[string]any{"event": "ready", "url": b.URL, "data": b.Data}); err != nil {
		return errors.Join(err, b.Close())
	}
	log.Info("serving", "url", b.URL, "data", b.Data)
	err = b.Wait(ctx)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	log.Info("stopping")
	if err = errors.Join(err, b.Close()); err != nil {
		return failf(exitFailed, "%w", err)
	}
	return nil
}
