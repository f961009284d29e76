package cli

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"signalbox/model/acop"
	"signalbox/server/acmp"
	owner "signalbox/server/acop"
)

// serveFlags are the flags of `signalbox serve`.
type serveFlags struct {
	data       string
	listen     string
	tokens     string
	acceptLoss bool
	tls        owner.TLSFiles
	oidc       owner.OIDCConfig
	oidcRoles  []string
	compat     bool
}

func newServeCommand(g *globals) *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the owner of the work without a dashboard",
		Long: "Keep work items, claims and the blackboard, and serve them over HTTP.\n" +
			"Prints one JSON line when ready. Without --tokens it serves this machine only\n" +
			"and leaves the lead's token in the data folder.\n\n" +
			"SIGHUP reads tokens and certificates again; what is wrong with them is said in\n" +
			"the log and changes nothing. Closing the terminal it was started in ends it in good\n" +
			"order, unless it was started with nohup or setsid.",
		Example: "  signalbox serve --data ./box --tokens tokens.yaml --listen 127.0.0.1:7180\n" +
			"  signalbox serve --listen :7180 --tokens tokens.yaml --tls-cert box.pem --tls-key box.key\n" +
			"  signalbox serve --oidc-issuer https://id.example --oidc-audience signalbox --oidc-role devs=worker",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.serve(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.data, "data", "", "folder of the owner's state (default: the local box's)")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:7180", "address to serve HTTP on; port 0 picks one")
	fl.StringVar(&f.tokens, "tokens", "", "YAML list of {identity, role, token or token_sha256}")
	fl.BoolVar(&f.acceptLoss, "accept-loss", false, "open a damaged log with what is left of it")
	fl.StringVar(&f.tls.Cert, "tls-cert", "", "serve TLS with this certificate (PEM)")
	fl.StringVar(&f.tls.Key, "tls-key", "", "key of --tls-cert (PEM)")
	fl.StringVar(&f.tls.ClientCA, "client-ca", "", "let only clients with a certificate of this authority in (PEM)")
	fl.StringVar(&f.oidc.Issuer, "oidc-issuer", "", "take identity tokens of this OpenID Connect issuer")
	fl.StringVar(&f.oidc.Audience, "oidc-audience", "", "audience that identity tokens must name")
	fl.StringVar(&f.oidc.RoleClaim, "oidc-role-claim", "", "claim with the role or roles (default \"roles\")")
	fl.StringArrayVar(&f.oidcRoles, "oidc-role", nil, "VALUE=ROLE: what a value of that claim may do (repeatable)")
	fl.BoolVar(&f.compat, "compat", false, "serve /acop/compat/ as well, for clients that do not speak the binding exactly")
	return cmd
}

// merge lays the flags over the configuration.
func (f *serveFlags) merge(c *owner.Config) error {
	set := func(dst *string, v string) { *dst = cmp.Or(v, *dst) }
	set(&c.Tokens, f.tokens)
	set(&c.TLS.Cert, f.tls.Cert)
	set(&c.TLS.Key, f.tls.Key)
	set(&c.TLS.ClientCA, f.tls.ClientCA)
	set(&c.OIDC.Issuer, f.oidc.Issuer)
	set(&c.OIDC.Audience, f.oidc.Audience)
	set(&c.OIDC.RoleClaim, f.oidc.RoleClaim)
	c.Compat = c.Compat || f.compat
	for _, pair := range f.oidcRoles {
		i := strings.LastIndex(pair, "=")
		if i <= 0 {
			return failf(exitUsage, "--oidc-role %s: it must be VALUE=ROLE", pair)
		}
		if c.OIDC.Roles == nil {
			c.OIDC.Roles = make(map[string]acop.Role)
		}
		c.OIDC.Roles[pair[:i]] = acop.Role(pair[i+1:])
	}
	return nil
}

// serve is `signalbox serve`.
func (g *globals) serve(ctx context.Context, f *serveFlags) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	o := ownerOptions{Data: f.data, Listen: f.listen, AcceptLoss: f.acceptLoss}
	if g.config != "" {
		if err := acmp.CheckFile(g.config); err != nil {
			return failf(exitUsage, "%w", err)
		}
		conf, err := owner.LoadConfig(g.config)
		if err != nil {
			return failf(exitUsage, "%w", err)
		}
		o.Config = conf
	}
	if err := f.merge(&o.Config); err != nil {
		return err
	}
	o.Tokens = o.Config.Tokens
	if o.Data == "" {
		o.Data = g.localData()
	}
	log, closeLog, err := g.newLogger(g.sys.Stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	o.Log = log
	hup := watchHangUps(ctx) // before anybody can know that there is an owner to hang up on
	ctx, leave := hup.untilClosed(ctx)
	defer leave()
	b, err := openOwner(ctx, o)
	if err != nil {
		return err
	}
	if err := g.printReady(map[string]any{"event": "ready", "url": b.URL, "mcp_url": b.MCPURL(), "data": b.Data}); err != nil {
		return errors.Join(err, b.Close())
	}
	log.Info("serving", "url", b.URL, "data", b.Data)
	go b.reloadOn(ctx, hup.reload)
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

// reloadOn reloads each time it is asked to, until ctx ends.
func (b *ownerBox) reloadOn(ctx context.Context, asked <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
			b.Reload()
		}
	}
}
