package cli

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	owner "signalbox/server/acop"
	"signalbox/server/mcp"
)

// agentsPath is where an owner serves MCP, beside its API.
const agentsPath = "/mcp"

// MCPURL is the address of the owner's MCP endpoint.
func (b *ownerBox) MCPURL() string {
	return strings.TrimSuffix(b.URL, owner.DefaultBasePath) + agentsPath
}

// handler serves the owner's API and, to those who pass the same checks, its tools
// for agents.
func (b *ownerBox) handler() http.Handler {
	api := b.owner.Handler()
	in := &http.Client{Transport: inProcess{api}}
	tools := mcp.New(mcp.Options{
		Version: build().Version, Log: b.log,
		OwnerFor: func(identity, token string) mcp.Owner { return b.agentOwner(in, identity, token) },
	})
	agents := tools.Handler(func(r *http.Request) (identity, token string) {
		c, _ := owner.CallerOf(r.Context())
		_, token, _ = strings.Cut(r.Header.Get("Authorization"), " ")
		return c.Identity, strings.TrimSpace(token)
	})
	guarded := b.owner.Guard("mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			b.owner.Refuse(w, r, acop.Errorf(acop.CodeMethodNotAllowed, "MCP is served by POST only: no session is kept and nothing is streamed unasked"))
			return
		}
		agents.ServeHTTP(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == agentsPath {
			guarded.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// agentOwner is this owner as one identity reaches it, without a socket.
func (b *ownerBox) agentOwner(in *http.Client, identity, token string) mcp.Owner {
	c, err := client.New(client.Options{BaseURL: b.URL, Token: client.Token(token), Identity: identity, HTTPClient: in, Patience: -1,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err) // the box made its URL itself
	}
	return agentOwner{c}
}

// inProcess carries a request to a handler of this process.
type inProcess struct{ h http.Handler }

// RoundTrip implements http.RoundTripper. The answer is whole when it returns; one
// that was cut in its midst is an error, as it would be on a socket.
func (p inProcess) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			resp, err = nil, io.ErrUnexpectedEOF
		default:
			panic(p)
		}
	}()
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	in.Host = r.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	defer in.Body.Close()
	w := &kept{header: http.Header{}}
	p.h.ServeHTTP(w, in)
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// kept is a ResponseWriter that keeps the answer.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *kept) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *kept) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *kept) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}
