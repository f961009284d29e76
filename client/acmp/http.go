package acmp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"signalbox/model/acmp"
)

// protocolRevision is the MCP revision that ACMP layer 1 is built on.
const protocolRevision = "2026-07-28"

// maxErrorBody bounds what is read of the body of a failed request, in bytes.
const maxErrorBody = 64 << 10

type sinkKey struct{}

// withSink makes ctx carry the sink of the task whose invoke is sent with it.
func withSink(ctx context.Context, taskID string, s sink) context.Context {
	return context.WithValue(ctx, sinkKey{}, boundSink{taskID, s})
}

type boundSink struct {
	taskID string
	sink   sink
}

// roundTripper adds the token to each request and filters each answer. It turns
// every failure into an error of ours, so that the SDK never gives up the
// session because one request failed.
type roundTripper struct {
	base  http.RoundTripper
	token Secret
	limit int
	log   *slog.Logger
}

// newHTTPClient has no overall timeout: streams live as long as their task (B29).
// Redirects are not followed, so that the token goes nowhere else.
// Errors are about the files of s.
func newHTTPClient(s ProviderSpec, o *env) (*http.Client, error) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DialContext = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	if o.dial != nil {
		base.DialContext = o.dial
	}
	base.DisableCompression = true
	base.MaxIdleConnsPerHost = 16
	var err error
	if base.TLSClientConfig, err = tlsConfig(s); err != nil {
		return nil, fmt.Errorf("provider %s: %w", s.Name, err)
	}
	return &http.Client{
		Transport: &roundTripper{base: base, token: s.Token, limit: o.MaxMessage, log: o.Log},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}, nil
}

// RoundTrip implements http.RoundTripper.
func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	bound, _ := req.Context().Value(sinkKey{}).(boundSink)
	id, method, err := headOf(req)
	if err != nil {
		return nil, err
	}
	if method == "notifications/cancelled" {
		// On HTTP the end of a request's stream says it (D-07); the SDK would send this
		// besides, and wait for its delivery where the provider is silent.
		return &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
	}
	out := req.Clone(req.Context())
	if !t.token.IsZero() {
		out.Header.Set("Authorization", "Bearer "+t.token.value())
	}
	resp, err := t.base.RoundTrip(out)
	if err != nil {
		return nil, &transportError{err}
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return nil, t.failedStatus(resp)
	}
	if id == "" {
		return resp, nil // a notification: no answer is expected
	}
	f := &filter{
		log: t.log,
		find: func(taskID string) sink {
			if bound.sink == nil || bound.taskID != taskID {
				return nil
			}
			return bound.sink
		},
		answer: func(got string) (sink, bool) { return bound.sink, got == id },
	}
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind {
	case "text/event-stream":
		// The length, if any, is that of the unfiltered body.
		resp.ContentLength = -1
		resp.Body = newEventBody(resp.Body, f, bound.sink, t.limit)
		return resp, nil
	case "application/json":
		return t.wholeAnswer(resp, f)
	default:
		resp.Body.Close()
		return nil, &answerError{"the provider answered with something that is neither JSON nor an event stream"}
	}
}

func (t *roundTripper) wholeAnswer(resp *http.Response, f *filter) (*http.Response, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(t.limit)+1))
	if err != nil {
		return nil, &transportError{err}
	}
	if len(body) > t.limit {
		return nil, &answerError{fmt.Sprintf("the answer is larger than the limit of %d bytes", t.limit)}
	}
	body = validUTF8(body)
	pass, err := f.inspect(body)
	if err != nil {
		return nil, &answerError{"the answer is " + err.Error()}
	}
	if !pass {
		return nil, &answerError{"the answer belongs to no request of ours"}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	return resp, nil
}

// headOf reads the JSON-RPC id and method of an outgoing message; the id is "" for a
// notification, both for a request without a body.
func headOf(req *http.Request) (id, method string, err error) {
	if req.GetBody == nil || req.Method != http.MethodPost {
		return "", "", nil
	}
	body, err := req.GetBody()
	if err != nil {
		return "", "", err
	}
	defer body.Close()
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.NewDecoder(body).Decode(&head); err != nil {
		return "", "", fmt.Errorf("read the outgoing request: %w", err)
	}
	return string(head.ID), head.Method, nil
}

func (t *roundTripper) failedStatus(resp *http.Response) error {
	defer resp.Body.Close()
	path := resp.Request.URL.Path
	e := &statusError{status: resp.StatusCode, noToken: t.token.IsZero(), pathless: path == "" || path == "/"}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	var msg struct {
		Error *jsonrpc.Error `json:"error"`
	}
	if acmp.Decode(validUTF8(body), &msg) == nil && msg.Error != nil && msg.Error.Code != 0 {
		e.rpc = msg.Error
	}
	return e
}

// postNotification sends one JSON-RPC notification as its own POST (D-05).
func postNotification(ctx context.Context, c *http.Client, endpoint, method string, params any) error {
	body, err := encodeNotification(method, params)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", protocolRevision)
	req.Header.Set("Mcp-Method", method)
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBody))
	return resp.Body.Close()
}

func encodeNotification(method string, params any) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	return []byte(b.String()), nil // one line, with its end
}
