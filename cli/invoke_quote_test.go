package cli

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"signalbox/model/acmp"
	provider "signalbox/server/acmp"
)

// priced serves "work" for price; valid 0 makes no offers. It says who it is.
func priced(t *testing.T, name, price string, valid time.Duration) string {
	t.Helper()
	p, err := provider.New(t.Context(), provider.Options{
		ProviderID: "agent:" + name + ":local", OfferValid: valid,
		Capabilities: []provider.Capability{{
			Info: acmp.Capability{Name: "work", PriceCU: json.Number(price)},
			Handler: func(context.Context, *provider.Task) (provider.Output, error) {
				out := acmp.Text(name)
				return provider.Output{Payload: &out}, nil
			},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(p.Handler())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		_ = p.Close(ctx)
		srv.Close()
	})
	return name + "=" + srv.URL
}

// Layer 6, section 5: --quote asks all at once, shows what they say, takes the
// cheapest valid offer, and pays no more than was offered.
func TestInvokeQuote(t *testing.T) {
	dear, cheap, mute := priced(t, "dear", "0.30", time.Minute), priced(t, "cheap", "0.3e0", time.Minute), priced(t, "mute", "0.1", 0)
	cheaper := priced(t, "cheaper", "0.29999999999999999", time.Minute)
	nobody := "nobody=http://127.0.0.1:1/"
	cases := map[string]struct {
		args   []string
		code   int
		stdout string
		stderr []string
	}{
		"cheapest":         {[]string{dear, cheaper, mute, nobody}, 0, "cheaper", []string{"PROVIDER", "accepted", "not taken", "makes no offers", "connection refused"}},
		"equal: the first": {[]string{cheap, dear}, 0, "cheap", nil},
		"above all":        {[]string{dear, cheaper, "--max-price", "0.2"}, 1, "", []string{"budget_exceeded", "no offer could be taken"}},
		"only one":         {[]string{dear, cheaper, "--on", "dear"}, 0, "dear", nil},
		"nobody quotes":    {[]string{mute}, 1, "", []string{"makes no offers"}},
		"nobody there":     {[]string{nobody}, 3, "", nil},
	}
	for name, c := range cases {
		args := []string{"invoke", "work", "--quote", "--quote-wait", "20s"}
		for _, a := range c.args {
			if strings.Contains(a, "=") {
				args = append(args, "--provider")
			}
			args = append(args, a)
		}
		got := runWith(t.Context(), "", invokeEnv(t), args...)
		if got.code != c.code || got.stdout != c.stdout {
			t.Errorf("%s: code %d, stdout %q, stderr %s", name, got.code, got.stdout, got.stderr)
		}
		for _, want := range c.stderr {
			if !strings.Contains(got.stderr, want) {
				t.Errorf("%s: stderr lacks %q: %s", name, want, got.stderr)
			}
		}
	}
}

// With --json the offers are events too.
func TestInvokeQuoteJSON(t *testing.T) {
	got := runWith(t.Context(), "", invokeEnv(t), "invoke", "work", "--quote", "--quote-wait", "20s", "--json",
		"--provider", priced(t, "a", "2", time.Minute), "--provider", priced(t, "b", "1", time.Minute))
	var events, accepted []string
	for line := range strings.Lines(got.stdout) {
		var m struct {
			Event, Provider string
			Accepted        bool
			Offer           *acmp.Offer
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		events = append(events, m.Event)
		if m.Accepted {
			accepted = append(accepted, m.Provider+string(m.Offer.PriceCU))
		}
	}
	if s := strings.Join(events, " "); s != "offer offer sent chunk result" && s != "offer offer sent result" || strings.Join(accepted, "") != "b1" || got.code != 0 {
		t.Errorf("code %d: %v, accepted %v, stderr %s", got.code, events, accepted, got.stderr)
	}
}

// a deadline that is not above the promised latency is warned of; the two are
// different things, so it is used all the same.
func TestTightDeadline(t *testing.T) {
	sla := int64(800)
	for timeout, warn := range map[int64]bool{799: true, 800: true, 801: false} {
		if got := tightDeadline(&acmp.Offer{LatencySLAMS: &sla}, timeout); (got != "") != warn {
			t.Errorf("%d ms: %q", timeout, got)
		}
	}
	if got := tightDeadline(&acmp.Offer{}, 1); got != "" {
		t.Errorf("nothing promised: %q", got)
	}
}
