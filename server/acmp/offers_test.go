package acmp

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"signalbox/model/acmp"
)

func offering() Options {
	o := only(stream(1))()
	o.Capabilities[0].Info.PriceCU = "0.30"
	o.OfferValid = 5 * time.Second
	return o
}

// result decodes the result of a request of layer 6.
func result[T any](t *testing.T, m message) T {
	t.Helper()
	var r struct{ Result T }
	if m.Error != nil {
		t.Fatalf("answer: %s", m.raw)
	}
	if err := json.Unmarshal(m.raw, &r); err != nil {
		t.Fatal(err)
	}
	return r.Result
}

// layer 6: a quote, accepted once, bounds the price of one task
// even where the list price has changed since.
func TestOfferAcceptInvoke(t *testing.T) {
	onBoth(t, offering, func(t *testing.T, p *Provider, c peer) {
		ask := map[string]any{"capability": "work", "max_price_cu": 0.5, "proof_method": "result-hash", "offer_valid_ms": 60000, "preferred_tier": "B", "future": 1}
		offer := result[acmp.Offer](t, c.request(t, acmp.MethodOfferRequest, ask).answer(t))
		if offer.PriceCU != "0.30" || offer.Capability != "work" || offer.ProofMethod != "result-hash" || offer.ResultType != "complete" {
			t.Errorf("offer %+v", offer)
		}
		if left := time.Until(offer.ValidUntil()); left <= 0 || left > 5*time.Second { // clamped
			t.Errorf("valid for %v", left)
		}
		accept := map[string]any{"offer_id": offer.OfferID, "escrow_id": "esc_1"}
		ack := result[acmp.Acceptance](t, c.request(t, acmp.MethodAccept, accept).answer(t))
		if ack.PriceCU != "0.30" || ack.OfferID != offer.OfferID || ack.EscrowID != "esc_1" || ack.ResultType != "complete" {
			t.Errorf("acceptance %+v", ack)
		}
		if code := c.request(t, acmp.MethodAccept, accept).code(t); code != acmp.CodeAlreadyAccepted {
			t.Errorf("a second acceptance: %d", code)
		}
		dearer := offering()
		dearer.Capabilities[0].Info.PriceCU = "9"
		if err := p.Reload(Config{Capabilities: dearer.Capabilities}); err != nil {
			t.Fatal(err)
		}
		m := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"escrow_id": "esc_1", "max_price_cu": 0.3})).answer(t)
		if m.Result == nil || m.Result.CostCU != "0.30" {
			t.Errorf("answer: %s", m.raw)
		}
		if code := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"offer_id": offer.OfferID})).code(t); code != acmp.CodeAlreadyAccepted {
			t.Errorf("a second task: %d", code)
		}
		m = c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), nil)).answer(t)
		if m.Result == nil || m.Result.CostCU != "9" {
			t.Errorf("without an offer: %s", m.raw)
		}
	})
}

// Layer 6, section 6: what is refused, and how.
func TestOfferRefusals(t *testing.T) {
	onBoth(t, offering, func(t *testing.T, p *Provider, c peer) {
		good := result[acmp.Offer](t, c.request(t, acmp.MethodOfferRequest, map[string]any{"capability": "work", "offer_valid_ms": 1}).answer(t))
		eventually(t, "the offer has run out", func() bool { return time.Now().After(good.ValidUntil()) })
		at := len(good.OfferID) - 10
		other := "A"
		if good.OfferID[at] == 'A' {
			other = "B"
		}
		forged := good.OfferID[:at] + other + good.OfferID[at+1:]
		for _, tc := range []struct {
			method string
			params map[string]any
			code   int
		}{
			{acmp.MethodOfferRequest, map[string]any{"capability": "nope"}, acmp.CodeCapabilityNotFound},
			{acmp.MethodOfferRequest, map[string]any{"capability": "work", "max_price_cu": 0.29}, acmp.CodeBudgetExceeded},
			{acmp.MethodOfferRequest, map[string]any{"capability": "work", "proof_method": "zk"}, acmp.CodeProofUnsupported},
			{acmp.MethodOfferRequest, map[string]any{}, acmp.CodeInvalidParams},
			{acmp.MethodAccept, map[string]any{}, acmp.CodeInvalidParams},
			{acmp.MethodAccept, map[string]any{"offer_id": "offer_unknown"}, acmp.CodeOfferNotFound},
			{acmp.MethodAccept, map[string]any{"offer_id": forged}, acmp.CodeOfferNotFound},
			{acmp.MethodAccept, map[string]any{"offer_id": good.OfferID + "\n"}, acmp.CodeOfferNotFound}, // decodes to the same bytes
			{acmp.MethodAccept, map[string]any{"offer_id": good.OfferID}, acmp.CodeOfferExpired},
			{acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"offer_id": good.OfferID}), acmp.CodeOfferNotFound},
		} {
			m := c.request(t, tc.method, tc.params).answer(t)
			if m.Error == nil || m.Error.Code != tc.code {
				t.Errorf("%s %v: %s", tc.method, tc.params, m.raw)
			}
		}
		if n := len(p.offers.accepted); n != 0 { // quoting holds nothing
			t.Errorf("%d offers held", n)
		}
	})
}

// Layer 6: an offer belongs to the buyer it was made to.
func TestOfferOfAnotherBuyer(t *testing.T) {
	o := newOffers(Limits{AcceptedOffers: 1, OutcomeAge: time.Minute})
	name := func(string) string { return "work" }
	tm := terms{capability: "work", price: "1", until: time.Now().Add(time.Second)}
	id := o.seal(tm, "alice")
	if _, bad := o.accept(id, "", "bob", name); bad == nil || bad.Code != acmp.CodeOfferNotFound {
		t.Errorf("bob: %v", bad)
	}
	if got, bad := o.accept(id, "", "alice", name); bad != nil || got.price != "1" {
		t.Errorf("alice: %v %v", got, bad)
	}
	if _, bad := o.accept(o.seal(tm, "alice"), "", "alice", name); bad == nil || !strings.Contains(bad.Data["detail"].(string), "held") { // B84
		t.Errorf("above the bound: %v", bad)
	}
}
