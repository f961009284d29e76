package acmp

import (
	"encoding/json"
	"testing"
	"time"
)

func num(s string) *json.Number { n := json.Number(s); return &n }

// An offer is usable while it holds, is for what was asked, and costs at most
// the ceiling, compared as decimals.
func TestOfferProblem(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	good := Offer{OfferID: "o", Capability: "c", PriceCU: "0.3", ValidUntilMS: float64(now.UnixMilli() + 1)}
	cases := map[string]struct {
		change  func(*Offer)
		ceiling *json.Number
		usable  bool
	}{
		"good":             {func(*Offer) {}, nil, true},
		"at the ceiling":   {func(*Offer) {}, num("3e-1"), true},
		"above by little":  {func(o *Offer) { o.PriceCU = "0.30000000000000001" }, num("0.3"), false},
		"other capability": {func(o *Offer) { o.Capability = "d" }, nil, false},
		"no id":            {func(o *Offer) { o.OfferID = "" }, nil, false},
		"no price":         {func(o *Offer) { o.PriceCU = "" }, nil, false},
		"negative":         {func(o *Offer) { o.PriceCU = "-1" }, nil, false},
		"last instant":     {func(o *Offer) { o.ValidUntilMS-- }, nil, true},
		"just over":        {func(o *Offer) { o.ValidUntilMS -= 2 }, nil, false},
		"no validity":      {func(o *Offer) { o.ValidUntilMS = 0 }, nil, false},
		"absurd validity":  {func(o *Offer) { o.ValidUntilMS = 1e300 }, nil, false},
		"other proof":      {func(o *Offer) { o.ProofMethod = "tee" }, nil, false},
	}
	for name, c := range cases {
		o := good
		c.change(&o)
		if got := o.Problem(&OfferRequest{Capability: "c", ProofMethod: "result-hash", MaxPriceCU: c.ceiling}, now); (got == "") != c.usable {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestDecodeOffers(t *testing.T) {
	for raw, ok := range map[string]bool{
		`{"capability":"c","max_price_cu":0.1,"new":1}`: true, `{"capability":"c","max_price_cu":null}`: true,
		`{}`: false, `[]`: false, ``: false, `{"capability":7}`: false, `{"capability":"c","max_price_cu":-1}`: false,
	} {
		if _, e := DecodeOfferRequest(json.RawMessage(raw)); (e == nil) != ok || e != nil && e.Code != CodeInvalidParams {
			t.Errorf("%s: %+v", raw, e)
		}
	}
	for raw, ok := range map[string]bool{`{"offer_id":"x"}`: true, `{"offer_id":""}`: false, `{"offer_id":1}`: false} {
		if _, e := DecodeAccept(json.RawMessage(raw)); (e == nil) != ok {
			t.Errorf("%s: %+v", raw, e)
		}
	}
	b, err := json.Marshal(Offer{OfferID: "o", Capability: "c", PriceCU: "0.003", ValidUntilMS: 1783017900050})
	if err != nil || string(b) != `{"offer_id":"o","capability":"c","price_cu":0.003,"valid_until_ms":1783017900050}` {
		t.Errorf("wire form %s, %v", b, err)
	}
}
