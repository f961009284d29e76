package acop

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestUnexpectedFailure tells nothing of its inside (H-064).
func TestUnexpectedFailure(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	var log logBuffer
	broken := &Server{opts: b.owner.opts, count: &metrics{}, log: slog.New(slog.NewTextHandler(&log, nil)), base: DefaultBasePath}
	broken.opts.Config.RateLimit = RateLimit{PerSecond: 1, Burst: 1}
	broken.service = nil // whatever it touches next panics
	req := httptest.NewRequest("GET", DefaultBasePath+"settings", nil)
	req.Host = "localhost"
	req.Header.Set("Authorization", "Bearer "+b.tokens["lead-01"])
	w := httptest.NewRecorder()
	broken.Handler().ServeHTTP(w, req)
	if w.Code != 500 || !strings.Contains(w.Body.String(), `"internal_error"`) || strings.Contains(w.Body.String(), "goroutine") || strings.Contains(w.Body.String(), "nil") {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "goroutine") || strings.Contains(log.String(), b.tokens["lead-01"]) {
		t.Fatalf("log: %s", log.String())
	}
}

// TestLogGone answers with backend_unavailable and a hint when to ask again
// (C.3, H-066).
func TestLogGone(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	b.want(b.verb("work-items", "w", "cancel", "lead-01", m{"reason": "x"}), 503, "backend_unavailable")
}

// TestHangUp loses nothing when clients give up early: the retry with the same
// key finds the one outcome (B46, B61).
func TestHangUp(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	payload := mustJSON(claimBody("w", "worker-http", 60))
	for i := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*200*time.Microsecond)
		req, err := http.NewRequestWithContext(ctx, "POST", b.http.URL+DefaultBasePath+"claims", strings.NewReader(payload))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + b.tokens["worker-http"]}, "Content-Type": {"application/json"}, "Idempotency-Key": {"k"}}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
		}
		cancel()
	}
	r := b.do("POST", "claims", "worker-http", payload, header{"Idempotency-Key": "k"})
	b.want(r, 201, "")
	if n := b.countEvents("w", "claim"); n != 1 || b.item("w").text("item.lease.claim.claim_id") != r.text("claim.claim_id") {
		t.Fatalf("%d claims", n)
	}
}

// TestRepeatedWishes keep one waiting request per worker and item, whatever
// intent ids are sent.
func TestRepeatedWishes(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.Config.GrantMode = "lead" })
	b.put("w", nil, nil)
	ask := func(intent string) reply {
		c := claimBody("w", "worker-http", 60)
		if intent != "" {
			c["claim_intent_id"] = intent
		}
		return b.do("POST", "claims", "worker-http", c)
	}
	ask("i1")
	b.want(b.verb("claim-intents", "i1", "grant", "lead-01", nil), 200, "")
	got := ask("i1")
	b.want(got, 201, "")
	b.want(b.verb("claims", got.text("claim.claim_id"), "release", "worker-http", nil), 200, "")
	first := ask("i1").text("error.details.claim_intent_id")
	for _, id := range []string{"i1", "i2", ""} {
		if again := ask(id).text("error.details.claim_intent_id"); again != first || again == "" {
			t.Fatalf("asked with %q: %s, before %s", id, again, first)
		}
	}
	b.put("x", nil, nil)
	c := claimBody("x", "worker-http", 60)
	c["claim_intent_id"] = "i1"
	b.want(b.do("POST", "claims", "worker-http", c), 409, "signalbox.work_item_conflict")
}
