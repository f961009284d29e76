package mcp

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"signalbox/model/acop"
)

// TestEveryRefusalHasARemedy holds every code of the vocabulary against the words
// for a model: what to do is said, and no tool is named that does not exist.
func TestEveryRefusalHasARemedy(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, tl := range tools() {
		known[tl.about.Name] = true
	}
	for _, info := range acop.Vocabulary() {
		f := faultOf(toolClaim, "a", &acop.Error{Code: info.Code, Message: info.Plain, RetryAfterSeconds: 7})
		if len(f.Next) < 8 {
			t.Errorf("%s: the remedy is %q", info.Code, f.Next)
		}
		for _, w := range strings.FieldsFunc(f.Next, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
			if strings.HasPrefix(w, "acop_") && !known[w] {
				t.Errorf("%s names the tool %s, which does not exist", info.Code, w)
			}
		}
	}
	if got := next(toolClaim, acop.Errorf("x.new", "new")); got == "" {
		t.Error("a code of a newer owner has no remedy")
	}
	wait := next(toolClaim, acop.Errorf(acop.CodeGateBlocked, "wait").With("claim_intent_id", "intent:1"))
	denied := next(toolClaim, acop.Errorf(acop.CodeGateBlocked, "no").With("reason", "denied"))
	if !strings.Contains(wait, "intent:1 waits for a lead") || !strings.Contains(denied, "refused") {
		t.Errorf("waiting: %s\ndenied: %s", wait, denied)
	}
}

// TestSchemasNameWhatTheOwnerTakes shows that the closed sets come from the model
// and that no argument may be null.
func TestSchemasNameWhatTheOwnerTakes(t *testing.T) {
	t.Parallel()
	for _, tl := range tools() {
		raw, err := json.Marshal(tl.about.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), `"null"`) {
			t.Errorf("%s takes null: %s", tl.about.Name, raw)
		}
	}
	s := inputOf(reflect.TypeFor[createArgs]())
	if n := len(s.Properties["work_kind"].Enum); n != len(acop.WorkKinds()) {
		t.Errorf("work_kind has %d values, the model %d", n, len(acop.WorkKinds()))
	}
	if b := s.Properties["blockers"].Items.Properties["severity"]; len(b.Enum) != len(acop.Severities()) {
		t.Errorf("the severity of a blocker: %+v", b)
	}
}

// FuzzDecode: whatever arrives as arguments is taken or refused in words, and
// what is taken has no name twice and no NUL.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{}`, `{"claim_id":"c","action":"renew"}`, `{"claim_id":"c","claim_id":"d","action":"renew"}`, `[]`, `nul`, "\xff",
		`{"claim_id":"\u0000","action":"renew"}`, `{"claim_id":"c","action":"renew","requested_ttl_seconds":1e400}`, `{"claim_id":"\ud800","action":"renew"}`} {
		f.Add([]byte(s))
	}
	schema := compile("fuzz", inputOf(reflect.TypeFor[updateArgs]()))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var a updateArgs
		refused := decode(schema, raw, &a)
		if refused != nil {
			if refused.Message == "" || len(refused.Message) > 2000 {
				t.Fatalf("%q is refused with %q", raw, refused.Message)
			}
			return
		}
		if strings.TrimSpace(string(a.ClaimID)) == "" || strings.ContainsRune(string(a.ClaimID), 0) || a.Action == "" {
			t.Fatalf("%q was taken as %+v", raw, a)
		}
	})
}
