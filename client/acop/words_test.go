package acop

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestUnusableAddressesInPlainWords: a certificate that is not trusted, and the wrong
// scheme, are told with the way out.
func TestUnusableAddressesInPlainWords(t *testing.T) {
	t.Parallel()
	quiet := func(s *httptest.Server) *httptest.Server {
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		t.Cleanup(s.Close)
		return s
	}
	secure := quiet(httptest.NewUnstartedServer(http.NotFoundHandler()))
	secure.StartTLS()
	plain := quiet(httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })))
	plain.Start()
	trusting := secure.Client() // trusts the authority, but the name is another one
	for name, tt := range map[string]struct {
		url       string
		with      *http.Client
		want      string
		untrusted bool
	}{
		"unknown authority": {secure.URL, nil, "SSL_CERT_FILE", true},
		"another host":      {strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), trusting, "for another host", true},
		"http to TLS":       {"https" + strings.TrimPrefix(plain.URL, "http"), nil, "http:// ?", false},
		"cut":               {plain.URL, nil, "https:// ?", false},
	} {
		c, err := New(Options{BaseURL: tt.url, HTTPClient: tt.with, Patience: -1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Items(t.Context(), Query{})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, ErrUnreachable) || errors.Is(err, ErrUntrusted) != tt.untrusted {
			t.Errorf("%s: %v, want %q and untrusted %t", name, err, tt.want, tt.untrusted)
		}
	}
}
