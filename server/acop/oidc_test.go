package acop

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	core "signalbox/model/acop"
)

// issuer is a real OpenID Connect issuer on a socket of its own.
type issuer struct {
	*httptest.Server
	key  *ecdsa.PrivateKey
	down atomic.Bool
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &issuer{key: key}
	mux := http.NewServeMux()
	answer := func(path string, body func() any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			if is.down.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(body())
		})
	}
	answer("/.well-known/openid-configuration", func() any {
		return m{"issuer": is.URL, "jwks_uri": is.URL + "/keys", "authorization_endpoint": is.URL + "/auth", "token_endpoint": is.URL + "/token",
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
			"id_token_signing_alg_values_supported": []string{"ES256"}}
	})
	answer("/keys", func() any {
		return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "k1", Algorithm: "ES256", Use: "sig"}}}
	})
	is.Server = httptest.NewServer(mux)
	t.Cleanup(is.Close)
	return is
}

// token signs claims over good defaults with key.
func (is *issuer) token(t *testing.T, key *ecdsa.PrivateKey, more m) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	claims := m{"iss": is.URL, "aud": "signalbox", "sub": "ada", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(), "groups": []string{"devs"}}
	for k, v := range more {
		claims[k] = v
	}
	raw, err := jwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestIdentityTokens lets in whom an identity provider vouches for, with the
// role that its claim is mapped to, and nobody else (H-073, H-076, B105).
func TestIdentityTokens(t *testing.T) {
	t.Parallel()
	is := newIssuer(t)
	b := newBox(t, func(o *Options) {
		o.Config.OIDC = OIDCConfig{Issuer: is.URL, Audience: "signalbox", RoleClaim: "groups",
			Roles: map[string]core.Role{"devs": core.RoleWorker, "leads": core.RoleLead}}
	})
	ask := func(token string) reply {
		return b.do("GET", "snapshot", "", nil, header{"Authorization": "Bearer " + token})
	}
	good := is.token(t, is.key, nil)
	is.down.Store(true)
	r := ask(good)
	b.want(r, 503, "backend_unavailable")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After while the provider is down")
	}
	is.down.Store(false)
	b.owner.oidc.mu.Lock()
	b.owner.oidc.failed = time.Time{}
	b.owner.oidc.mu.Unlock()

	r = ask(good)
	b.want(r, 200, "")
	if r.text("identity") != "ada" || r.text("role") != "worker" {
		t.Fatalf("came in as %s, %s", r.text("identity"), r.text("role"))
	}
	if r := ask(is.token(t, is.key, m{"sub": "eve", "groups": []string{"devs", "leads"}})); r.text("role") != "lead" {
		t.Fatalf("with two roles: %s", r.raw)
	}
	b.want(ask(is.token(t, is.key, m{"groups": "strangers"})), 403, "forbidden")
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(good, ".")
	bad := map[string]string{
		"another key":      is.token(t, other, nil),
		"another audience": is.token(t, is.key, m{"aud": "others"}),
		"another issuer":   is.token(t, is.key, m{"iss": "https://id.example"}),
		"expired":          is.token(t, is.key, m{"exp": time.Now().Add(-time.Minute).Unix()}),
		"no signature":     parts[0] + "." + parts[1] + ".",
		"no subject":       is.token(t, is.key, m{"sub": ""}),
		"the owner itself": is.token(t, is.key, m{"sub": ownerActor}),
		"not a token":      "a.b.c",
	}
	for name, token := range bad {
		r := ask(token)
		if r.status != 401 || r.code() != "unauthenticated" || r.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: %d %s", name, r.status, r.raw)
		}
	}
	b.put("w", nil, nil)
	r = b.do("POST", "claims", "", claimBody("w", "ada", 60), header{"Authorization": "Bearer " + good})
	b.want(r, 201, "")
	fresh := is.token(t, is.key, m{"iat": time.Now().Unix(), "exp": time.Now().Add(2 * time.Hour).Unix()})
	if fresh == good {
		t.Fatal("the second token is the first one")
	}
	r = b.verb("claims", r.text("claim.claim_id"), "renew", "", nil, header{"Authorization": "Bearer " + fresh})
	b.want(r, 200, "") // a new token of the same subject is the same holder (E-05)
	found := false
	for _, a := range b.do("GET", "agents", "lead-01", nil).at("agents").([]any) {
		found = found || a.(m)["identity"] == "ada" && a.(m)["role"] == "worker"
	}
	if !found {
		t.Error("who came in by an identity token is not among the agents")
	}
	if strings.Contains(b.logged.String(), parts[2]) {
		t.Error("the log shows a token")
	}
	// A remembered token is good no longer than it says.
	b.owner.oidc.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	b.want(ask(good), 401, "unauthenticated")
}

// TestIdentityTokenSettings refuses what would let too many in.
func TestIdentityTokenSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []OIDCConfig{
		{Issuer: "https://id.example"}, {Issuer: "http://id.example", Audience: "a"}, {Issuer: "id", Audience: "a"}, {Audience: "a"},
		{Issuer: "https://id.example", Audience: "a", Roles: map[string]core.Role{"x": "boss"}},
	} {
		if (&Config{OIDC: c}).check() == nil {
			t.Errorf("taken: %+v", c)
		}
	}
	for _, f := range []TLSFiles{{Cert: "c"}, {Key: "k"}, {ClientCA: "ca"}} {
		if (&Config{TLS: f}).check() == nil {
			t.Errorf("taken: %+v", f)
		}
	}
}
