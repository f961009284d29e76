package acop

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

// DefaultBasePath is where the binding is served.
const DefaultBasePath = "/acop/v1/"

// Options say what an owner is made of.
type Options struct {
	// Store is the open log; the owner does not close it.
	Store *store.Store
	// Tokens say who may come in. Required.
	Tokens *Tokens
	// Config holds the policies; the zero value means the defaults.
	Config Config
	// Log receives what an operator should know; nil discards it.
	Log *slog.Logger
	// Clock is the time; nil means the machine's.
	Clock Clock
	// BasePath is where the binding is mounted, with a slash at both ends;
	// "" means DefaultBasePath.
	BasePath string
	// AnyHost turns the check of Host off, for owners that are reached from
	// other machines. Origin is always checked.
	AnyHost bool
	// SweepEvery is how often ended leases are written down; 0 means 250 ms.
	SweepEvery time.Duration
	// KeepAlive is how often an idle event stream gets a comment; 0 means 15 s.
	KeepAlive time.Duration
	// answerIn bounds writing an ordinary answer; 0 means answerPatience.
	answerIn time.Duration
	// frameIn bounds one write to one reader of the events; 0 means framePatience.
	frameIn time.Duration
	// Version of the program, shown at /healthz; "" shows none.
	Version string
}

// Server is the owner. It is safe for concurrent use.
type Server struct {
	opts    Options
	service *service
	count   *metrics
	log     *slog.Logger
	base    string
	oidc    *oidcVerifier // nil: only tokens of the list come in

	describe    sync.Once
	description []byte // OpenAPI, made when first asked for

	limits sync.Map // identity -> *limit
	frames frameCache

	closing   chan struct{}
	closeOnce sync.Once
}

// limit is what is remembered of one identity between requests.
type limit struct {
	rate *rate.Limiter

	mu   sync.Mutex
	role core.Role
	seen time.Time
}

// New makes an owner on an open log. It starts nothing: call Run for the
// sweeper and serve Handler.
func New(o Options) (*Server, error) {
	switch {
	case o.Store == nil:
		return nil, errors.New("an owner needs a log")
	case o.Tokens == nil:
		return nil, errors.New("an owner needs tokens")
	}
	if o.BasePath == "" {
		o.BasePath = DefaultBasePath
	}
	if !strings.HasPrefix(o.BasePath, "/") || !strings.HasSuffix(o.BasePath, "/") {
		return nil, errors.New("the base path must begin and end with a slash")
	}
	if err := o.Config.check(); err != nil {
		return nil, err
	}
	o.Config = o.Config.withDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if o.SweepEvery <= 0 {
		o.SweepEvery = 250 * time.Millisecond
	}
	if o.KeepAlive <= 0 {
		o.KeepAlive = 15 * time.Second
	}
	if o.answerIn <= 0 {
		o.answerIn = answerPatience
	}
	if o.frameIn <= 0 {
		o.frameIn = framePatience
	}
	count := &metrics{}
	s := &Server{
		opts: o, count: count, log: o.Log, base: o.BasePath, closing: make(chan struct{}),
		service: &service{
			store: o.Store, clock: newOwnerClock(o.Clock, youngest(o.Store)), policy: o.Config.policy(),
			defaults: o.Config.settings(), log: o.Log, count: count,
		},
	}
	if o.Config.OIDC.On() {
		s.oidc = newOIDC(o.Config.OIDC)
	}
	return s, nil
}

// youngest is the latest instant at which a running lease was granted or renewed: the clock never starts before it, so that nobody gains time by a
// restart with the clock set back (B52).
func youngest(s *store.Store) time.Time {
	var t time.Time
	for _, it := range s.LiveLeases() {
		// Not the end less the term: a renew for a shorter term moves the end not at all.
		for _, at := range []core.Time{it.Lease.Claim.GrantedAtUTC, it.Lease.RenewedAtUTC} {
			if at.Std().After(t) {
				t = at.Std()
			}
		}
	}
	return t
}

// Now is the owner's time.
func (s *Server) Now() time.Time { return s.service.clock.now() }

// Run writes down what ends by time, until ctx ends.
func (s *Server) Run(ctx context.Context) { s.service.sweep(ctx, s.opts.SweepEvery) }

// Close ends the event streams, whose clients resume elsewhere or later. New
// acts are refused with backend_unavailable.
func (s *Server) Close() { s.closeOnce.Do(func() { close(s.closing) }) }

func (s *Server) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// Handler serves the binding, the extensions, the reads and the operation pages.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// allow takes one request of an identity off its rate and remembers the visit.
func (s *Server) allow(c Caller) bool {
	v, known := s.limits.Load(c.Identity)
	if !known {
		rl := s.opts.Config.RateLimit
		v, _ = s.limits.LoadOrStore(c.Identity, &limit{rate: rate.NewLimiter(rate.Limit(rl.PerSecond), rl.Burst)})
	}
	l := v.(*limit)
	l.mu.Lock()
	l.seen, l.role = s.Now(), c.Role
	l.mu.Unlock()
	return l.rate.Allow()
}

// visitors are the identities that asked for something since the owner started.
func (s *Server) visitors() map[string]core.Role {
	out := make(map[string]core.Role)
	s.limits.Range(func(id, v any) bool {
		l := v.(*limit)
		l.mu.Lock()
		defer l.mu.Unlock()
		out[id.(string)] = l.role
		return true
	})
	return out
}

// lastSeen is when an identity last asked for something, zero for never.
func (s *Server) lastSeen(identity string) time.Time {
	v, known := s.limits.Load(identity)
	if !known {
		return time.Time{}
	}
	l := v.(*limit)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}
