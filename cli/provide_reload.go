package cli

import (
	"log/slog"
	"sync/atomic"

	"signalbox/server/acmp"
	"signalbox/server/acop"
)

// provideKeys are what lets callers in: tokens and certificates, which can be
// renewed while the provider runs.
type provideKeys struct {
	path   string
	weak   tokenWarner
	tokens atomic.Pointer[acop.Tokens] // nil: no token is asked for
	tls    *acop.TLS                   // nil: plain HTTP
}

// scheme is how the endpoint is reached.
func (f *provideFlags) scheme() string {
	if f.tls.On() {
		return "https://"
	}
	return "http://"
}

func (f *provideFlags) loadKeys() (*provideKeys, error) {
	k := &provideKeys{path: f.tokens}
	if f.tls != (acop.TLSFiles{}) {
		t, err := acop.NewTLS(f.tls)
		if err != nil {
			return nil, failf(exitUsage, "%w", err)
		}
		k.tls = t
	}
	if err := k.loadTokens(); err != nil {
		return nil, failf(exitUsage, "%w", err)
	}
	return k, nil
}

func (k *provideKeys) loadTokens() error {
	if k.path == "" {
		return nil
	}
	t, err := loadTokens(k.path)
	if err != nil {
		return err
	}
	k.tokens.Store(t)
	return nil
}

// warn says what is wrong with the tokens file although it is in use.
func (k *provideKeys) warn(log *slog.Logger) {
	if t := k.tokens.Load(); t != nil {
		k.weak.look(k.path, t, log)
	}
}

// principal names who a token belongs to.
func (k *provideKeys) principal(token string) (string, bool) {
	return k.tokens.Load().Principal(token)
}

// reloadOnHangup reads everything again at SIGHUP until the function it gives is
// called.
func (g *globals) reloadOnHangup(p *acmp.Provider, keys *provideKeys, hup *hangUps, log *slog.Logger) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-hup.reload:
				g.reloadProvider(p, keys, log)
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// reloadProvider takes what is valid of the files; what is not leaves the old in
// use, and is said.
func (g *globals) reloadProvider(p *acmp.Provider, keys *provideKeys, log *slog.Logger) {
	conf, err := acmp.LoadConfig(g.config)
	if err == nil {
		err = p.Reload(conf)
	}
	if err != nil {
		log.Error("the configuration stays as it was", "err", err)
	} else {
		log.Info("the configuration was read again", "capabilities", len(conf.Capabilities))
	}
	if err := keys.loadTokens(); err != nil {
		log.Error("the tokens stay as they were", "err", err)
	}
	keys.warn(log)
	if keys.tls != nil {
		if err := keys.tls.Reload(); err != nil {
			log.Error("the certificates stay as they were", "err", err)
		}
	}
}
