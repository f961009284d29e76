package acop

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"signalbox/model/acop"
)

func errorsIs(err, target error) bool { return errors.Is(err, target) }

// tripper is an owner in memory: time inside synctest is fake, sockets are not.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func respond(status int, header map[string]string, body string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for k, v := range header {
		h.Set(k, v)
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func refusal(code string, extra string) string {
	return `{"protocol_version":"acop/1.0","error":{"code":"` + code + `","message":"m"` + extra + `}}`
}

func tripClient(t *testing.T, patience time.Duration, rt tripper) *Client {
	return newClient(t, Options{
		BaseURL: "http://owner.test/acop/v1", Token: Token("SECRET123"), Identity: "me",
		HTTPClient: &http.Client{Transport: rt}, Patience: patience,
	})
}

var aClaim = acop.Act{Verb: acop.VerbClaim, WorkItemID: "w 1"}

// TestRetryPauses covers H-019, H-067 and B62: 0.5, 1, 2, ... 30 s, one key.
func TestRetryPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		keys := map[string]bool{}
		c := tripClient(t, 5*time.Minute, func(r *http.Request) (*http.Response, error) {
			at = append(at, time.Now())
			keys[r.Header.Get("Idempotency-Key")] = true
			switch len(at) {
			case 1:
				return nil, errors.New("connection reset") // B46: perhaps applied
			case 10:
				return respond(201, map[string]string{"Idempotency-Replayed": "true"}, okBody), nil
			}
			return respond(503, nil, refusal("backend_unavailable", "")), nil
		})
		r, err := c.Do(t.Context(), aClaim)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Replayed {
			t.Error("the replay is not marked (B63)")
		}
		if len(keys) != 1 {
			t.Errorf("%d keys over the tries of one act", len(keys))
		}
		for i, want := range []float64{0.5, 1, 2, 4, 8, 16, 30, 30, 30} {
			got := at[i+1].Sub(at[i]).Seconds()
			if got < want || got > want*1.26 {
				t.Errorf("pause %d = %.2f s, want %.1f s and up to a quarter more", i+1, got, want)
			}
		}
	})
}

// TestRetryAfter covers H-068 and B78.
func TestRetryAfter(t *testing.T) {
	tests := []struct {
		name, header, member string
		min, max             time.Duration // of the pause; 0: no second try within 10 min
	}{
		{"header 7", "7", "", 7 * time.Second, 8 * time.Second},
		{"member 7", "", "7", 7 * time.Second, 8 * time.Second},
		{"the larger wins", "3", "9", 9 * time.Second, 10 * time.Second},
		{"the larger wins, other way", "9", "3", 9 * time.Second, 10 * time.Second},
		{"huge", "9223372037", "", 0, 0},
		{"huge, max int64", "9223372036854775807", "", 0, 0},
		{"beyond int64", "92233720368547758079", "", 0, 0},
		{"member 1e30", "", "1e30", 0, 0},
		{"negative", "-5", "", 500 * time.Millisecond, time.Second},
		{"negative beyond int64", "-92233720368547758079", "", 500 * time.Millisecond, time.Second},
		{"word", "soon", "", 500 * time.Millisecond, time.Second},
		{"past date", "Sat, 02 Jan 1999 15:04:05 GMT", "", 500 * time.Millisecond, time.Second},
		{"member is text", "", `"7"`, 500 * time.Millisecond, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var second time.Duration
				n := 0
				c := tripClient(t, 10*time.Minute, func(*http.Request) (*http.Response, error) {
					n++
					if n == 2 {
						second = time.Since(start)
						return respond(201, nil, okBody), nil
					}
					h := map[string]string{}
					if tt.header != "" {
						h["Retry-After"] = tt.header
					}
					extra := ""
					if tt.member != "" {
						extra = `,"retry_after_seconds":` + tt.member
					}
					return respond(429, h, refusal("rate_limited", extra)), nil
				})
				_, err := c.Do(t.Context(), aClaim)
				if tt.max == 0 {
					if err == nil || n != 1 {
						t.Errorf("n = %d, err = %v; want one try and an error", n, err)
					}
					return
				}
				if err != nil || second < tt.min || second > tt.max {
					t.Errorf("second try after %s (err %v), want %s to %s", second, err, tt.min, tt.max)
				}
			})
		})
	}
}

// TestNoRetry covers H-069 and C-084: what is refused for good is asked once.
func TestNoRetry(t *testing.T) {
	tests := []struct {
		status int
		body   string
		code   acop.Code
		tries  int
	}{
		{401, refusal("unauthenticated", ""), acop.CodeUnauthenticated, 1},
		{403, refusal("forbidden", ""), acop.CodeForbidden, 1},
		{404, refusal("work_item_not_found", ""), acop.CodeItemNotFound, 1},
		{409, refusal("lease_expired", ""), acop.CodeLeaseExpired, 1},
		{409, refusal("claim_conflict", `,"retry_after_seconds":3`), acop.CodeClaimConflict, 1},
		{409, refusal("acme.weird", ""), "acme.weird", 1},
		{503, refusal("x", ""), "x", 3},
		{502, "<html>bad gateway</html>", acop.CodeUnavailable, 3},
		{404, "404 page not found\n", acop.CodeRouteNotFound, 1},
		{307, "", acop.CodeSchemaViolation, 1},
	}
	for _, tt := range tests {
		t.Run(string(tt.code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				c := tripClient(t, 2*time.Second, func(*http.Request) (*http.Response, error) {
					n++
					return respond(tt.status, map[string]string{"Location": "http://elsewhere.test/"}, tt.body), nil
				})
				_, err := c.Do(t.Context(), aClaim)
				var e *acop.Error
				if !errors.As(err, &e) || e.Code != tt.code || e.Status != tt.status {
					t.Fatalf("err = %#v, want code %s status %d", err, tt.code, tt.status)
				}
				if n != tt.tries {
					t.Errorf("%d tries, want %d", n, tt.tries)
				}
				if strings.Contains(err.Error(), "html") || strings.Contains(err.Error(), "SECRET") {
					t.Errorf("the error quotes the body or the token: %v", err)
				}
			})
		})
	}
}

// TestDetailsKeepDigits covers B74: numbers beyond 2^53 stay exact.
func TestDetailsKeepDigits(t *testing.T) {
	c := tripClient(t, -1, func(*http.Request) (*http.Response, error) {
		return respond(412, nil, refusal("signalbox.revision_mismatch", `,"details":{"n":9007199254740993}`)), nil
	})
	_, err := c.Do(t.Context(), aClaim)
	var e *acop.Error
	if !errors.As(err, &e) || e.Details["n"] != json.Number("9007199254740993") {
		t.Errorf("err = %#v", err)
	}
}

// TestNoRedirectFollowed covers H-007 and B73 over a real socket.
func TestNoRedirectFollowed(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	t.Cleanup(other.Close)
	srv := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(srv.Close)
	c := newClient(t, Options{BaseURL: srv.URL, Identity: "me"})
	if _, err := c.Do(t.Context(), aClaim); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("err = %v", err)
	}
	if _, err := c.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("err = %v", err)
	}
}

// TestTokenIsRefreshedOnce covers C.3 "unauthenticated".
func TestTokenIsRefreshedOnce(t *testing.T) {
	tokens := []string{"old", "new", "newer"}
	var used []string
	c := newClient(t, Options{
		BaseURL: "http://owner.test/", Identity: "me", Patience: -1,
		Token: func(context.Context) (string, error) {
			tok := tokens[0]
			tokens = tokens[1:]
			return tok, nil
		},
		HTTPClient: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			used = append(used, r.Header.Get("Authorization"))
			return respond(401, nil, refusal("unauthenticated", "")), nil
		})},
	})
	if _, err := c.Do(t.Context(), aClaim); !isCode(err, acop.CodeUnauthenticated) {
		t.Errorf("err = %v", err)
	}
	if strings.Join(used, ",") != "Bearer old,Bearer new" {
		t.Errorf("used %v", used)
	}
}

// TestSilentOwner covers B29: one try is bounded, and the error says what it was.
func TestSilentOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := tripClient(t, -1, func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		_, err := c.Do(t.Context(), aClaim)
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "no answer in time") {
			t.Errorf("err = %v", err)
		}
		if took := time.Since(start); took != tryTimeout {
			t.Errorf("took %s", took)
		}
	})
}
