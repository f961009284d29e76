package acop

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/time/rate"

	core "signalbox/model/acop"
)

// OIDCConfig says which identity provider's tokens are taken and what they are
// good for. An empty Issuer means none.
type OIDCConfig struct {
	Issuer   string `yaml:"issuer"`
	Audience string `yaml:"audience"`
	// IdentityClaim names the claim that is the identity; "" means sub.
	IdentityClaim string `yaml:"identity_claim"`
	// RoleClaim names the claim with the role or a list of them; "" means roles.
	RoleClaim string `yaml:"role_claim"`
	// Roles maps values of that claim to roles. Empty means that the values are
	// the roles' own names.
	Roles map[string]core.Role `yaml:"roles"`
}

// On tells whether an identity provider is configured.
func (c OIDCConfig) On() bool { return c.Issuer != "" }

func (c OIDCConfig) check() error {
	if !c.On() {
		if c.Audience != "" || c.RoleClaim != "" || c.IdentityClaim != "" || len(c.Roles) > 0 {
			return errors.New("oidc needs an issuer")
		}
		return nil
	}
	u, err := url.Parse(c.Issuer)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Host)) {
		return errors.New("the OIDC issuer must be an https URL (http only on this machine)")
	}
	if c.Audience == "" {
		return errors.New("oidc needs an audience; without one, tokens made for others would be taken")
	}
	for v, r := range c.Roles {
		if !r.Valid() {
			return fmt.Errorf("oidc: %q is mapped to the unknown role %q", v, r)
		}
	}
	return nil
}

const (
	oidcPatience = 5 * time.Second // for the identity provider to answer
	oidcPause    = 5 * time.Second // after it could not be reached
	oidcKept     = 10_000          // verified tokens that are remembered
)

// oidcVerifier checks identity tokens. It asks the provider for its keys when
// they are first needed, so that the owner starts without it. It is safe for
// concurrent use.
type oidcVerifier struct {
	conf OIDCConfig
	now  func() time.Time
	// fresh bounds the tokens that are checked anew, since anybody can send one.
	fresh *rate.Limiter

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
	failed   time.Time
	known    map[[sha256.Size]byte]knownToken
}

type knownToken struct {
	caller Caller
	until  time.Time
}

func newOIDC(c OIDCConfig) *oidcVerifier {
	return &oidcVerifier{conf: c, now: time.Now, fresh: rate.NewLimiter(50, 100), known: make(map[[sha256.Size]byte]knownToken)}
}

// looksLikeJWT tells an identity token from a bearer token of a tokens file.
func looksLikeJWT(token string) bool { return strings.Count(token, ".") == 2 }

// lookup verifies a token. Signature, issuer, audience and term are checked;
// every failure looks the same from outside.
func (o *oidcVerifier) lookup(ctx context.Context, token string) (Caller, *core.Error) {
	hash := sha256.Sum256([]byte(token))
	o.mu.Lock()
	k, seen := o.known[hash]
	o.mu.Unlock()
	if seen && o.now().Before(k.until) {
		return k.caller, nil
	}
	if !o.fresh.Allow() {
		e := core.Errorf(core.CodeRateLimited, "too many new identity tokens")
		e.RetryAfterSeconds = 1
		return Caller{}, e
	}
	v, err := o.provider(ctx)
	if err != nil {
		e := unavailable("the identity provider cannot be reached; ask again")
		e.RetryAfterSeconds = int64(oidcPause / time.Second)
		return Caller{}, e
	}
	ctx, cancel := context.WithTimeout(ctx, oidcPatience)
	defer cancel()
	t, err := v.Verify(ctx, token)
	if err != nil {
		return Caller{}, unauthenticated()
	}
	c, refused := o.caller(t)
	if refused != nil {
		return Caller{}, refused
	}
	o.keep(hash, knownToken{c, t.Expiry})
	return c, nil
}

// provider finds the provider's keys once.
func (o *oidcVerifier) provider(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.verifier != nil {
		return o.verifier, nil
	}
	if o.now().Sub(o.failed) < oidcPause {
		return nil, errors.New("the identity provider could not be reached a moment ago")
	}
	// The context given here is used for fetching keys later on, too.
	ctx = oidc.ClientContext(context.WithoutCancel(ctx), &http.Client{Timeout: oidcPatience})
	p, err := oidc.NewProvider(ctx, o.conf.Issuer)
	if err != nil {
		o.failed = o.now()
		return nil, err
	}
	o.verifier = p.Verifier(&oidc.Config{ClientID: o.conf.Audience, Now: func() time.Time { return o.now() }})
	return o.verifier, nil
}

func (o *oidcVerifier) keep(hash [sha256.Size]byte, k knownToken) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.known) >= oidcKept {
		now := o.now()
		for h, old := range o.known {
			if !now.Before(old.until) {
				delete(o.known, h)
			}
		}
	}
	if len(o.known) < oidcKept {
		o.known[hash] = k
	}
}

// caller reads identity and role from the claims of a verified token.
func (o *oidcVerifier) caller(t *oidc.IDToken) (Caller, *core.Error) {
	var claims map[string]any
	if t.Claims(&claims) != nil {
		return Caller{}, unauthenticated()
	}
	id := t.Subject
	if o.conf.IdentityClaim != "" {
		id, _ = claims[o.conf.IdentityClaim].(string)
	}
	if checkIdentity(id) != nil {
		return Caller{}, unauthenticated()
	}
	role, found := o.role(claims)
	if !found {
		return Caller{}, core.Errorf(core.CodeForbidden, "the identity token gives no role at this owner").With("reason", "role")
	}
	return Caller{Identity: id, Role: role}, nil
}

// role picks the strongest role that the claim gives.
func (o *oidcVerifier) role(claims map[string]any) (core.Role, bool) {
	name := o.conf.RoleClaim
	if name == "" {
		name = "roles"
	}
	var values []string
	switch v := claims[name].(type) {
	case string:
		values = strings.Fields(v)
	case []any:
		for _, e := range v {
			if s, isText := e.(string); isText {
				values = append(values, s)
			}
		}
	}
	best, found := core.Role(""), false
	for _, v := range values {
		r, mapped := o.conf.Roles[v]
		if len(o.conf.Roles) == 0 {
			r, mapped = core.Role(v), core.Role(v).Valid()
		}
		if mapped && (!found || roleRank[r] > roleRank[best]) {
			best, found = r, true
		}
	}
	return best, found
}

// roleRank orders the roles by what they may do, where a token gives several.
var roleRank = map[core.Role]int{core.RoleReader: 0, core.RoleProducer: 1, core.RoleWorker: 2, core.RoleOrchestrator: 3, core.RoleLead: 4}

func unauthenticated() *core.Error {
	return core.Errorf(core.CodeUnauthenticated, "a valid bearer token is needed")
}
