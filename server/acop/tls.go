package acop

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
)

// TLSFiles names the PEM files of an owner that is served over TLS. All empty
// means plain HTTP.
type TLSFiles struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// ClientCA, when set, lets only clients in that show a certificate of this
	// authority. It opens the door; who comes in is still said by the token.
	ClientCA string `yaml:"client_ca"`
}

// On tells whether TLS is asked for.
func (f TLSFiles) On() bool { return f.Cert != "" }

func (f TLSFiles) check() error {
	if (f.Cert == "") != (f.Key == "") {
		return errors.New("TLS needs both a certificate and its key")
	}
	if f.ClientCA != "" && f.Cert == "" {
		return errors.New("client certificates need TLS: name a certificate and its key")
	}
	return nil
}

// TLS serves with certificates that can be renewed while it runs. It is safe for
// concurrent use.
type TLS struct {
	files TLSFiles
	now   atomic.Pointer[tls.Config]
}

// NewTLS reads the files. Errors name the file and never show a key.
func NewTLS(f TLSFiles) (*TLS, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	t := &TLS{files: f}
	return t, t.Reload()
}

// Reload reads the files again; on an error the old certificates stay in use.
func (t *TLS) Reload() error {
	cert, err := tls.LoadX509KeyPair(t.files.Cert, t.files.Key)
	if err != nil {
		return fmt.Errorf("use the certificate %s with the key %s: %w", t.files.Cert, t.files.Key, err)
	}
	// HTTP/1.1 only: on it, what net/http answers before any handler can be
	// given the one error shape.
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}}
	if t.files.ClientCA != "" {
		pem, err := os.ReadFile(t.files.ClientCA)
		if err != nil {
			return fmt.Errorf("read the authority of the clients: %w", err)
		}
		c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !c.ClientCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s holds no certificate in PEM form", t.files.ClientCA)
		}
	}
	t.now.Store(c)
	return nil
}

// Listener serves TLS on l, with answers shaped as [Listener] does.
func (t *TLS) Listener(l net.Listener) net.Listener {
	return shapedTLSListener{tls.NewListener(l, &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return t.now.Load(), nil },
	})}
}

type shapedTLSListener struct{ net.Listener }

func (l shapedTLSListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tc, isTLS := c.(*tls.Conn); isTLS && err == nil {
		return shapedTLSConn{tc}, nil
	}
	return c, err
}

type shapedTLSConn struct{ *tls.Conn }

func (c shapedTLSConn) Write(b []byte) (int, error) { return writeShaped(c.Conn, b) }
