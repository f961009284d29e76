package acmp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
)

// tlsConfig makes the TLS settings towards one provider. The files are tried at
// once, so that a wrong one is told at the start and not as a broken connection.
func tlsConfig(s ProviderSpec) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CAFile != "" {
		pem, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca_file %s holds no certificate in PEM form", s.CAFile)
		}
	}
	if s.ClientCert == "" {
		return c, nil
	}
	load := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(s.ClientCert, s.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("client_cert %s and client_key: %w", s.ClientCert, err)
		}
		return &pair, nil
	}
	if _, err := load(); err != nil {
		return nil, err
	}
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	return c, nil
}

// tlsProblem says in plain words what a handshake failed of, or "".
func tlsProblem(err error) string {
	var (
		host    x509.HostnameError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		record  tls.RecordHeaderError
		op      *net.OpError
	)
	switch {
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "what answers there does not speak TLS (is the URL to begin with http:// ?)"
	case errors.As(err, &unknown):
		return "the provider's certificate is signed by an authority that is not trusted here; name it with ca_file in the configuration, or set SSL_CERT_FILE"
	case errors.As(err, &host):
		return "the provider's certificate is for another host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the provider's certificate has expired or is not valid yet"
	case errors.As(err, &op) && op.Op == "remote error": // an alert of TLS
		return "the provider ended the TLS handshake: " + strings.TrimPrefix(op.Err.Error(), "tls: ") + " (see client_cert)"
	}
	return ""
}
