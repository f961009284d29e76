package acop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"signalbox/model/acop"
)

// request is one exchange with the owner, as often as it is tried.
type request struct {
	method string
	url    string
	body   []byte // nil: none
	header http.Header
	// timeout bounds one try, answer included.
	timeout time.Duration
}

// answer is a 2xx answer.
type answer struct {
	status int
	header http.Header
	body   []byte
	// sentAt and doneAt are this program's clock around the try that answered.
	sentAt, doneAt time.Time
}

// send makes one try. A refusal is an *acop.Error; anything that is not an
// answer of an owner has ErrUnreachable in its chain.
func (c *Client) send(ctx context.Context, r *request) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	token, err := c.token(ctx)
	if err != nil {
		return nil, fmt.Errorf("get the token: %w", err)
	}
	ans, err := c.sendAs(ctx, r, token)
	if !isCode(err, acop.CodeUnauthenticated) {
		return ans, err
	}
	// The token may have been renewed since it was read: look once more (C.3).
	fresh, tokErr := c.token(ctx)
	if tokErr != nil || fresh == token {
		return ans, err
	}
	return c.sendAs(ctx, r, fresh)
}

func (c *Client) sendAs(ctx context.Context, r *request, token string) (*answer, error) {
	sentAt := time.Now()
	resp, err := c.open(ctx, r, token)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return nil, readError(resp, time.Now())
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, unreachable(ctx, r.url, err)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("read %s: %w: larger than %d MiB", r.url, ErrProtocol, maxAnswer>>20)
	}
	return &answer{status: resp.StatusCode, header: resp.Header, body: body, sentAt: sentAt, doneAt: time.Now()}, nil
}

// open sends the request and returns as soon as the headers are there.
func (c *Client) open(ctx context.Context, r *request, token string) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, body)
	if err != nil {
		return nil, fmt.Errorf("compose the request: %w", err)
	}
	for k, v := range r.header {
		req.Header[k] = v
	}
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unreachable(ctx, r.url, err)
	}
	return resp, nil
}

// unreachable wraps a transport failure in words for people.
func unreachable(ctx context.Context, target string, err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // it repeats method and URL
	}
	if ctx.Err() != nil && context.Cause(ctx) == context.Canceled {
		return context.Canceled
	}
	host, secure := target, false
	if u, perr := url.Parse(target); perr == nil {
		host, secure = u.Host, u.Scheme == "https"
	}
	return fmt.Errorf("%w at %s: %w", ErrUnreachable, host, plainCause(err, secure))
}

// wireError is the error shape of the binding.
type wireError struct {
	Error *struct {
		Code              string          `json:"code"`
		Message           string          `json:"message"`
		RetryAfterSeconds json.RawMessage `json:"retry_after_seconds"`
		Details           map[string]any  `json:"details"`
	} `json:"error"`
}

// readError turns an answer that is not 2xx into an *acop.Error. Bodies that
// are not of the error shape, such as a proxy's page, are judged by their status
// and never quoted: they may hold anything.
func readError(resp *http.Response, now time.Time) error {
	const limit = 1 << 20
	body, _ := io.ReadAll(io.LimitReader(resp.Body, limit))
	e := &acop.Error{Status: resp.StatusCode}
	var w wireError
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber() // revisions beyond 2^53 stay exact (B74)
	if dec.Decode(&w) == nil && w.Error != nil && w.Error.Code != "" {
		e.Code = acop.Code(w.Error.Code)
		e.Message = w.Error.Message
		e.Details = w.Error.Details
		e.RetryAfterSeconds = retryAfter(resp.Header.Get("Retry-After"), w.Error.RetryAfterSeconds, now)
		return e
	}
	e.Code = codeForStatus(resp.StatusCode)
	e.RetryAfterSeconds = retryAfter(resp.Header.Get("Retry-After"), nil, now)
	switch {
	case resp.StatusCode/100 == 3:
		e.Message = "the server redirects elsewhere; use the final URL of the owner"
	default:
		e.Message = fmt.Sprintf("the server answered %d %s without an ACOP error body; is this the owner's URL?",
			resp.StatusCode, strings.ToLower(http.StatusText(resp.StatusCode)))
	}
	return e
}

// codeForStatus is the nearest core code of a status that came without one
// (C-084).
func codeForStatus(status int) acop.Code {
	switch status {
	case http.StatusUnauthorized:
		return acop.CodeUnauthenticated
	case http.StatusForbidden:
		return acop.CodeForbidden
	case http.StatusNotFound:
		return acop.CodeRouteNotFound
	case http.StatusMethodNotAllowed:
		return acop.CodeMethodNotAllowed
	case http.StatusConflict:
		return acop.CodeNotActionable
	case http.StatusPreconditionFailed:
		return acop.CodeRevisionMismatch
	case http.StatusRequestEntityTooLarge:
		return acop.CodeTooLarge
	case http.StatusUnsupportedMediaType:
		return acop.CodeMediaType
	case http.StatusTooManyRequests:
		return acop.CodeRateLimited
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return acop.CodeUnavailable
	}
	if status >= 500 {
		return acop.CodeInternal
	}
	return acop.CodeSchemaViolation
}

func isCode(err error, code acop.Code) bool {
	var e *acop.Error
	return errors.As(err, &e) && e.Code == code
}
