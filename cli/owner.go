package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"signalbox/model/acop"
	owner "signalbox/server/acop"
	"signalbox/server/store"
)

// ownerFinish bounds what an owner may still finish when it is asked to stop.
const ownerFinish = 8 * time.Second

// ownerOptions say how an owner is opened in this process.
type ownerOptions struct {
	// Data is the folder of the owner's state; it is created when missing.
	Data string
	// Listen is the address of the API; "" means a free port on loopback.
	Listen string
	// Tokens names a tokens file. Without one the owner makes its own lead.
	// Its changes are taken over while the owner runs.
	Tokens string
	// Config are the owner's policies.
	Config owner.Config
	// Dashboard tells that this process has a screen as well.
	Dashboard bool
	// AcceptLoss opens a damaged log with what is left of it.
	AcceptLoss bool
	Log        *slog.Logger
}

// ownerBox is an owner that runs in this process, on its own socket.
type ownerBox struct {
	// URL is the base of the API and ends with a slash.
	URL  string
	Data string
	// LeadToken belongs to the lead the owner made for itself; "" when tokens
	// were given.
	LeadToken string

	store    *store.Store
	owner    *owner.Server
	tokens   *owner.Tokens
	list     string     // the file behind tokens
	tls      *owner.TLS // nil: plain HTTP
	http     *http.Server
	served   chan error
	running  sync.WaitGroup // what stopOwn ends
	stopOwn  context.CancelFunc
	closed   func() error
	log      *slog.Logger
	weak     tokenWarner
	listener net.Listener
}

// openOwner listens, opens the log and serves, in this order. The owner lives until Close;
// ctx is only for opening.
func openOwner(ctx context.Context, o ownerOptions) (*ownerBox, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if err := checkListen(o.Listen); err != nil {
		return nil, failf(exitUsage, "%w", err)
	}
	if err := o.Config.Check(); err != nil { // flags may have added to what the file says
		return nil, failf(exitUsage, "%w", err)
	}
	if o.Tokens == "" && !o.Config.OIDC.On() && !loopbackAddress(o.Listen) {
		return nil, failf(exitUsage, "%s can be reached from other machines, and neither --tokens nor --oidc-issuer are given; listen on 127.0.0.1 or say who may come in", o.Listen)
	}
	if abs, err := filepath.Abs(o.Data); err == nil {
		o.Data = abs
	}
	b := &ownerBox{Data: o.Data, log: o.Log, served: make(chan error, 1)}
	b.closed = sync.OnceValue(func() error { return b.close(context.WithoutCancel(ctx)) })
	if err := b.prepare(ctx, o); err != nil {
		return nil, err
	}
	if err := b.open(ctx, o); err != nil {
		return nil, errors.Join(err, b.listener.Close())
	}
	b.weak.look(b.list, b.tokens, b.log)
	b.serve(ctx)
	if err := writeBox(o.Data, box{URL: b.URL, Tokens: b.list, Dashboard: o.Dashboard}); err != nil {
		return nil, errors.Join(failf(exitFailed, "note the address in %s: %w", o.Data, err), b.Close())
	}
	return b, nil
}

// prepare does what can fail without a trace: reading what was given, and taking
// the address. Nothing is on disk yet when it fails.
func (b *ownerBox) prepare(ctx context.Context, o ownerOptions) (err error) {
	scheme := "http://"
	if b.list = o.Tokens; b.list != "" {
		if abs, err := filepath.Abs(b.list); err == nil {
			b.list = abs
		}
		if b.tokens, err = givenTokens(o.Tokens); err != nil {
			return err
		}
	}
	if o.Config.TLS.On() {
		scheme = "https://"
		if b.tls, err = owner.NewTLS(o.Config.TLS); err != nil {
			return failf(exitUsage, "%w", err)
		}
	}
	if b.listener, err = listen(ctx, o.Listen); err != nil {
		// Who has it, when that is the owner of the same folder.
		if other, readErr := readBox(o.Data); readErr == nil && answers(ctx, other.URL) {
			return failf(exitUsage, "%w", &addressTaken{fmt.Sprintf("cannot listen on %s: process %d serves %s already, at %s; stop that one first", o.Listen, other.PID, o.Data, other.URL)})
		}
		return err
	}
	b.URL = scheme + reachable(b.listener.Addr()) + owner.DefaultBasePath
	return nil
}

// open takes the folder, the log first: it tells whether another owner has it.
// What was taken is given back on failure.
func (b *ownerBox) open(ctx context.Context, o ownerOptions) (err error) {
	if err := makePrivateDir(o.Data); err != nil {
		return failf(exitUsage, "%w", err)
	}
	b.store, err = store.Open(ctx, store.Options{Dir: filepath.Join(o.Data, "log"), Log: o.Log, AcceptLoss: o.AcceptLoss})
	if err != nil {
		return failf(exitFailed, "%w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.store.Close())
		}
	}()
	if b.list == "" {
		b.list = tokensFile(o.Data)
		if b.tokens, b.LeadToken, err = ownLead(ctx, o.Data); err != nil {
			return err
		}
	}
	b.owner, err = owner.New(owner.Options{
		Store: b.store, Tokens: b.tokens, Config: o.Config, Log: o.Log, AnyHost: !loopbackAddress(o.Listen),
		Version: build().Version,
	})
	if err != nil {
		return failf(exitUsage, "%w", err)
	}
	return nil
}

func (b *ownerBox) serve(ctx context.Context) {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stopOwn = stop
	b.http = &http.Server{
		Handler:                      b.handler(),
		ReadHeaderTimeout:            5 * time.Second,
		IdleTimeout:                  2 * time.Minute,
		MaxHeaderBytes:               64 << 10,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(b.log.Handler(), slog.LevelDebug),
	}
	l := owner.Listener
	if b.tls != nil {
		l = b.tls.Listener
	}
	go func() { b.served <- b.http.Serve(l(b.listener)) }()
	b.running.Go(func() { b.owner.Run(run) })
	b.running.Go(func() { b.followTokens(run) })
}

// AddToken makes a credential that lives as long as this process. It panics on
// an identity or a role that cannot be: both are the program's own words.
func (b *ownerBox) AddToken(identity string, role acop.Role) string {
	t, err := b.tokens.Add(identity, role)
	if err != nil {
		panic(err)
	}
	return t
}

// Wait returns when the owner stopped serving by itself, which is a failure, or
// nil when ctx ended first.
func (b *ownerBox) Wait(ctx context.Context) error {
	select {
	case err := <-b.served:
		b.served <- err
		return err
	case <-ctx.Done():
		return nil
	}
}

// Close ends streams, finishes what runs within bounded time and gives the
// folder free. Further calls return the same.
func (b *ownerBox) Close() error { return b.closed() }

func (b *ownerBox) close(ctx context.Context) error {
	removeBox(b.Data)
	b.owner.Close()
	finish, cancel := context.WithTimeout(ctx, ownerFinish)
	defer cancel()
	if b.http.Shutdown(finish) != nil {
		_ = b.http.Close()
	}
	b.stopOwn()
	b.running.Wait()
	return b.store.Close()
}
