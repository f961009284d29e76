package acmp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"signalbox/model/acmp"
)

// live is what a reload replaces as a whole: a task keeps what it began with.
type live struct {
	caps     map[string]*Capability
	settings acmp.Settings
	interval time.Duration
	grace    time.Duration
	// offerValid is how long a quote holds unless less is asked for.
	offerValid   time.Duration
	refuseEscrow bool
}

// prepareAll makes the capabilities of o ready to run. Of old, which may be nil,
// the bounds on parallel tasks stay where they are the same.
func (p *Provider) prepareAll(o *Options, old *live) *live {
	l := &live{caps: map[string]*Capability{}, interval: o.HeartbeatInterval, grace: o.Grace,
		offerValid: min(o.OfferValid, maxOfferValid), refuseEscrow: o.RefuseEscrow}
	if l.grace == 0 {
		l.grace = defaultGrace
	}
	if o.NoStreaming {
		l.interval = 0
	}
	l.settings = acmp.NewSettings(acmp.Features{
		OutputStreaming:     !o.NoStreaming,
		InputStreaming:      !o.NoInputStreaming,
		HeartbeatIntervalMS: l.interval.Milliseconds(),
		TaskMemory:          o.Data != "",
	})
	for _, c := range o.Capabilities {
		var was *Capability
		if old != nil {
			was = old.caps[c.Info.Name]
		}
		ready := p.prepare(c, was)
		l.caps[c.Info.Name] = ready
		l.settings.Features.Capabilities = append(l.settings.Features.Capabilities, ready.Info)
	}
	return l
}

// prepare makes a capability ready to run: a command becomes a handler, the bound
// on parallel tasks goes around it.
func (p *Provider) prepare(c Capability, was *Capability) *Capability {
	if c.Command != nil {
		c.Handler = c.Command.handler(p.runner)
		c.NoInputStream = c.NoInputStream || c.Command.Input == InputNone
		c.Info.Input, c.Info.Output = string(c.Command.Input), string(c.Command.Output)
		c.Info.TimeoutMS = c.Command.Timeout.Milliseconds()
	}
	if c.MaxParallel > 0 {
		if was != nil && cap(was.slots) == c.MaxParallel {
			c.slots = was.slots
		} else {
			c.slots = make(chan struct{}, c.MaxParallel)
		}
		c.Handler = queued(c.Handler, c.slots)
	}
	return &c
}

// queued runs at most as many tasks of h at once as there are slots; the others wait
// within their deadline.
func queued(h Handler, slots chan struct{}) Handler {
	return func(ctx context.Context, t *Task) (Output, error) {
		select {
		case slots <- struct{}{}:
		default:
			t.Progress(-1, fmt.Sprintf("waiting: %d of %d places are taken", cap(slots), cap(slots)))
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

// Reload puts what c says in the place of what was served so far. Tasks that run go on
// as they began, and offers that were made hold; the provider id cannot change. On an
// error nothing has changed. It may be called at any time.
func (p *Provider) Reload(c Config) error {
	o := p.opts
	if c.ProviderID != "" && c.ProviderID != o.ProviderID {
		return fmt.Errorf("the provider id cannot change from %s to %s while it runs; start it again", o.ProviderID, c.ProviderID)
	}
	o.HeartbeatInterval, o.Grace, o.Capabilities = c.HeartbeatInterval, c.Grace, c.Capabilities
	o.RefuseEscrow = c.RefuseEscrow
	if c.OfferValid > 0 {
		o.OfferValid = c.OfferValid
	}
	if err := o.validate(); err != nil {
		return err
	}
	p.live.Store(p.prepareAll(&o, p.live.Load()))
	return nil
}

// liveSettings is the declaration as server/discover shows it, whatever it is by
// then.
type liveSettings struct{ p *Provider }

// MarshalJSON implements json.Marshaler.
func (l liveSettings) MarshalJSON() ([]byte, error) { return json.Marshal(l.p.Settings()) }
