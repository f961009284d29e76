package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"signalbox/cli/demo"
	"signalbox/client/acmp"
	"signalbox/client/acop"
)

// demoLeave bounds how long the demo's actors may take to leave.
const demoLeave = 5 * time.Second

func newDemoCommand(g *globals) *cobra.Command {
	var seed uint64
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a lively box with simulated agents",
		Long: "Open a box in a temporary folder with an owner, two providers and ten simulated\n" +
			"workers, all over real sockets, and its dashboard. What you do changes what they\n" +
			"do. Nothing is left behind; what a demo that was killed could not remove, the next\n" +
			"one does.",
		Example: "  signalbox demo\n  signalbox demo --seed 7",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return g.demo(cmd.Context(), seed) },
	}
	cmd.Flags().Uint64Var(&seed, "seed", 1, "the same number gives the same story")
	return cmd
}

// demo is `signalbox demo`.
func (g *globals) demo(ctx context.Context, seed uint64) (err error) {
	if err := g.requireTerminal(); err != nil {
		return err
	}
	log, closeLog, err := g.newLogger(nil)
	if err != nil {
		return err
	}
	defer closeLog()
	sweepDemos(os.TempDir())
	dir, leave, err := demoFolder(os.TempDir())
	if err != nil {
		return failf(exitFailed, "the demo needs a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, leave()) }()
	owner, err := openOwner(ctx, ownerOptions{Data: filepath.Join(dir, "box"), Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, owner.Close()) }()
	providers, err := openDemoProviders(ctx, log)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), demoLeave)
		defer cancel()
		err = errors.Join(err, providers.Close(ctx))
	}()
	return g.playDemo(ctx, seed, filepath.Join(dir, "buyer"), owner, providers, log)
}

// openDemoProviders starts the demo's providers. Their commands only read, and
// run in the folder the demo was started in, so that they have something to tell
// when it is a repository.
func openDemoProviders(ctx context.Context, log *slog.Logger) (*demo.Providers, error) {
	p, err := demo.OpenProviders(ctx, demo.ProviderOptions{Watchdog: watchdogArgv(), Log: log})
	if err != nil {
		return nil, failf(exitFailed, "start the demo's providers: %w", err)
	}
	return p, nil
}

// playDemo runs the simulated world behind a dashboard that the lead sits at.
func (g *globals) playDemo(ctx context.Context, seed uint64, buyerDir string, owner *ownerBox, providers *demo.Providers, log *slog.Logger) error {
	specs, err := g.loadProviders(false)
	if err != nil {
		return failf(exitUsage, "%w", err)
	}
	for _, at := range providers.At {
		specs = append(specs, acmp.ProviderSpec{Name: at.Name, URL: at.URL})
	}
	return g.runDashboard(ctx, dashboard{
		server: owner.URL, token: acop.Token(owner.LeadToken), identity: localLead,
		carriesOwner: true, passing: true, providers: specs, buyerDir: buyerDir, log: log,
		started: func(ctx context.Context, lead *acmp.Buyer) {
			err := demo.Run(ctx, demo.World{
				OwnerURL: owner.URL, Token: owner.AddToken, Providers: providers.At,
				Invoke: lead.Invoke, Seed: seed, Log: log,
			})
			if err != nil {
				log.Error("the simulated world ended", "error", err)
			}
		},
	})
}
