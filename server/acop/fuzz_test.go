package acop

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	core "signalbox/model/acop"
)

// FuzzBody feeds the request decoder of every verb: it never panics, whatever it
// takes is JSON to others too, and its refusals have a code of the vocabulary
// and quote no value.
func FuzzBody(f *testing.F) {
	f.Add(mustJSON(claimBody("w", "worker", 60)))
	f.Add(mustJSON(body(m{"work_item": workItem("w", m{"title": "ü"})})))
	f.Add(`{"protocol_version":"acop/1.3","entry":{"work_item_id":"w"}}`)
	f.Add(`{"protocol_version":"acop/1.0","reason":"\ud800","x":1e999}`)
	f.Add(`{"a":[[[[{}]]]]} `)
	f.Add(mustJSON(body(m{"claim_intent": m{"work_item_id": "w", "worker_agent_uid": "a", "requested_ttl_seconds": 1, "scope": "s"}})))
	f.Add(mustJSON(body(m{"entry": entryOf("w", "a", m{"created_at_utc": "2026-05-16T19:13:02.1234567890Z", "confidence": 1e-300})})))
	f.Add(`{"protocol_version":"acop/1.1","work_item":{"protocol_version":"acop/1.1","x":1},"blockers":[{"severity":"low"}]}`)
	f.Add(`{"protocol_version":"acop/1.0","completion_evidence":{"validation_results":["a","a"],"artifact_ids":null}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		read, refused := readJSON([]byte(raw))
		if refused != nil {
			known(t, refused)
			return
		}
		if !json.Valid([]byte(raw)) {
			t.Fatalf("taken, but not JSON: %q", raw)
		}
		// What the schemas see and what is decoded is what was sent.
		for _, text := range []string{raw, string(read.bytes())} {
			want, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if diff := cmp.Diff(want, any(read.tree)); err != nil || diff != "" {
				t.Fatalf("%q was read as %v: %v", text, diff, err)
			}
		}
		for i := range routes {
			for _, ep := range routes[i].methods {
				if ep.parse == nil {
					continue
				}
				env, refused := readJSON([]byte(raw))
				if refused == nil {
					refused = env.version()
				}
				if refused != nil {
					known(t, refused)
					return
				}
				if r, refused := ep.parse(env, "id"); refused != nil {
					known(t, refused)
				} else if r.Verb == "" {
					t.Fatalf("%s: an act without a verb", routes[i].name)
				}
			}
		}
	})
}

func known(t *testing.T, e *core.Error) {
	t.Helper()
	if e.Code != core.CodeSchemaViolation && e.Code != core.CodeUnsupportedVersion || e.Message == "" {
		t.Fatalf("refused with %v", e)
	}
	if !json.Valid(errorJSON(e)) {
		t.Fatalf("the refusal is no JSON: %v", e)
	}
}

// FuzzPath feeds the router: no redirect, no panic, and an id that was escaped
// comes back as it was.
func FuzzPath(f *testing.F) {
	for _, id := range []string{"a/b", "..", "a%2Fb", "ü", "", "a//b", "#?", "\x00", "\xff", "%zz", "a\r\nb", "../../x", "cafe\u0301"} {
		f.Add(id)
	}
	s := &Server{opts: Options{Tokens: &Tokens{}}, count: &metrics{}, base: DefaultBasePath}
	f.Fuzz(func(t *testing.T, id string) {
		if id == "" {
			return
		}
		path := DefaultBasePath + "claims/" + strings.ReplaceAll(escaped(id), ".", "%2E") + "/renew"
		u, err := url.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", "/", nil)
		r.URL = u
		v := &visit{s: s, w: &recorder{ResponseWriter: httptest.NewRecorder()}, r: r}
		if _, refused := v.find(); refused != nil || v.id != id || v.route.name != "claims/{id}/renew" {
			t.Fatalf("%q became %q: %v", id, v.id, refused)
		}
		// The same text raw: whatever it means, it is answered.
		r = httptest.NewRequest("POST", "/", nil)
		r.Host, r.URL = "localhost", &url.URL{Path: DefaultBasePath + id}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code/100 == 3 || w.Code/100 == 5 || !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%q: %d %s", id, w.Code, w.Body)
		}
	})
}
