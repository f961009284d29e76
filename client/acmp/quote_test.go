package acmp

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// quoting answers the requests of layer 6 with results, or errors, made from the
// members given.
func quoting(offer, acceptance string) func(*answerWriter, wireRequest) bool {
	return func(w *answerWriter, req wireRequest) bool {
		body := map[string]string{acmp.MethodOfferRequest: offer, acmp.MethodAccept: acceptance}[req.Method]
		if body == "" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w.ResponseWriter, `{"jsonrpc":"2.0","id":%s,%s}`, req.ID, body)
		return true
	}
}

func offerOf(capability, price string, validMS int64) string {
	return fmt.Sprintf(`"result":{"resultType":"complete","offer_id":"offer_1","capability":%q,"price_cu":%s,"valid_until_ms":%d.5,"sig":{}}`,
		capability, price, time.Now().UnixMilli()+validMS)
}

// Layer 6: offers are asked for and accepted; what is offered or accepted against
// the rules is an error, and the codes of the provider are kept.
func TestQuoteAndAccept(t *testing.T) {
	good := offerOf("cap", "0.003", 5000)
	ack := `"result":{"resultType":"complete","offer_id":"offer_1","price_cu":0.003}`
	fail := func(code int) string { return fmt.Sprintf(`"error":{"code":%d,"message":"no"}`, code) }
	cases := map[string]struct {
		offer, ack string
		code       int // of the error; 0 = accepted
		local      bool
	}{
		"accepted":         {good, ack, 0, false},
		"too dear":         {fail(acmp.CodeBudgetExceeded), ack, acmp.CodeBudgetExceeded, false},
		"not served":       {fail(acmp.CodeCapabilityNotFound), ack, acmp.CodeCapabilityNotFound, false},
		"no proof":         {fail(acmp.CodeProofUnsupported), ack, acmp.CodeProofUnsupported, false},
		"other capability": {offerOf("other", "0.003", 5000), ack, acmp.CodeInternal, true},
		"above ceiling":    {offerOf("cap", "0.00500000000000001", 5000), ack, acmp.CodeInternal, true},
		"expired":          {offerOf("cap", "0.003", -5000), ack, acmp.CodeInternal, true},
		"no offer":         {`"result":{"resultType":"complete"}`, ack, acmp.CodeInternal, true},
		"unknown offer":    {good, fail(acmp.CodeOfferNotFound), acmp.CodeOfferNotFound, false},
		"expired at once":  {good, fail(acmp.CodeOfferExpired), acmp.CodeOfferExpired, false},
		"used":             {good, fail(acmp.CodeAlreadyAccepted), acmp.CodeAlreadyAccepted, false},
		"other price":      {good, `"result":{"offer_id":"offer_1","price_cu":0.004}`, acmp.CodeInternal, true},
		"other offer":      {good, `"result":{"offer_id":"offer_2","price_cu":0.003}`, acmp.CodeInternal, true},
	}
	for name, c := range cases {
		p := newFakeProvider(t, 0, nil)
		p.other = quoting(c.offer, c.ack)
		b, _ := newBuyer(t, p.URL, nil)
		ceiling := jsonNumber("0.005")
		o, err := b.Quote(t.Context(), "p", acmp.OfferRequest{Capability: "cap", MaxPriceCU: &ceiling})
		if err == nil {
			var a *acmp.Acceptance
			if a, err = b.Accept(t.Context(), "p", o, ""); err == nil && a.PriceCU != "0.003" {
				t.Errorf("%s: %+v", name, a)
			}
		}
		var e *acmp.Error
		switch {
		case c.code == 0 && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.code != 0 && (!errors.As(err, &e) || e.Code != c.code || e.Local != c.local):
			t.Errorf("%s: %v", name, err)
		}
	}
}

// a provider without layer 6 says so, over HTTP and over a pipe; one that
// cannot be reached is told apart.
func TestNoQuotes(t *testing.T) {
	p := newFakeProvider(t, 0, nil)
	b, _ := newBuyer(t, p.URL, nil)
	if _, err := b.Quote(t.Context(), "p", acmp.OfferRequest{Capability: "cap"}); !errors.Is(err, ErrNoQuotes) {
		t.Errorf("HTTP: %v", err)
	}
	c, _, _ := childBuyer(t, "plain", nil)
	if _, err := c.Quote(t.Context(), "p", acmp.OfferRequest{Capability: "cap"}); !errors.Is(err, ErrNoQuotes) {
		t.Errorf("stdio: %v", err)
	}
	d, _ := newBuyer(t, "http://127.0.0.1:1/", nil)
	var r *Refusal
	if _, err := d.Quote(t.Context(), "p", acmp.OfferRequest{Capability: "cap"}); !errors.As(err, &r) || !r.Unreachable {
		t.Errorf("nobody there: %v", err)
	}
}
