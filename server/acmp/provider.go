package acmp

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"signalbox/model/acmp"
)

// protocolVersion is the MCP revision that is spoken, and the only one.
const protocolVersion = "2026-07-28"

// defaultGrace is how long a task lives without a caller (D-01).
const defaultGrace = 30 * time.Second

// Provider serves capabilities. Make one with [New].
type Provider struct {
	opts    Options
	log     *slog.Logger
	live    atomic.Pointer[live] // replaced by Reload, never changed
	offers  *offers              // nil: layer 6 is not served
	journal *journal             // nil without a data folder
	table   *table
	server  *mcp.Server // answers on HTTP
	handler http.Handler
	runner  *runner
	held    atomic.Int64 // output held of running tasks, in bytes

	life      context.Context // parent of the tasks'
	end       context.CancelFunc
	closeOnce sync.Once
}

// New checks opts and makes a provider that is ready to serve. It lives until Close,
// which must be called, whenever ctx ends: what runs is given its time there.
func New(ctx context.Context, opts Options) (*Provider, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	if opts.Grace == 0 {
		opts.Grace = defaultGrace
	}
	if opts.NoStreaming {
		opts.HeartbeatInterval = 0
	}
	opts.Limits.setDefaults()
	p := &Provider{opts: opts, log: opts.Log, table: newTable(opts.Limits)}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.life, p.end = context.WithCancel(context.WithoutCancel(ctx))
	if opts.OfferValid > 0 {
		p.offers = newOffers(opts.Limits)
	}
	if err := p.remember(); err != nil {
		p.end()
		return nil, err
	}
	p.runner = newRunner(opts.Watchdog, p.log)
	p.live.Store(p.prepareAll(&opts, nil))
	p.server = p.newServer()
	p.handler = p.newFront()
	return p, nil
}

// newServer makes the MCP server that answers all that is not ACMP's. It bears the
// provider's id, so that a buyer knows who answers before the first result.
func (p *Provider) newServer() *mcp.Server {
	self := &mcp.Implementation{Name: cmp.Or(p.opts.ProviderID, "signalbox"), Version: cmp.Or(p.opts.Version, "dev")}
	return mcp.NewServer(self, &mcp.ServerOptions{
		Logger: slog.New(slog.DiscardHandler), // the SDK logs whole messages
		Capabilities: &mcp.ServerCapabilities{
			Extensions: map[string]any{acmp.ExtensionID: liveSettings{p}},
		},
		SupportedProtocolVersions: []string{protocolVersion},
	})
}

// Settings is the capability declaration as server/discover shows it.
func (p *Provider) Settings() acmp.Settings { return p.live.Load().settings }

// Handler serves MCP over Streamable HTTP at whatever path it is mounted on. Its
// http.Server must not have a WriteTimeout.
func (p *Provider) Handler() http.Handler { return p.handler }

// Close stops the provider: no further task is taken, those that run are given
// until ctx ends to finish, then they are cancelled, and their processes are
// waited for. It may be called more than once.
func (p *Provider) Close(ctx context.Context) error {
	var err error
	p.closeOnce.Do(func() { err = p.close(ctx) })
	return err
}

func (p *Provider) close(ctx context.Context) error {
	tasks := p.table.close()
	for _, t := range tasks {
		select {
		case <-t.ctx.Done():
		case <-ctx.Done():
			t.finish(cancelledError(t.id, errClosing.Error()), errClosing)
		}
	}
	defer p.end()
	if p.journal != nil {
		defer p.journal.close()
	}
	defer p.runner.close()
	last := time.NewTimer(p.opts.Limits.HandlerStopTime)
	defer last.Stop()
	for _, t := range tasks {
		select {
		case <-t.returned:
		case <-last.C:
			return fmt.Errorf("task %s: its handler is still running", t.id)
		}
		select {
		case <-t.recorded:
		case <-last.C:
			return fmt.Errorf("task %s: its outcome is not recorded", t.id)
		}
	}
	return nil
}

// Descriptor is the endpoint and the capability declaration as a layer-5 descriptor
// needs them.
type Descriptor struct {
	Endpoint   string        `json:"endpoint,omitempty"`
	ProviderID string        `json:"provider_id,omitempty"`
	ACMP       acmp.Settings `json:"acmp"`
}

// Describe gives the descriptor of the provider that [New] would make of opts, for
// endpoint: a URL, "stdio", or "" where it is not known. Nothing is started, and
// nothing made on disk.
func Describe(opts Options, endpoint string) (Descriptor, error) {
	if err := opts.validate(); err != nil {
		return Descriptor{}, err
	}
	p := &Provider{opts: opts}
	return Descriptor{Endpoint: strings.TrimSpace(endpoint), ProviderID: opts.ProviderID, ACMP: p.prepareAll(&opts, nil).settings}, nil
}
