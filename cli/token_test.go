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
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	owner "signalbox/server/acop"
)

// soon polls until f holds.
func soon(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !f(); {
		if time.Now().After(deadline) {
			t.Fatal("did not happen in time: " + what)
		}
		tick := time.NewTimer(20 * time.Millisecond)
		<-tick.C
	}
}

// TestTokenCommand makes, lists and takes credentials away while the owner runs
// (H-073, B105).
func TestTokenCommand(t *testing.T) {
	t.Parallel()
	s := startServe(t, t.TempDir())
	file := tokensFile(s.data)
	run := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		cmd := exec.Command(binary(t), append([]string{"token", "--tokens", file}, args...)...)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if code := exitCode(cmd.Run()); code != want {
			t.Fatalf("token %v: exit %d, want %d: %s", args, code, want, errs.String())
		}
		return out.String(), errs.String()
	}
	lead := s.token
	out, _ := run(0, "add", "worker 7", "--role", "worker")
	token := strings.TrimSpace(out)
	if len(token) < 32 || strings.Contains(token, " ") {
		t.Fatalf("stdout is not the token alone: %q", out)
	}
	raw, err := os.ReadFile(file)
	if info, _ := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(raw), token) || !strings.Contains(string(raw), owner.HashToken(token)) {
		t.Fatalf("the file: %v %s", err, raw)
	}
	comesIn := func(token string) bool {
		s.token = token
		code, _, err := s.call("GET", "settings", nil)
		return err == nil && code == 200
	}
	soon(t, "the new token is good", func() bool { return comesIn(token) })
	if out, _ := run(0, "list"); !strings.Contains(out, "worker 7") || !strings.Contains(out, localLead) || strings.Contains(out, token) {
		t.Errorf("list: %s", out)
	}
	if _, errs := run(1, "add", "worker 7", "--role", "lead"); !strings.Contains(errs, "worker 7 is worker in") || !strings.Contains(errs, "signalbox token revoke 'worker 7'") {
		t.Errorf("a second role: %s", errs)
	}
	run(2, "add", "x", "--role", "boss")
	run(2, "add", "x\x1b[2J", "--role", "lead")
	run(1, "revoke", "nobody")

	// A bad file changes nothing and is told.
	if err := os.WriteFile(file, []byte("- {identity: a, role: boss, token: SECRET123}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	soon(t, "the bad file is told", func() bool { return strings.Contains(s.log.String(), "not taken over") })
	if !comesIn(token) || !comesIn(lead) {
		t.Error("a bad file locked somebody out")
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	run(0, "revoke", "worker 7")
	soon(t, "the token is no longer good", func() bool { return !comesIn(token) })
	if !comesIn(lead) {
		t.Error("the lead's token went with it")
	}
	if _, errs := run(1, "revoke", localLead); !strings.Contains(errs, "last token") {
		t.Errorf("the last one: %s", errs)
	}
	// The last lead stays while others come in, too.
	run(0, "add", "worker 8", "--role", "worker")
	if _, errs := run(1, "revoke", localLead); !strings.Contains(errs, "is the last lead of") || !strings.Contains(errs, "--force") {
		t.Errorf("the last lead: %s", errs)
	}
	if !comesIn(lead) {
		t.Error("the lead's token went all the same")
	}
	run(0, "add", "boss", "--role", "orchestrator")
	run(0, "revoke", localLead)
	run(0, "revoke", "boss", "--force")
	if _, errs := run(1, "revoke", "worker 8", "--force"); !strings.Contains(errs, "last token") {
		t.Errorf("the very last one: %s", errs)
	}
	elsewhere := filepath.Join(t.TempDir(), "typo", "tokens.yaml")
	run(1, "revoke", "worker 8", "--tokens", elsewhere)
	run(2, "add", " ", "--role", "worker", "--tokens", elsewhere)
	if _, err := os.Stat(filepath.Dir(elsewhere)); err == nil {
		t.Error("a refused command made a folder")
	}
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("ended with %d", code)
	}
	log := s.log.String()
	if !strings.Contains(log, "not taken over") || strings.Contains(log, "SECRET123") || strings.Contains(log, token) {
		t.Errorf("log: %s", log)
	}
}

// TestTokenAddAtOnce loses nobody.
func TestTokenAddAtOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "box", "tokens.yaml")
	var wg sync.WaitGroup
	for _, id := range []string{"a", "b", "c", "d", "it's: #1"} {
		wg.Go(func() {
			g := &globals{sys: Sys{Stdout: io.Discard, Stderr: io.Discard, Env: func(string) string { return "" }}}
			if err := g.tokenAdd(t.Context(), file, id, "worker", ""); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if l, err := owner.LoadTokens(file); err != nil || l.Len() != 5 {
		t.Fatalf("%v, %v", l, err)
	}
	if _, err := os.Stat(file + ".lock"); err == nil {
		t.Error("the lock is left behind")
	}
}

// authority makes certificates for a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	dir  string
}

func newAuthority(t *testing.T, dir string) *authority {
	a := &authority{t: t, dir: dir}
	a.cert, a.key = a.issue("ca", nil)
	return a
}

// issue writes name.pem and name.key.
func (a *authority) issue(name string, ip net.IP) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true, IsCA: a.cert == nil}
	if ip != nil {
		tmpl.IPAddresses = []net.IP{ip}
	}
	parent, signer := tmpl, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(filepath.Join(a.dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return cert, key
}

// TestServeTLS serves over TLS, with and without certificates of the clients,
// and takes renewed certificates over at SIGHUP.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := newAuthority(t, dir)
	first, _ := a.issue("box", net.IPv4(127, 0, 0, 1))
	a.issue("me", nil)
	f := func(name string) string { return filepath.Join(dir, name) }
	s := startServe(t, t.TempDir(), "--tls-cert", f("box.pem"), "--tls-key", f("box.key"), "--client-ca", f("ca.pem"))
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatal(s.url)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	mine, err := tls.LoadX509KeyPair(f("me.pem"), f("me.key"))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(certs ...tls.Certificate) (*http.Response, error) {
		c := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: certs}}}
		req, _ := http.NewRequest("GET", s.url+"settings", nil)
		req.Header.Set("Authorization", "Bearer "+s.token)
		resp, err := c.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return resp, err
	}
	if _, err := ask(); err == nil {
		t.Error("came in without a certificate")
	}
	resp, err := ask(mine)
	if err != nil || resp.StatusCode != 200 || !resp.TLS.PeerCertificates[0].Equal(first) {
		t.Fatalf("with a certificate: %v %v", resp, err)
	}
	second, _ := a.issue("box", net.IPv4(127, 0, 0, 1))
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	soon(t, "the renewed certificate is shown", func() bool {
		resp, err := ask(mine)
		return err == nil && resp.TLS.PeerCertificates[0].Equal(second)
	})

	// What net/http answers by itself has the error shape here, too (H-070, B73).
	conn, err := tls.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.url, "https://"), "/acop/v1/"), &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{mine}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.Write([]byte("NONSENSE\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if raw, _ := io.ReadAll(conn); !strings.Contains(string(raw), `"schema_violation"`) {
		t.Errorf("nonsense is answered with %q", raw)
	}
}
