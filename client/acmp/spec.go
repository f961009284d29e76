package acmp

import (
	"fmt"
	"net/url"
	"strings"
)

// Secret is a bearer token. It prints as "[secret]" in every format, also as a
// member of another value, and marshals to the same.
type Secret struct{ reveal func() string }

// NewSecret wraps token; "" gives the empty Secret.
func NewSecret(token string) Secret {
	if token == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return token }}
}

// IsZero reports whether there is no token.
func (s Secret) IsZero() bool { return s.reveal == nil }

func (s Secret) value() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// String implements fmt.Stringer without telling the token.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return "[secret]"
}

// GoString implements fmt.GoStringer without telling the token.
func (s Secret) GoString() string { return s.String() }

// MarshalText implements encoding.TextMarshaler without telling the token.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// ProviderSpec says how to reach one provider: by URL or by Command.
type ProviderSpec struct {
	Name    string   // in this program; unique, not empty
	URL     string   // of the MCP endpoint
	Command []string // argv of a provider on stdio; never given to a shell
	Dir     string   // working directory of Command; "" = ours
	Env     []string // KEY=VALUE, added to the environment of Command
	// Token is sent as a bearer token on HTTP and handed over as
	// ACMP_BEARER_TOKEN on stdio (section 5.1, D-20).
	Token Secret
	// ClientCert and ClientKey are PEM files that identify us to a provider which
	// demands it (mutual TLS, 5.2); they come besides the token, not instead of it
	// and are read anew for each connection, so that they can be renewed.
	ClientCert, ClientKey string
	// CAFile is a PEM file of the authorities that may vouch for the provider; ""
	// means those of the system.
	CAFile string
}

// Endpoint is the address for people; it holds no user information of the URL.
func (s ProviderSpec) Endpoint() string {
	if len(s.Command) > 0 {
		return "stdio:" + strings.Join(s.Command, " ")
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return "(unreadable URL)"
	}
	u.User = nil
	return u.String()
}

func (s ProviderSpec) check() error {
	if s.Name == "" {
		return fmt.Errorf("a provider has no name")
	}
	if (s.URL == "") == (len(s.Command) == 0) {
		return fmt.Errorf("provider %s: give either a URL or a command", s.Name)
	}
	secured := s.ClientCert != "" || s.ClientKey != "" || s.CAFile != ""
	if (s.ClientCert == "") != (s.ClientKey == "") {
		return fmt.Errorf("provider %s: client_cert and client_key belong together", s.Name)
	}
	if secured && !strings.HasPrefix(strings.ToLower(s.URL), "https://") {
		return fmt.Errorf("provider %s: client_cert, client_key and ca_file need an https:// URL", s.Name)
	}
	if s.URL == "" {
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("provider %s: the URL must be http(s)://host/path", s.Name)
	}
	if u.User != nil {
		return fmt.Errorf("provider %s: put the token into a token file, not into the URL", s.Name)
	}
	return nil
}
