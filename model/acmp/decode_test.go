package acmp

import (
	"strings"
	"testing"
)

// a name in other letters is an unknown member, before and behind the real one.
func TestNamesMatchToTheLetter(t *testing.T) {
	for _, raw := range []string{
		`{"task_id":"a","capability":"work","input":{"type":"text","data":"x"},"Task_ID":"zz","CAPABILITY":"nope","Input":{"type":"text","data":"y"}}`,
		`{"Task_ID":"zz","CAPABILITY":7,"input":{"Type":5,"type":"text","data":"x","DATA":"y"},"task_id":"a","capability":"work"}`,
	} {
		p, bad := DecodeInvoke([]byte(raw))
		if bad != nil {
			t.Errorf("%s: %v", raw, bad.Data)
			continue
		}
		if p.TaskID != "a" || p.Capability != "work" || p.Input.Type != "text" || string(p.Input.Data) != `"x"` {
			t.Errorf("%s: %+v", raw, p)
		}
	}
	if _, bad := DecodeInvoke([]byte(`{"TASK_ID":"zz","capability":"work"}`)); bad == nil || bad.Data["detail"] != "task_id is missing" || bad.Data["task_id"] != nil {
		t.Errorf("only in other letters: %v", bad)
	}
	if r, bad := DecodeOfferRequest([]byte(`{"capability":"work","Capability":"nope"}`)); bad != nil || r.Capability != "work" {
		t.Errorf("offer request: %v", bad)
	}
	if a, bad := DecodeAccept([]byte(`{"offer_id":"o","OFFER_ID":"p"}`)); bad != nil || a.OfferID != "o" {
		t.Errorf("accept: %v", bad)
	}
	s, err := ReadSettings(map[string]any{ExtensionID: map[string]any{"version": "0.1.0", "VERSION": "9", "role": "provider"}})
	if err != nil || s.Version != "0.1.0" {
		t.Errorf("settings: %v %v", s, err)
	}
}

// a price is a number, kept to the digit; a string is none.
func TestPriceIsANumber(t *testing.T) {
	const rest = `"task_id":"a","capability":"work","input":{"type":"text","data":"x"}}`
	for _, price := range []string{`"1"`, `"0.01"`, `true`, `[1]`, `{}`} {
		_, bad := DecodeInvoke([]byte(`{"max_price_cu":` + price + `,` + rest))
		if bad == nil || !strings.HasPrefix(bad.Data["detail"].(string), "max_price_cu ") || bad.Data["task_id"] != "a" {
			t.Errorf("%s: %v", price, bad)
		}
		if _, bad := DecodeOfferRequest([]byte(`{"capability":"work","max_price_cu":` + price + `}`)); bad == nil {
			t.Errorf("offer request with %s is taken", price)
		}
	}
	for _, price := range []string{"1.50", "0.1000000000000000000000000001", "1e-3", "0"} {
		p, bad := DecodeInvoke([]byte(`{"max_price_cu":` + price + `,` + rest))
		if bad != nil || p.MaxPriceCU == nil || p.MaxPriceCU.String() != price {
			t.Errorf("%s: %v %v", price, p, bad)
		}
	}
	if p, bad := DecodeInvoke([]byte(`{"max_price_cu":null,` + rest)); bad != nil || p.MaxPriceCU != nil {
		t.Errorf("null: %v %v", p, bad)
	}
}
