package acmp

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// A-151, B105: a provider that says the token back does not make it seen, in no
// event, error, ledger or log.
func TestTokenSaidBack(t *testing.T) {
	const secret = "SECRET-12345678"
	auth := func(r wireRequest) string { return r.Header.Get("Authorization") }
	for name, answer := range map[string]func(w *answerWriter, r wireRequest){
		"error": func(w *answerWriter, r wireRequest) {
			w.event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-33099,"message":"no, %s","data":{"detail":"%[2]s","more":[{"%[2]s":"x"},"%[2]s"]}}}`, r.ID, auth(r)))
		},
		"status": func(w *answerWriter, r wireRequest) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32003,"message":%q}}`, r.ID, auth(r))
		},
		"long": func(w *answerWriter, r wireRequest) {
			w.event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-33099,"message":%q}}`, r.ID, strings.Repeat("x", maxDetail-len("Bearer [secret]"))+auth(r)))
		},
		"heartbeat": func(w *answerWriter, r wireRequest) {
			w.heartbeat(fmt.Sprintf(`,"detail":%q`, auth(r)))
			w.result(fmt.Sprintf(`"output":{"type":"text","data":"x"},"provider_id":%q`, auth(r)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newFakeProvider(t, 0, func(w *answerWriter, r wireRequest, _ int) { answer(w, r) })
			var log logBuffer
			dir := t.TempDir()
			b, rec := newBuyer(t, p.URL, func(o *Options) {
				o.Providers[0].Token = NewSecret(secret)
				o.StateDir = dir
				o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			})
			id := invoke(t, b, invocation(nil))
			told := fmt.Sprint(name, ": ")
			for _, ev := range rec.outcome(t, id) {
				told += fmt.Sprintf("%+v %+v %+v\n", ev, ev.Err, ev.Result)
			}
			eventually(t, func() bool { _, err := b.find(id); return err != nil }, "the task to be over")
			ledger, err := os.ReadFile(filepath.Join(dir, "ledger.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []string{told, string(ledger), log.String()} {
				if strings.Contains(s, "SECRET") {
					t.Errorf("the token is told: %s", s)
				}
			}
			if !strings.Contains(told, "[secret]") {
				t.Errorf("the token was not said back: %s", told)
			}
		})
	}
}

// The same of a provider on stdio: its environment holds the token.
func TestTokenSaidBackOnStdio(t *testing.T) {
	var log logBuffer
	b, rec := newBuyer(t, "", func(o *Options) {
		o.Providers = []ProviderSpec{{Name: "p", Token: NewSecret("SECRET-12345678"),
			Command: []string{"sh", "-c", `echo "stray $ACMP_BEARER_TOKEN"; echo "bad $ACMP_BEARER_TOKEN" >&2; exit 3`}}}
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.ConnectTimeout = 5 * time.Second
	})
	_, err := b.Invoke(t.Context(), invocation(nil))
	if err == nil || !strings.Contains(err.Error(), "bad [secret]") {
		t.Errorf("%v", err)
	}
	for _, s := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", rec.lastProvider()), log.String()} {
		if strings.Contains(s, "SECRET") {
			t.Errorf("the token is told: %s", s)
		}
	}
}

// A request that is no task tells the token as little.
func TestTokenSaidBackInAnOffer(t *testing.T) {
	p := newFakeProvider(t, 0, nil)
	p.other = func(w *answerWriter, r wireRequest) bool {
		if r.Method != acmp.MethodOfferRequest {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32003,"message":%q}}`, r.ID, r.Header.Get("Authorization"))
		return true
	}
	b, _ := newBuyer(t, p.URL, func(o *Options) { o.Providers[0].Token = NewSecret("SECRET-12345678") })
	_, err := b.Quote(t.Context(), "p", acmp.OfferRequest{Capability: "cap"})
	if err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("%v", err)
	}
}

// What a person cannot tell from chance is no token to hide.
func TestShortTokenIsNotLookedFor(t *testing.T) {
	if got := NewSecret("a").hide("a banana"); got != "a banana" {
		t.Error(got)
	}
	if got := (Secret{}).hide("x"); got != "x" {
		t.Error(got)
	}
}
