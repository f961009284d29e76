package cli

import (
	"context"
	"sync"
	"time"

	buyer "signalbox/client/acmp"
	"signalbox/model/acmp"
	"signalbox/model/text"
)

// checkProviders asks every provider what it offers, all at once.
func (d *doctor) checkProviders(ctx context.Context) {
	specs, err := d.g.loadProviders(false)
	if err != nil {
		if _, confErr := d.g.loadConfig(); confErr == nil { // else said with the config
			d.fail("provider", "correct it; nothing is asked of the others until then", "%s", err)
		}
		return
	}
	if len(specs) == 0 {
		d.ok("provider", "none is named; --provider or the configuration names them")
		return
	}
	var mu sync.Mutex
	seen := map[string]acmp.Provider{}
	b, err := buyer.New(buyer.Options{
		Providers: specs, NoReattach: true, Watchdog: watchdogArgv(), Version: build().Version,
		ConnectTimeout: doctorPatience, ProbeEvery: time.Hour,
		ProviderSeen: func(p acmp.Provider) {
			mu.Lock()
			defer mu.Unlock()
			seen[p.Name] = p
		},
	})
	if err != nil {
		d.fail("provider", "correct --provider or the configuration", "%s", err)
		return
	}
	found := make([]providerAnswer, len(specs))
	var wg sync.WaitGroup
	for i, s := range specs {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, 2*doctorPatience)
			defer cancel()
			found[i].settings, found[i].err = b.Settings(ctx, s.Name)
		})
	}
	wg.Wait()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), doctorPatience)
	defer cancel()
	_ = b.Close(end)
	mu.Lock()
	defer mu.Unlock()
	for i, s := range specs {
		d.judgeProvider(s, seen[s.Name], found[i])
	}
}

// providerAnswer is what came of asking one provider.
type providerAnswer struct {
	settings *acmp.Settings
	err      error
}

func (d *doctor) judgeProvider(s buyer.ProviderSpec, seen acmp.Provider, a providerAnswer) {
	at := text.ID(s.Name) + " at " + text.Clip(text.Line(s.Endpoint()), cellText)
	start := "start it, or correct its url"
	if s.URL == "" {
		start = "run its command by hand to see why, or correct it"
	}
	switch {
	case a.err == nil && len(a.settings.Features.Capabilities) == 0:
		d.ok("provider", "%s answers; it does not list its capabilities", at)
	case a.err == nil:
		d.ok("provider", "%s has %s", at, plural(len(a.settings.Features.Capabilities), "capability", "capabilities"))
	case seen.Reachable != nil && *seen.Reachable:
		// It speaks MCP, but not what is needed.
		d.fail("provider", "name an ACMP provider of version 0.1.x, or take it out", "%s cannot be used: %s", at, firstOf(seen.Problem, a.err.Error()))
	default:
		d.fail("provider", start+"; check its token_file", "%s does not answer: %s", at, firstOf(seen.Problem, a.err.Error()))
	}
}
