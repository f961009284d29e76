package acmp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs certificates and writes them as PEM files.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	n    int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir(), n: 1}
	a.cert, a.key = a.make(t, "ca", &x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// make writes NAME.pem and NAME.key.
func (a *authority) make(t *testing.T, name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a.n++
	c.SerialNumber, c.Subject = big.NewInt(a.n), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(a.path(file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// serve gives the URL of a provider that demands a client certificate of a.
func (a *authority) serve(t *testing.T) (*fakeProvider, string) {
	t.Helper()
	a.make(t, "server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	pair, err := tls.LoadX509KeyPair(a.path("server.pem"), a.path("server.key"))
	if err != nil {
		t.Fatal(err)
	}
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { w.output("secret work") })
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	srv := httptest.NewUnstartedServer(p)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return p, srv.URL
}

// with client_cert, client_key and ca_file the buyer speaks mutual TLS,
// and the bearer token still goes with each request.
func TestMutualTLS(t *testing.T) {
	a := newAuthority(t)
	p, url := a.serve(t)
	a.make(t, "client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	b, rec := newBuyer(t, url, func(o *Options) {
		s := &o.Providers[0]
		s.ClientCert, s.ClientKey, s.CAFile, s.Token = a.path("client.pem"), a.path("client.key"), a.path("ca.pem"), NewSecret("SECRET123")
	})
	id := invoke(t, b, invocation(nil))
	if end := last(rec.outcome(t, id)); end.Err != nil {
		t.Fatalf("outcome %+v", end.Err)
	}
	for _, r := range p.all() {
		if r.Header.Get("Authorization") != "Bearer SECRET123" {
			t.Errorf("%s came without the token", r.Method)
		}
	}
}

// What is wrong with certificates is said in words that name the setting.
func TestTLSFaults(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	_, url := a.serve(t)
	a.make(t, "client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	other.make(t, "client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	for name, c := range map[string]struct {
		spec ProviderSpec
		want string
	}{
		"no client certificate": {ProviderSpec{CAFile: a.path("ca.pem")}, "client_cert"},
		"foreign certificate":   {ProviderSpec{CAFile: a.path("ca.pem"), ClientCert: other.path("client.pem"), ClientKey: other.path("client.key")}, "client_cert"},
		"server not trusted":    {ProviderSpec{CAFile: other.path("ca.pem")}, "ca_file"},
	} {
		c.spec.Name, c.spec.URL = "p", url
		b, rec := newBuyer(t, "", func(o *Options) { o.Providers = []ProviderSpec{c.spec} })
		_, err := b.Settings(t.Context(), "p")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if got := rec.lastProvider(); !strings.Contains(got.Problem, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, s := range map[string]ProviderSpec{
		"no key":           {URL: url, ClientCert: a.path("client.pem")},
		"not https":        {URL: "http://127.0.0.1:1/", CAFile: a.path("ca.pem")},
		"on stdio":         {Command: []string{"x"}, CAFile: a.path("ca.pem")},
		"no such file":     {URL: url, CAFile: a.path("none.pem")},
		"no certificate":   {URL: url, CAFile: a.path("ca.key")},
		"key of another":   {URL: url, ClientCert: a.path("client.pem"), ClientKey: a.path("server.key")},
		"key not readable": {URL: url, ClientCert: a.path("client.pem"), ClientKey: a.path("none.key")},
	} {
		s.Name = "p"
		if b, err := New(Options{Providers: []ProviderSpec{s}}); err == nil {
			t.Errorf("%s: accepted", name)
			_ = b.Close(t.Context())
		}
	}
}
