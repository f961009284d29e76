package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"signalbox/model/acmp"
	provider "signalbox/server/acmp"
)

// The capabilities of the first provider, which are simulated.
const (
	capSentiment = "sentiment"
	capReview    = "review-summary"
	capTranslate = "translate-docs"  // slow, but alive and progressing
	capStuck     = "long-build"      // alive, but without any progress
	capResearch  = "market-research" // falls silent
)

// The names of the two providers in the lead's program.
const (
	nameAnalysts = "analysts"
	nameWorkshop = "workshop"
)

// ProviderOptions say how the demo's providers run.
type ProviderOptions struct {
	// Dir is a folder, best a repository, in which commands run; "" is this
	// process's.
	Dir string
	// Watchdog is the argv that ends running commands should this process be
	// killed; nil means none.
	Watchdog []string
	Log      *slog.Logger
}

// Providers are the demo's two ACMP providers, each on its own loopback socket.
type Providers struct {
	At []ProviderAt

	closers []func(context.Context) error
	served  sync.WaitGroup
}

// OpenProviders starts both providers. What was started is closed on failure.
func OpenProviders(ctx context.Context, o ProviderOptions) (*Providers, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Providers{}
	err := p.open(ctx, nameAnalysts, provider.Options{
		ProviderID: "agent:analysts:demo", HeartbeatInterval: time.Second, Capabilities: analysts(), Log: o.Log,
	}, muted)
	if err == nil {
		err = p.open(ctx, nameWorkshop, provider.Options{
			ProviderID: "agent:workshop:demo", HeartbeatInterval: time.Second, Capabilities: workshop(o.Dir),
			Watchdog: o.Watchdog, Log: o.Log,
		}, func(h http.Handler) http.Handler { return h })
	}
	if err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	return p, nil
}

func (p *Providers) open(ctx context.Context, name string, o provider.Options, wrap func(http.Handler) http.Handler) error {
	pr, err := provider.New(ctx, o)
	if err != nil {
		return fmt.Errorf("provider %s: %w", name, err)
	}
	p.closers = append(p.closers, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, finishWithin)
		defer cancel()
		return pr.Close(ctx)
	})
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("provider %s: %w", name, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", wrap(pr.Handler()))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug)}
	p.closers = append(p.closers, func(context.Context) error { return srv.Close() })
	p.served.Go(func() { _ = srv.Serve(l) })
	at := ProviderAt{Name: name, URL: "http://" + l.Addr().String() + "/mcp"}
	for _, c := range o.Capabilities {
		at.Capabilities = append(at.Capabilities, c.Info.Name)
	}
	p.At = append(p.At, at)
	return nil
}

// finishWithin is how long simulated tasks may still run at the end: nobody
// waits for their outcome.
const finishWithin = 100 * time.Millisecond

// Close cancels what runs and waits for it, within ctx.
func (p *Providers) Close(ctx context.Context) error {
	var errs []error
	for _, c := range p.closers {
		errs = append(errs, c(ctx))
	}
	p.served.Wait()
	return errors.Join(errs...)
}

// analysts are capabilities that run in this process.
func analysts() []provider.Capability {
	price := func(s string) json.Number { return json.Number(s) }
	capability := func(name, cu string, ms int64, h provider.Handler) provider.Capability {
		return provider.Capability{Info: acmp.Capability{Name: name, PriceCU: price(cu), TimeoutMS: ms}, Handler: h}
	}
	return []provider.Capability{
		capability(capSentiment, "0.003", 30_000, sentiment),
		capability(capReview, "0.012", 120_000, script(900*time.Millisecond, reviewLines)),
		capability(capTranslate, "0.020", 300_000, script(4*time.Second, translateLines)),
		capability(capStuck, "0.001", 300_000, stuck),
		capability(capResearch, "0.050", 300_000, script(1200*time.Millisecond, researchLines)),
	}
}

var reviewLines = []string{
	"reading 14 files, 612 lines changed", "api/charge/handler.go: the key is read before the identity is known",
	"api/charge/handler.go: 2 of 3 error paths return 500 where 409 is meant", "api/charge/store.go: fine",
	"ledger/book/post.go: the batch is not bounded; 64 is only the default", "ledger/book/post_test.go: the clock is real, will flake",
	"docs/charge.md: says 24 h, the code keeps 12 h", "asking a second model", "both agree on the first point",
	"summary: hold the merge for the key order and the 12 h; the rest can follow",
}

var translateLines = []string{
	"docs/auth.md -> de", "docs/charge.md -> de", "docs/hooks.md -> de: 東京 stays as it is", "docs/tariff.md -> de",
	"docs/refund.md -> de", "docs/auth.md -> fr", "docs/charge.md -> fr", "docs/hooks.md -> fr", "docs/tariff.md -> fr",
	"docs/refund.md -> fr", "checking 38 links", "done",
}

var researchLines = []string{"asking three sources", "source 1: 12 pages", "source 2: 4 pages", "source 3: waiting for an answer"}

// text is a chunk of text.
func text(s string) acmp.Payload {
	data, err := json.Marshal(s)
	if err != nil {
		data = []byte(`""`)
	}
	return acmp.Payload{Type: "text", Data: data}
}

// script emits lines at a pace, with progress.
func script(pace time.Duration, lines []string) provider.Handler {
	return func(ctx context.Context, t *provider.Task) (provider.Output, error) {
		for n, line := range lines {
			t.Progress(float64(n)/float64(len(lines)), line)
			if !wait(ctx, pace) {
				return provider.Output{}, context.Cause(ctx)
			}
			emit := t.Emit
			if n == len(lines)-1 {
				emit = t.EmitFinal
			}
			if err := emit(text(line + "\n")); err != nil {
				return provider.Output{}, err
			}
		}
		return provider.Output{TokensUsed: int64(len(lines) * 180)}, nil
	}
}

// sentiment is short and gives its output whole.
func sentiment(ctx context.Context, t *provider.Task) (provider.Output, error) {
	verdicts := []string{"calm and constructive (0.82)", "tense: two people talk past each other (0.41)", "tired, but in agreement (0.63)"}
	for n := range 4 {
		t.Progress(float64(n)/4, fmt.Sprintf("message %d of 4", n+1))
		if !wait(ctx, 500*time.Millisecond) {
			return provider.Output{}, context.Cause(ctx)
		}
	}
	out := text(verdicts[len(t.ID())%len(verdicts)])
	return provider.Output{Payload: &out, TokensUsed: 240}, nil
}

// stuck lives and gets nowhere.
func stuck(ctx context.Context, t *provider.Task) (provider.Output, error) {
	if err := t.Emit(text("linking\n")); err != nil {
		return provider.Output{}, err
	}
	t.Progress(0.97, "linking")
	<-ctx.Done()
	return provider.Output{}, context.Cause(ctx)
}
