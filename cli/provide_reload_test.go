package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// awaitText polls until the log holds text.
func awaitText(t *testing.T, p *provided, text string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(p.log.String(), text); {
		if time.Now().After(end) {
			t.Fatalf("the log does not say %q: %s", text, p.log.String())
		}
		<-time.After(5 * time.Millisecond)
	}
}

func bodyOf(t *testing.T, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// SIGHUP takes a new configuration; a bad one leaves the old in use and is said;
// what runs goes on.
func TestProvideReloads(t *testing.T) {
	config := provideFile(t, "caps.yaml", capabilitiesYAML)
	p := startProvideWith(t, config)
	running := p.post(t, rawInvoke("task_over_reload", "short"))
	chunkTexts(t, running.Body, 1)
	rewrite := func(text, says string) {
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		awaitText(t, p, says)
	}
	rewrite("provider_id: agent:test:here\ncapabilities:\n  - name: cat\n    comand: [cat]\n", `caps.yaml:4: a capability has no key \"comand\"`)
	if body := bodyOf(t, p.post(t, rawInvoke("task_old", "cat"))); !strings.Contains(body, `"result"`) {
		t.Errorf("the old capability: %s", body)
	}
	rewrite("provider_id: agent:test:there\ncapabilities:\n  - name: dog\n    command: [cat]\n", "cannot change")
	rewrite("provider_id: agent:test:here\ncapabilities:\n  - name: dog\n    command: [cat]\n", "read again")
	if body := bodyOf(t, p.post(t, rawInvoke("task_new", "dog"))); !strings.Contains(body, `"result"`) {
		t.Errorf("the new capability: %s", body)
	}
	if body := bodyOf(t, p.post(t, rawInvoke("task_gone", "cat"))); !strings.Contains(body, "-33002") {
		t.Errorf("the capability that is gone: %s", body)
	}
	if body := bodyOf(t, running); !strings.Contains(body, `"done\n"`) {
		t.Errorf("the task that ran: %s", body)
	}
}

// D-12, B39: kill -9 in the middle of a task; the next process answers for it without
// running it again, and for the finished one with its outcome.
func TestProvideDataOutlivesKill(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	p := startProvide(t, "--data", data)
	first := bodyOf(t, p.post(t, rawInvoke("task_done", "cat")))
	res := p.post(t, rawInvoke("task_running", "family"))
	chunkTexts(t, res.Body, 1)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait() // killed
	p = startProvide(t, "--data", data)
	if body := bodyOf(t, p.post(t, rawInvoke("task_done", "cat"))); body != first {
		t.Errorf("before %s\nafter %s", first, body)
	}
	if body := bodyOf(t, p.post(t, rawInvoke("task_running", "family"))); !strings.Contains(body, "-33099") || !strings.Contains(body, "not run again") {
		t.Errorf("the task that ran: %s", body)
	}
}

// testAuthority is a certificate authority of a test.
type testAuthority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newTestAuthority(t *testing.T) *testAuthority {
	t.Helper()
	a := &testAuthority{}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour)}
	a.key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &a.key.PublicKey, a.key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// issue gives a certificate for this machine and its key, both as PEM.
func (a *testAuthority) issue(t *testing.T) (cert, key string) {
	t.Helper()
	k, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

// TLS, and a client certificate that is asked for besides the token,
// not instead of it.
func TestProvideMutualTLS(t *testing.T) {
	ca := newTestAuthority(t)
	cert, key := ca.issue(t)
	tokens := provideFile(t, "tokens.yaml", "- identity: alice\n  role: worker\n  token: SECRET123-SECRET123\n")
	p := startProvide(t, "--tokens", tokens, "--tls-cert", provideFile(t, "cert.pem", cert), "--tls-key", provideFile(t, "key.pem", key),
		"--client-ca", provideFile(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw}))))
	if !strings.HasPrefix(p.url, "https://127.0.0.1:") {
		t.Fatalf("url %s", p.url)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	client := func(certs ...tls.Certificate) *http.Client {
		return &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: certs}}}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer SECRET123-SECRET123")
	if res, err := client().Do(req); err == nil {
		res.Body.Close()
		t.Errorf("without a certificate: status %d", res.StatusCode)
	}
	cc, ck := ca.issue(t)
	pair, err := tls.X509KeyPair([]byte(cc), []byte(ck))
	if err != nil {
		t.Fatal(err)
	}
	p.client = client(pair)
	if res := p.post(t, rawInvoke("task_no_token", "cat")); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: status %d", res.StatusCode)
	}
	if body := bodyOf(t, p.post(t, rawInvoke("task_both", "cat"), "Authorization", "Bearer SECRET123-SECRET123")); !strings.Contains(body, `"result"`) {
		t.Errorf("with both: %s", body)
	}
	if strings.Contains(p.log.String(), "SECRET") {
		t.Error("a token is in the log")
	}
}
