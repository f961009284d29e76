package acmp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
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
	opts     Options
	log      *slog.Logger
	settings acmp.Settings
	caps     map[string]*Capability
	table    *table
	server   *mcp.Server // answers on HTTP
	handler  http.Handler
	runner   *runner

	life      context.Context // parent of the tasks'
	end       context.CancelFunc
	closeOnce sync.Once
}

// New checks opts and makes a provider that is ready to serve. Its Close must be
// called.
func New(opts Options) (*Provider, error) {
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
	p := &Provider{opts: opts, log: opts.Log, caps: map[string]*Capability{}, table: newTable(opts.Limits)}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.life, p.end = context.WithCancel(context.Background()) // ends with Close
	p.runner = newRunner(opts.Watchdog, p.log)
	for _, c := range opts.Capabilities {
		p.caps[c.Info.Name] = p.prepare(c)
	}
	p.settings = p.declare()
	p.server = p.newServer(invokeOverHTTP(p))
	p.handler = p.newFront()
	return p, nil
}

// prepare makes a capability ready to run: a command becomes a handler, the bound
// on parallel tasks goes around it.
func (p *Provider) prepare(c Capability) *Capability {
	if c.Command != nil {
		c.Handler = c.Command.handler(p.runner)
		c.NoInputStream = c.NoInputStream || c.Command.Input == InputNone
		c.Info.Input, c.Info.Output = string(c.Command.Input), string(c.Command.Output)
		c.Info.TimeoutMS = c.Command.Timeout.Milliseconds()
	}
	if c.MaxParallel > 0 {
		c.Handler = queued(c.Handler, c.MaxParallel)
	}
	return &c
}

// queued runs at most n tasks of h at once; the others wait within their deadline.
func queued(h Handler, n int) Handler {
	slots := make(chan struct{}, n)
	return func(ctx context.Context, t *Task) (Output, error) {
		select {
		case slots <- struct{}{}:
		default:
			t.Progress(-1, fmt.Sprintf("waiting: %d of %d already run", n, n))
			select {
			case slots <- struct{}{}:
				t.Progress(-1, "")
			case <-ctx.Done():
				return Output{}, context.Cause(ctx)
			}
		}
		defer func() { <-slots }()
		return h(ctx, t)
	}
}

// declare makes the capability declaration (section 1, A-007 to A-014).
func (p *Provider) declare() acmp.Settings {
	s := acmp.NewSettings(acmp.Features{
		OutputStreaming:     !p.opts.NoStreaming,
		InputStreaming:      !p.opts.NoInputStreaming,
		HeartbeatIntervalMS: p.opts.HeartbeatInterval.Milliseconds(),
	})
	for _, c := range p.opts.Capabilities {
		s.Features.Capabilities = append(s.Features.Capabilities, p.caps[c.Info.Name].Info)
	}
	return s
}

// newServer makes an MCP server whose acmp/invoke is served by invoke.
func (p *Provider) newServer(invoke invokeFunc) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "signalbox", Version: acmp.Version}, &mcp.ServerOptions{
		Logger: slog.New(slog.DiscardHandler), // the SDK logs whole messages
		Capabilities: &mcp.ServerCapabilities{
			Extensions: map[string]any{acmp.ExtensionID: p.settings},
		},
		SupportedProtocolVersions: []string{protocolVersion},
	})
	if err := mcp.AddReceivingCustomMethod(s, acmp.MethodInvoke, invoke); err != nil {
		panic(err) // the name is a constant
	}
	return s
}

// Settings is the capability declaration as server/discover shows it.
func (p *Provider) Settings() acmp.Settings { return p.settings }

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
	defer p.runner.close()
	last := time.NewTimer(p.opts.Limits.HandlerStopTime)
	defer last.Stop()
	for _, t := range tasks {
		select {
		case <-t.returned:
		case <-last.C:
			return fmt.Errorf("task %s: its handler is still running", t.id)
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

// Describe gives the descriptor for endpoint, a URL or "stdio".
func (p *Provider) Describe(endpoint string) Descriptor {
	return Descriptor{Endpoint: strings.TrimSpace(endpoint), ProviderID: p.opts.ProviderID, ACMP: p.settings}
}
