package ui

import "testing"

// TestPayloadOf shows that what was typed becomes an input that any provider
// takes, nothing typed included.
func TestPayloadOf(t *testing.T) {
	for _, c := range []struct{ raw, typ, wantType, wantData, wantWhy string }{
		{"", "text", "text", `""`, ""},
		{"", "json", "json", `null`, ""},
		{"say \"hi\"", "text", "text", `"say \"hi\""`, ""},
		{"a\xffb", "text", "text", "\"a\ufffdb\"", ""},
		{`{"a": 1}`, "json", "json", `{"a": 1}`, ""},
		{`{"a"`, "json", "", "", "the input is not valid JSON"},
	} {
		p, why := payloadOf(c.raw, c.typ)
		if why != c.wantWhy {
			t.Errorf("payloadOf(%q, %s) says %q, want %q", c.raw, c.typ, why, c.wantWhy)
			continue
		}
		if why != "" {
			continue
		}
		if p == nil || p.Type != c.wantType || string(p.Data) != c.wantData {
			t.Errorf("payloadOf(%q, %s) = %+v, want %s %s", c.raw, c.typ, p, c.wantType, c.wantData)
		}
	}
}
