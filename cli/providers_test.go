package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	buyer "signalbox/client/acmp"
)

// A-151, 5.1: a token comes out of its file or the environment without the blanks
// around it, as a provider gets it; one that cannot be meant is refused with the
// place where it stands and without the token.
func TestProviderTokens(t *testing.T) {
	got := make(chan string, 16)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Authorization")
		w.WriteHeader(http.StatusForbidden)
	}))
	defer srv.Close()
	cases := []struct {
		raw, want string // want "": refused
	}{
		{"SECRET123", "Bearer SECRET123"},
		{" \tSECRET123\r\n\n", "Bearer SECRET123"},
		{"\n", ""},
		{"SECRET123 SECRET123", ""},
		{"SECRET123\nSECRET123\n", ""},
		{"SECRET123\x00", ""},
		{"SECRET123\x1b[2J", ""},
		{"SECRETé", ""},
	}
	for _, c := range cases {
		for _, fromFile := range []bool{true, false} {
			g, where := providerWithToken(t, srv.URL, c.raw, fromFile)
			specs, err := g.loadProviders(false)
			if c.want == "" {
				if err == nil || !strings.Contains(err.Error(), where) || strings.Contains(err.Error(), "SECRET") {
					t.Errorf("%q, file %t: %v", c.raw, fromFile, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%q, file %t: %v", c.raw, fromFile, err)
				continue
			}
			b, err := buyer.New(buyer.Options{Providers: specs, ProbeEvery: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			select {
			case token := <-got:
				if token != c.want {
					t.Errorf("%q, file %t: the provider got %q", c.raw, fromFile, token)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("%q, file %t: the provider got nothing", c.raw, fromFile)
			}
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
			for len(got) > 0 {
				<-got
			}
		}
	}
}

// providerWithToken is a program whose provider p, at url, gets raw as its token: from a file
// or from the environment. where is the name of the one or the other.
func providerWithToken(t *testing.T, url, raw string, fromFile bool) (g *globals, where string) {
	t.Helper()
	dir := t.TempDir()
	where, env := envBearerToken, map[string]string{envBearerToken: raw}
	conf := "providers:\n  - name: p\n    url: " + url + "\n"
	if fromFile {
		where, env = filepath.Join(dir, "tok"), nil
		conf += "    token_file: tok\n"
		if err := os.WriteFile(where, []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g = &globals{config: filepath.Join(dir, "c.yaml")}
	if err := os.WriteFile(g.config, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	g.sys.Env = func(k string) string { return env[k] }
	return g, where
}
