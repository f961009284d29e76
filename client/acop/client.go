package acop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"signalbox/model/acop"
)

// TokenFunc gives the bearer token for the next request; "" sends none. It is
// called for every request, so that a renewed token file is noticed.
type TokenFunc func(ctx context.Context) (string, error)

// Token is the TokenFunc of one fixed token.
func Token(token string) TokenFunc {
	return func(context.Context) (string, error) { return token, nil }
}

// Options say which owner to reach and how. BaseURL is the one that is needed.
type Options struct {
	// BaseURL is the base of the binding, with or without a final slash, e.g.
	// http://127.0.0.1:7180/acop/v1/. It may have a sub-path, but no user part,
	// query or fragment.
	BaseURL string
	// Token gives the bearer token; nil sends none.
	Token TokenFunc
	// Identity is who the token speaks for. Empty: asked from the owner once,
	// when an act needs it.
	Identity string
	// HTTPClient replaces the client's own; its CheckRedirect and Timeout are
	// overridden.
	HTTPClient *http.Client
	// Patience is how long Do may spend on one act in all, waits included;
	// 0 means 20 s, less than 0 means exactly one try.
	Patience time.Duration
	// Idle is the silence on an event stream after which it counts as cut;
	// 0 means 45 s, three of the owner's keep-alive lines.
	Idle time.Duration
	// Log receives what a person who looks for a fault needs; nil discards it.
	Log *slog.Logger
}

const (
	defaultPatience = 20 * time.Second
	defaultIdle     = 45 * time.Second
	// tryTimeout bounds one try of an act or of a small read.
	tryTimeout = 10 * time.Second
	// bulkTimeout bounds a read that may be large, such as the snapshot.
	bulkTimeout = 60 * time.Second
	// maxAnswer bounds the body of one answer in bytes.
	maxAnswer = 256 << 20
	// maxEvent bounds one event of the stream in bytes; a larger one leads to a
	// new snapshot (B27).
	maxEvent = 16 << 20
)

// ErrUnreachable is in the chain of every error that means that nobody answered,
// or not as an owner does.
var ErrUnreachable = errors.New("the owner does not answer")

// ErrUntrusted is, besides [ErrUnreachable], in the chain of every error that means
// that the owner's certificate is not good enough for this machine.
var ErrUntrusted = errors.New("the owner's certificate is not trusted")

// ErrProtocol is in the chain of every error that means that an answer arrived
// but is not what ACOP 1.x allows (C-086).
var ErrProtocol = errors.New("the answer is not ACOP 1.x")

// Client speaks to one owner. Make it with [New].
type Client struct {
	base     *url.URL
	http     *http.Client
	token    TokenFunc
	patience time.Duration
	idle     time.Duration
	log      *slog.Logger

	mu       sync.Mutex
	identity string
}

// New makes a client. It sends nothing; an unusable BaseURL is an error.
func New(o Options) (*Client, error) {
	base, err := parseBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	c := &Client{
		base:     base,
		token:    o.Token,
		patience: o.Patience,
		idle:     o.Idle,
		log:      o.Log,
		identity: o.Identity,
	}
	if c.token == nil {
		c.token = Token("")
	}
	if c.patience == 0 {
		c.patience = defaultPatience
	}
	if c.idle <= 0 {
		c.idle = defaultIdle
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.http = httpClient(o.HTTPClient)
	return c, nil
}

// parseBase checks a base URL and gives it a final slash.
func parseBase(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// url.Error repeats the input, which may hold a password.
		return nil, errors.New("the owner's URL cannot be read; give one like http://127.0.0.1:7180/acop/v1/")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, errors.New("the owner's URL is not an http or https URL; give one like http://127.0.0.1:7180/acop/v1/")
	case u.User != nil:
		return nil, errors.New("the owner's URL holds a user name or password; use a token instead")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the owner's URL has a query or a fragment; leave them out")
	}
	if !strings.HasSuffix(u.EscapedPath(), "/") {
		u = u.JoinPath("/")
	}
	return u, nil
}

// httpClient copies given, or makes one with bounded connect and header times.
func httpClient(given *http.Client) *http.Client {
	var hc http.Client
	if given != nil {
		hc = *given
	} else {
		hc.Transport = &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout:    5 * time.Second,
			ResponseHeaderTimeout:  tryTimeout,
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConnsPerHost:    8,
			IdleConnTimeout:        60 * time.Second,
			ForceAttemptHTTP2:      true,
		}
	}
	hc.Timeout = 0 // a total limit would cut event streams (B29)
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &hc
}

// BaseURL is the base this client was made for, with its final slash.
func (c *Client) BaseURL() string { return c.base.String() }

// Close gives up idle connections. Calls that run are not touched.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Identity tells who the owner takes this client for; it asks at most once.
func (c *Client) Identity(ctx context.Context) (string, error) {
	c.mu.Lock()
	id := c.identity
	c.mu.Unlock()
	if id != "" {
		return id, nil
	}
	snap, err := c.Snapshot(ctx)
	if err != nil {
		return "", fmt.Errorf("learn the own identity: %w", err)
	}
	return snap.Identity, nil
}

func (c *Client) learnIdentity(s *acop.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.Identity != "" {
		c.identity = s.Identity
	}
}

// endpoint composes the URL of a resource under the base. Segments are escaped
// one by one, so that an id with slashes, dots or percent signs stays one
// segment (H-006, B72).
func (c *Client) endpoint(query url.Values, segments ...string) string {
	var b strings.Builder
	b.WriteString(c.base.String())
	for i, s := range segments {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(escapeSegment(s))
	}
	if len(query) > 0 {
		b.WriteByte('?')
		b.WriteString(query.Encode())
	}
	return b.String()
}

// escapeSegment encodes everything but unreserved characters, as the reference
// client does, and dot segments too, which routers and proxies would clean away.
func escapeSegment(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		ch := s[i]
		switch {
		case 'a' <= ch && ch <= 'z', 'A' <= ch && ch <= 'Z', '0' <= ch && ch <= '9',
			ch == '-', ch == '_', ch == '.', ch == '~':
			b.WriteByte(ch)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[ch>>4])
			b.WriteByte(hex[ch&15])
		}
	}
	return b.String()
}
