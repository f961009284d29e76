package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"signalbox/client/acop"
)

// tokenCheck is how long a token that was read from a file is used before the
// file is read again.
const tokenCheck = 2 * time.Second

// ownerTarget is where the owner is and who we are to it. It holds no secret.
type ownerTarget struct {
	URL   string
	Token acop.TokenFunc
	Local bool // the local box
}

// namedServer is the owner that a flag or the environment names, "" without.
func (g *globals) namedServer() string {
	return firstOf(g.server, g.sys.Env("SIGNALBOX_SERVER"), g.sys.Env("ACOP_BACKEND_BASE_URI"))
}

// namedTokenFile is the file of the bearer token that a flag or the environment
// names, "" without.
func (g *globals) namedTokenFile() string {
	return firstOf(g.tokenFile, g.sys.Env("SIGNALBOX_TOKEN_FILE"))
}

// findOwner settles which owner is meant: flags first, then the environment,
// then the local box.
func (g *globals) findOwner(ctx context.Context) (ownerTarget, error) {
	base := g.namedServer()
	tokenFile := g.namedTokenFile()
	t := ownerTarget{}
	if base == "" {
		local, localToken, ok := localBox(ctx, g)
		if !ok {
			return t, failf(exitUnreachable, "no server given and no local box running; give --server URL, or start one with signalbox or signalbox serve")
		}
		base, t.Local = local, true
		tokenFile = firstOf(tokenFile, localToken)
	}
	var err error
	if t.URL, err = ownerBase(base); err != nil {
		return t, failf(exitUsage, "%w", err)
	}
	switch env := g.sys.Env("ACOP_BACKEND_BEARER_TOKEN"); {
	case tokenFile != "":
		t.Token = fileToken(tokenFile)
		if _, err := t.Token(ctx); err != nil {
			return t, failf(exitUsage, "%w", err)
		}
	case env != "":
		token, err := cleanToken("ACOP_BACKEND_BEARER_TOKEN", env)
		if err != nil {
			return t, failf(exitUsage, "%w", err)
		}
		t.Token = acop.Token(token)
	default:
		return t, failf(exitUsage, "%w; give --token-file, or set SIGNALBOX_TOKEN_FILE or ACOP_BACKEND_BEARER_TOKEN", noTokenError(t.URL))
	}
	return t, nil
}

// connect makes a client for the owner that is meant. patience is how long an
// act is tried again; 0 leaves that to the client.
func (g *globals) connect(ctx context.Context, log *slog.Logger, patience time.Duration) (*acop.Client, error) {
	t, err := g.findOwner(ctx)
	if err != nil {
		return nil, err
	}
	c, err := acop.New(acop.Options{BaseURL: t.URL, Token: t.Token, Log: log, Patience: patience})
	if err != nil {
		return nil, failf(exitUsage, "%w", err)
	}
	return c, nil
}

func firstOf(s ...string) string {
	for _, v := range s {
		if v != "" {
			return v
		}
	}
	return ""
}

// ownerBase completes the URL of a server to the base of the binding: without a
// path it is acop/v1/, a path is taken as it stands.
func ownerBase(raw string) (string, error) {
	if !strings.Contains(raw, "://") {
		return "", errors.New("the server must be given as a URL like http://127.0.0.1:7180")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "", errors.New("the server's URL cannot be read; give one like http://127.0.0.1:7180")
	}
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%s is no URL of a server; give one like http://127.0.0.1:7180", shown(raw))
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/acop/v1/"
	}
	return u.String(), nil
}

// cleanToken is the token that stands in a file or an environment variable, without
// the blanks and the line end around it. Anything else that cannot stand in a
// header is an error, which never shows the token.
func cleanToken(where, raw string) (string, error) {
	token := strings.TrimSpace(raw)
	if token == "" {
		return "", fmt.Errorf("there is no token in %s", where)
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return "", fmt.Errorf("the token in %s is malformed: it must be one word of plain letters, digits and signs on one line", where)
		}
	}
	return token, nil
}

// maxToken bounds a token file in bytes, so that a wrong path ends soon.
const maxToken = 64 << 10

func readToken(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxToken))
}

// fileToken reads the token from path and again when it may have changed, so
// that a renewed token is found without a restart.
func fileToken(path string) acop.TokenFunc {
	type reading struct {
		token string
		at    time.Time
	}
	last := make(chan reading, 1)
	last <- reading{}
	return func(context.Context) (string, error) {
		r := <-last
		defer func() { last <- r }()
		if r.token != "" && time.Since(r.at) < tokenCheck {
			return r.token, nil
		}
		raw, err := readToken(path)
		if err != nil {
			var pe *os.PathError
			if errors.As(err, &pe) {
				err = pe.Err
			}
			return "", fmt.Errorf("the token file %s cannot be read: %w", path, err)
		}
		token, err := cleanToken(path, string(raw))
		if err != nil {
			return "", err
		}
		r = reading{token, time.Now()}
		return token, nil
	}
}

// noTokenError names the owner for which nobody gave a token.
type noTokenError string

func (e noTokenError) Error() string { return "no token for " + string(e) }
