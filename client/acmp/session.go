package acmp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptrace"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"signalbox/model/acmp"
)

// session is one connection to a provider: an SDK session and what lies beneath.
type session struct {
	cs   *mcp.ClientSession
	init *mcp.InitializeResult
	http *http.Client // nil on stdio
	url  string
	conn *stdioConn // nil on HTTP

	// Guarded by the link.
	refs    int
	retired bool
}

// invokeParams is acmp/invoke as the SDK sends it, with _meta added.
type invokeParams struct {
	mcp.ParamsBase
	acmp.InvokeParams
}

// rawResult keeps the bytes of a result: what is required of it is checked by
// us, not by a decoder.
type rawResult struct {
	mcp.ResultBase
	raw json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *rawResult) UnmarshalJSON(b []byte) error {
	r.raw = append(r.raw[:0], b...)
	return nil
}

func newMCPClient(version string) (*mcp.Client, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "signalbox", Version: version}, &mcp.ClientOptions{
		Logger: slog.New(slog.DiscardHandler),
		Capabilities: &mcp.ClientCapabilities{Extensions: map[string]any{
			acmp.ExtensionID: map[string]any{"version": acmp.Version, "role": "buyer"},
		}},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	if err := mcp.AddSendingCustomMethod[*invokeParams, *rawResult](c, acmp.MethodInvoke); err != nil {
		return nil, err
	}
	return c, addOfferMethods(c)
}

// openSession connects and asks what the provider is (server/discover).
func openSession(ctx context.Context, s ProviderSpec, hc *http.Client, o *env) (*session, error) {
	client, err := newMCPClient(o.Version)
	if err != nil {
		return nil, err
	}
	out := &session{http: hc, url: s.URL}
	var tr mcp.Transport
	if hc != nil {
		tr = &mcp.StreamableClientTransport{
			Endpoint: s.URL, HTTPClient: hc, MaxRetries: -1,
			DisableStandaloneSSE: true, MaxEventSize: -1, // bounded by our filter
		}
	} else {
		proc, err := startProcess(s, o)
		if err != nil {
			return nil, err
		}
		out.conn = newStdioConn(proc, o.MaxMessage, o.Log)
		tr = &mcp.IOTransport{Reader: out.conn, Writer: out.conn, MaxLineLength: -1}
	}
	out.cs, err = client.Connect(ctx, tr, nil)
	if err != nil {
		if out.conn != nil {
			err = out.conn.explain(err)
		}
		out.close(o.last.Done())
		return nil, err
	}
	out.init = out.cs.InitializeResult()
	return out, nil
}

// close ends the connection; on stdio it waits for the child to be gone.
func (s *session) close(kill <-chan struct{}) {
	if s.conn != nil {
		s.conn.proc.stop(kill)
		s.conn.proc.stdout.Close()
	}
	if s.cs != nil {
		_ = s.cs.Close()
	}
}

// dead is closed when the session cannot be used any more; nil on HTTP.
func (s *session) dead() <-chan struct{} {
	if s.conn == nil {
		return nil
	}
	return s.conn.proc.gone
}

// invoke sends acmp/invoke and waits for its response. What the provider says
// meanwhile goes to at.
func (s *session) invoke(ctx context.Context, p acmp.InvokeParams, at *attempt) (json.RawMessage, error) {
	if s.conn != nil {
		s.conn.attach(p.TaskID, at)
		defer s.conn.detach(p.TaskID, at)
	} else {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			WroteRequest: func(i httptrace.WroteRequestInfo) {
				if i.Err == nil {
					at.wrote()
				}
			},
		})
	}
	res, err := mcp.CallCustomMethod[*invokeParams, *rawResult](
		withSink(ctx, p.TaskID, at), s.cs, acmp.MethodInvoke, &invokeParams{InvokeParams: p})
	if err != nil {
		return nil, err
	}
	return res.raw, nil
}

// notify sends one of our notifications.
func (s *session) notify(ctx context.Context, method string, params any) error {
	if s.conn == nil {
		return postNotification(ctx, s.http, s.url, method, params)
	}
	line, err := encodeNotification(method, params)
	if err != nil {
		return err
	}
	_, err = s.conn.proc.Write(line)
	return err
}

// peerError gives the JSON-RPC error the provider sent, if err comes from one:
// raw is that of a response, else it may stand in the body of a failed request.
func peerError(err error, raw []byte) *jsonrpc.Error {
	var se *statusError
	if errors.As(err, &se) {
		return se.rpc
	}
	if len(raw) == 0 {
		return nil
	}
	e := new(jsonrpc.Error)
	if acmp.Decode(raw, e) != nil {
		e = &jsonrpc.Error{Code: acmp.CodeInternal, Message: "an error that cannot be read"}
	}
	return e
}

// settingsOf reads the ACMP declaration of a session. It gives nil and a reason
// where the server is plain MCP or of a version we do not speak.
func settingsOf(init *mcp.InitializeResult) (*acmp.Settings, string) {
	if init.ProtocolVersion < protocolRevision {
		return nil, "the server speaks MCP " + init.ProtocolVersion + "; ACMP needs " + protocolRevision
	}
	if init.Capabilities == nil {
		return nil, "the server has no ACMP extension"
	}
	s, err := acmp.ReadSettings(init.Capabilities.Extensions)
	switch {
	case err != nil:
		return nil, "the ACMP declaration cannot be read"
	case s == nil:
		return nil, "the server has no ACMP extension"
	}
	return s, ""
}
