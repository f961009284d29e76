package acop

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// errUntrusted is the cause of errors about a certificate.
type errUntrusted struct{ msg string }

func (e *errUntrusted) Error() string { return e.msg }

// Is makes the cause known as [ErrUntrusted].
func (e *errUntrusted) Is(target error) bool { return target == ErrUntrusted }

// plainCause gives the failure of an exchange the words of a person, with the way
// out where it is known. What it does not know stays as it is. secure says that the
// URL is of https.
func plainCause(err error, secure bool) error {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &authority):
		why := "its certificate is signed by an authority that is not known here; set SSL_CERT_FILE to the authority's certificate (PEM)"
		if file := os.Getenv("SSL_CERT_FILE"); file != "" {
			why = fmt.Sprintf("its certificate is signed by an authority that is not known here, nor in %s, which SSL_CERT_FILE names", file)
		}
		return &errUntrusted{why}
	case errors.As(err, &host):
		return &errUntrusted{"its certificate is for another host; give the name that stands in it"}
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return &errUntrusted{"its certificate has expired or is not valid yet; renew it, or set this machine's clock"}
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return errors.New("what answers there does not speak TLS; is the URL to begin with http:// ?")
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("no answer in time")
	case errors.Is(err, io.EOF) && !secure:
		return errors.New("the connection ended before the answer; is the URL to begin with https:// ?")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the connection ended before the answer")
	}
	return err
}
