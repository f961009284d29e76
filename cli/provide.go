package cli

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"signalbox/server/acmp"
	"signalbox/server/acop"
)

// How long `provide` takes to end, in all at most 10 s: tasks may finish for
// provideFinish, commands stop within their own grace, answers get their way out.
const (
	provideFinish = 6500 * time.Millisecond
	provideFlush  = 500 * time.Millisecond
)

// mcpPath is where the MCP endpoint of a provider stands.
const mcpPath = "/mcp"

// provideFlags are the flags of `signalbox provide`.
type provideFlags struct {
	listen       string
	stdio        bool
	tokens       string
	data         string
	tls          acop.TLSFiles
	insecureHTTP bool
	descriptor   bool
}

func newProvideCommand(g *globals) *cobra.Command {
	f := &provideFlags{}
	cmd := &cobra.Command{
		Use:   "provide --config FILE",
		Short: "Serve commands as capabilities over ACMP",
		Long: "Serve the commands of a YAML file as capabilities, over HTTP or, with --stdio, to\n" +
			"the program that started this one. Prints one JSON line when ready.\n\n" +
			"For each capability the file names, of these, name and command at least:\n" +
			"  name, command    what it is called, and its program and arguments: a list of words\n" +
			"  dir              folder to run it in, from the folder of the file on\n" +
			"  input            stdin | arg | none\n" +
			"  output           lines | ndjson | text | bytes\n" +
			"  stderr           merge: streamed with the output (default of lines) |\n" +
			"                   tail: only its end, if the command fails (default of the others)\n" +
			"  progress         regular expression whose first group is a percentage\n" +
			"  price_cu, timeout_ms, max_parallel\n\n" +
			"And for all of them: provider_id, heartbeat_interval_ms, disconnect_grace_ms,\n" +
			"offer_valid_ms, and escrow: unverified | refuse.\n\n" +
			"SIGHUP reads the file, the tokens and the certificates again; what runs goes on as it\n" +
			"began. A file with an error changes nothing. Closing the terminal it was started in\n" +
			"ends it in good order, unless it was started with nohup or setsid.",
		Example: "  signalbox provide --config capabilities.yaml\n  signalbox provide --config capabilities.yaml --stdio\n" +
			"  signalbox provide --config capabilities.yaml --listen :7190 --tokens tokens.yaml --tls-cert box.pem --tls-key box.key",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"listen", "tls-cert", "tls-key", "client-ca", "insecure-http"} {
				if f.stdio && cmd.Flags().Changed(name) {
					return failf(exitUsage, "--%s is for HTTP, and --stdio serves none; leave one of them out", name)
				}
			}
			return g.provide(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:0", "address to serve HTTP on; port 0 picks one")
	fl.BoolVar(&f.stdio, "stdio", false, "serve on standard input and output instead of HTTP")
	fl.StringVar(&f.tokens, "tokens", "", "YAML file with the tokens that callers must show")
	fl.StringVar(&f.data, "data", "", "folder in which outcomes outlive a restart")
	fl.StringVar(&f.tls.Cert, "tls-cert", "", "serve TLS with this certificate (PEM)")
	fl.StringVar(&f.tls.Key, "tls-key", "", "key of --tls-cert (PEM)")
	fl.StringVar(&f.tls.ClientCA, "client-ca", "", "let only clients with a certificate of this authority in (PEM); tokens still tell who they are")
	fl.BoolVar(&f.insecureHTTP, "insecure-http", false, "serve http:// to other machines, where TLS ends before this program")
	fl.BoolVar(&f.descriptor, "print-descriptor", false, "print endpoint and capability declaration as JSON, and stop")
	cmd.AddCommand(&cobra.Command{
		Use: "watchdog", Hidden: true, Args: cobra.NoArgs,
		Short: "End commands whose provider was killed (started by provide itself)",
		Run: func(*cobra.Command, []string) {
			signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			acmp.Watchdog(g.sys.Stdin)
		},
	})
	return cmd
}

// provide is `signalbox provide`. What can fail without a trace comes first: nothing
// is on disk before the address is taken.
func (g *globals) provide(ctx context.Context, f *provideFlags) error {
	if g.config == "" {
		return failf(exitUsage, "provide needs --config FILE, which names the capabilities to serve")
	}
	conf, err := acmp.LoadConfig(g.config)
	if err != nil {
		return failf(exitUsage, "%w", err)
	}
	if err := f.check(); err != nil {
		return err
	}
	log, closeLog, err := g.newLogger(g.sys.Stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	keys, err := f.loadKeys()
	if err != nil {
		return err
	}
	keys.warn(log)
	opts := f.options(conf, keys, log)
	if f.descriptor {
		return g.printDescriptor(opts, f)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	hup := watchHangUps(ctx)
	ctx, leave := hup.untilClosed(ctx)
	defer leave()
	// A reader that goes away must be an error to us, not the end of us.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	if f.stdio {
		return g.provideStdio(ctx, opts, keys, hup)
	}
	return g.provideHTTP(ctx, opts, f, keys, hup)
}

// check refuses an address that is none, or that would be open to everybody.
func (f *provideFlags) check() error {
	if err := (&acop.Config{TLS: f.tls}).Check(); err != nil {
		return failf(exitUsage, "%w", err)
	}
	if f.stdio {
		return nil
	}
	if err := checkListen(f.listen); err != nil {
		return failf(exitUsage, "%w", err)
	}
	switch local := loopbackAddress(f.listen); {
	case local || f.descriptor:
	case f.tokens == "":
		return failf(exitUsage, "%s can be reached from other machines, and no --tokens are given; listen on 127.0.0.1 or name tokens", f.listen)
	case !f.tls.On() && !f.insecureHTTP:
		return failf(exitUsage, "%s can be reached from other machines, and tokens must not travel in the clear; name --tls-cert and --tls-key, or say --insecure-http", f.listen)
	}
	return nil
}

// options are those of the provider that the file and the flags describe.
func (f *provideFlags) options(conf acmp.Config, keys *provideKeys, log *slog.Logger) acmp.Options {
	opts := acmp.Options{
		ProviderID:        conf.ProviderID,
		Version:           build().Version,
		HeartbeatInterval: conf.HeartbeatInterval,
		Grace:             conf.Grace,
		OfferValid:        conf.OfferValid,
		RefuseEscrow:      conf.RefuseEscrow,
		Capabilities:      conf.Capabilities,
		Data:              f.data,
		Watchdog:          watchdogArgv(),
		Log:               log,
	}
	if keys.tokens.Load() != nil {
		opts.Authenticate = keys.principal
	}
	return opts
}

// openProvider makes the provider and lets it read its files again at SIGHUP; stop ends that.
func (g *globals) openProvider(ctx context.Context, opts acmp.Options, keys *provideKeys, hup *hangUps) (p *acmp.Provider, stop func(), err error) {
	if p, err = acmp.New(ctx, opts); err != nil {
		return nil, nil, failf(exitUsage, "%s: %w", g.config, err)
	}
	return p, g.reloadOnHangup(p, keys, hup, opts.Log), nil
}

// watchdogArgv starts this program as the watchdog of its commands.
func watchdogArgv() []string {
	self, err := os.Executable()
	if err != nil || strings.HasSuffix(self, ".test") { // a test would run itself again
		return nil
	}
	return []string{self, "provide", "watchdog"}
}

func (g *globals) printDescriptor(opts acmp.Options, f *provideFlags) error {
	d, err := acmp.Describe(opts, f.endpoint())
	if err != nil {
		return failf(exitUsage, "%s: %w", g.config, err)
	}
	enc := json.NewEncoder(g.sys.Stdout)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		return failf(exitFailed, "print the descriptor: %w", err)
	}
	return nil
}

// endpoint is where a buyer finds the provider; "" where the flags do not tell: a
// port that is picked once it listens, or all addresses of this machine.
func (f *provideFlags) endpoint() string {
	if f.stdio {
		return "stdio"
	}
	host, port, err := net.SplitHostPort(f.listen)
	if ip := net.ParseIP(host); err != nil || port == "0" || host == "" || ip != nil && ip.IsUnspecified() {
		return ""
	}
	return f.scheme() + f.listen + mcpPath
}

func (g *globals) provideStdio(ctx context.Context, opts acmp.Options, keys *provideKeys, hup *hangUps) error {
	if opts.Authenticate != nil {
		token := g.sys.Env("ACMP_BEARER_TOKEN")
		if _, ok := opts.Authenticate(token); token == "" || !ok { // D-20
			return failf(exitUsage, "--tokens is given, and ACMP_BEARER_TOKEN does not hold one of its tokens; start this program with a valid one")
		}
	}
	p, stopReload, err := g.openProvider(ctx, opts, keys, hup)
	if err != nil {
		return err
	}
	defer stopReload()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- p.ServeStdio(serving, g.sys.Stdin, g.sys.Stdout) }()
	select {
	case err = <-ended: // the caller has gone: nobody waits for what still runs
		gone, cancel := context.WithCancel(serving)
		cancel()
		err = errors.Join(err, p.Close(gone))
	case <-ctx.Done():
		finish, cancel := context.WithTimeout(serving, provideFinish)
		defer cancel()
		err = p.Close(finish)
		stop()
		select {
		case <-ended:
		case <-time.After(provideFlush): // the other end does not read its answers
		}
	}
	if err != nil {
		return failf(exitFailed, "%w", err)
	}
	return nil
}

func (g *globals) provideHTTP(ctx context.Context, opts acmp.Options, f *provideFlags, keys *provideKeys, hup *hangUps) error {
	after := context.WithoutCancel(ctx)
	l, err := listen(ctx, f.listen)
	if err != nil {
		return err
	}
	defer l.Close() // the server has closed it, unless it never began
	p, stopReload, err := g.openProvider(ctx, opts, keys, hup)
	if err != nil {
		return err
	}
	defer stopReload()
	url := f.scheme() + reachable(l.Addr()) + mcpPath
	if keys.tls != nil {
		l = keys.tls.Listener(l)
	}
	mux := http.NewServeMux()
	mux.Handle(mcpPath, p.Handler())
	srv := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(opts.Log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	if err := g.printReady(map[string]any{"event": "ready", "url": url}); err != nil {
		_ = srv.Close()
		return errors.Join(err, p.Close(after))
	}
	opts.Log.Info("providing", "url", url, "capabilities", len(p.Settings().Features.Capabilities))
	select {
	case err = <-served:
	case <-ctx.Done():
		err = nil
	}
	// Answers, cancels and input still pass while what runs is finished.
	finish, cancel := context.WithTimeout(after, provideFinish)
	defer cancel()
	err = errors.Join(err, p.Close(finish))
	flush, cancelFlush := context.WithTimeout(after, provideFlush)
	defer cancelFlush()
	if srv.Shutdown(flush) != nil {
		_ = srv.Close()
	}
	if err != nil {
		return failf(exitFailed, "%w", err)
	}
	return nil
}

// printReady prints the one line that tells scripts where this program answers.
func (g *globals) printReady(line map[string]any) error {
	if err := json.NewEncoder(g.sys.Stdout).Encode(line); err != nil {
		return failf(exitFailed, "print the ready line: %w", err)
	}
	return nil
}
