package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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
	Tokens string
	// Config are the owner's policies.
	Config owner.Config
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
	http     *http.Server
	served   chan error
	swept    chan struct{}
	stopOwn  context.CancelFunc
	closed   func() error
	log      *slog.Logger
	listener net.Listener
}

// openOwner opens the log, listens and serves. The owner lives until Close;
// ctx is only for opening.
func openOwner(ctx context.Context, o ownerOptions) (*ownerBox, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Tokens == "" && !loopbackAddress(o.Listen) {
		return nil, failf(exitUsage, "%s can be reached from other machines, and no --tokens are given; listen on 127.0.0.1 or name tokens", o.Listen)
	}
	if err := makePrivateDir(o.Data); err != nil {
		return nil, failf(exitUsage, "%w", err)
	}
	if abs, err := filepath.Abs(o.Data); err == nil {
		o.Data = abs
	}
	b := &ownerBox{Data: o.Data, log: o.Log, served: make(chan error, 1), swept: make(chan struct{})}
	b.closed = sync.OnceValue(b.close)
	if err := b.open(ctx, o); err != nil {
		return nil, err
	}
	b.serve(ctx)
	if err := writeBox(o.Data, b.URL); err != nil {
		return nil, errors.Join(failf(exitFailed, "note the address in %s: %w", o.Data, err), b.Close())
	}
	return b, nil
}

// open takes what the owner needs, the log first: it tells whether another
// owner has the folder. What was taken is given back on failure.
func (b *ownerBox) open(ctx context.Context, o ownerOptions) (err error) {
	b.store, err = store.Open(ctx, store.Options{Dir: filepath.Join(o.Data, "log"), Log: o.Log, AcceptLoss: o.AcceptLoss})
	if err != nil {
		return failf(exitFailed, "%w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.store.Close())
		}
	}()
	if o.Tokens != "" {
		b.tokens, err = givenTokens(o.Tokens, o.Log)
	} else {
		b.tokens, b.LeadToken, err = ownLead(o.Data)
	}
	if err != nil {
		return err
	}
	b.owner, err = owner.New(owner.Options{
		Store: b.store, Tokens: b.tokens, Config: o.Config, Log: o.Log, AnyHost: !loopbackAddress(o.Listen),
	})
	if err != nil {
		return failf(exitUsage, "%w", err)
	}
	var lc net.ListenConfig
	b.listener, err = lc.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return failf(exitUsage, "cannot listen on %s: %w", o.Listen, err)
	}
	b.URL = "http://" + reachable(b.listener.Addr()) + owner.DefaultBasePath
	return nil
}

// reachable is an address at which this machine reaches the listener.
func reachable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

func (b *ownerBox) serve(ctx context.Context) {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stopOwn = stop
	b.http = &http.Server{
		Handler:                      b.owner.Handler(),
		ReadHeaderTimeout:            5 * time.Second,
		IdleTimeout:                  2 * time.Minute,
		MaxHeaderBytes:               64 << 10,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(b.log.Handler(), slog.LevelDebug),
	}
	go func() { b.served <- b.http.Serve(owner.Listener(b.listener)) }()
	go func() {
		defer close(b.swept)
		b.owner.Run(run)
	}()
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

func (b *ownerBox) close() error {
	removeBox(b.Data)
	b.owner.Close()
	finish, cancel := context.WithTimeout(context.Background(), ownerFinish)
	defer cancel()
	if b.http.Shutdown(finish) != nil {
		_ = b.http.Close()
	}
	b.stopOwn()
	<-b.swept
	return b.store.Close()
}

// givenTokens reads a tokens file and warns where others can read it.
func givenTokens(path string, log *slog.Logger) (*owner.Tokens, error) {
	t, err := owner.LoadTokens(path)
	if err != nil {
		return nil, failf(exitUsage, "%w", err)
	}
	if t.Len() == 0 {
		return nil, failf(exitUsage, "%s holds no tokens; nobody could come in", path)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		log.Warn("other users can read the tokens; set its mode to 0600", "file", path)
	}
	return t, nil
}

// localLead is the identity of the lead that an owner makes for itself.
const localLead = "lead-01"

// ownLead gives the local box credentials of its own: the lead's token in
// lead.token, its hash in tokens.yaml, both for this user alone. They are made
// once and found again later.
func ownLead(data string) (*owner.Tokens, string, error) {
	listFile, tokenFile := filepath.Join(data, "tokens.yaml"), leadTokenFile(data)
	list, err := os.ReadFile(listFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", failf(exitFailed, "%w", err)
	}
	tokens := &owner.Tokens{}
	if len(list) > 0 {
		if tokens, err = owner.LoadTokens(listFile); err != nil {
			return nil, "", failf(exitUsage, "%w", err)
		}
	}
	raw, err := os.ReadFile(tokenFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", failf(exitFailed, "%w", err)
	}
	token := strings.TrimSpace(string(raw))
	if id, known := tokens.Principal(token); known && id == localLead {
		return tokens, token, nil
	}
	if token, err = tokens.Add(localLead, acop.RoleLead); err != nil {
		return nil, "", failf(exitUsage, "%s: %w", listFile, err)
	}
	line := fmt.Sprintf("- {identity: %s, role: lead, token_sha256: %s}\n", localLead, owner.HashToken(token))
	if len(list) > 0 && list[len(list)-1] != '\n' {
		line = "\n" + line
	}
	// The token first: a crash in between leaves a token that nothing knows,
	// and the next start makes a new one.
	err = errors.Join(writePrivate(tokenFile, []byte(token+"\n")), writePrivate(listFile, append(list, line...)))
	if err != nil {
		return nil, "", failf(exitFailed, "keep the lead's token in %s: %w", data, err)
	}
	return tokens, token, nil
}
