package acop

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestQueries are taken whole or not at all: a filter that is misspelt, no text
// or said twice must not come out as a longer list (B70, B71, H-070).
func TestQueries(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	for _, path := range []string{
		"work-items?q=%ff", "work-items?%ff=1", "work-items?q=a%00b", "work-items?q=%zz", "work-items?status=ready;order=score", "work-items?agents=x",
		"work-items?agent=a&agent=b", "pickup?agent=%c3%28", "pickup?colour=red", "claims?worker=x", "claims?agent=%ff", "claims?agent=a&agent=b",
		"claim-intents?agent=x", "blackboard?item=w", "blackboard?author=%ff", "agents?role=worker", "settings?x", "snapshot?colour=red",
		"events?before=1", "events?work_item=%ff", "events?after=1&after=2", "work-items/w?full=1", "claims/none?x=1", "blackboard/none?x=1",
	} {
		r := b.do("GET", path, "reader-01", nil)
		b.want(r, 400, "schema_violation")
		b.want(b.do("GET", path, "", nil), 401, "unauthenticated")
		if strings.ContainsRune(r.text("error.message"), '\ufffd') {
			t.Errorf("%s: the message quotes what is no text: %s", path, r.raw)
		}
	}
	b.want(b.do("GET", "claims?worker="+strings.Repeat("x", 50), "reader-01", nil), 400, "schema_violation")
	b.want(b.do("POST", "work-items/w/cancel?dry_run=1", "lead-01", body(m{"reason": "r"})), 400, "schema_violation")
	if st := b.status("w"); st != "ready" {
		t.Errorf("an act that was not understood whole was carried out: %s", st)
	}
	for _, path := range []string{"work-items?status=ready&status=blocked&min_revision=1", "claims?agent=a&work_item=w", "blackboard?since=0&limit=5", "settings?min_revision=1",
		"work-items?q=%C3%BC+x", "work-items?", "agents?min_revision=1"} {
		b.want(b.do("GET", path, "reader-01", nil), 200, "")
	}
	if r := b.do("HEAD", "work-items?agent=a", "reader-01", nil); r.status != 200 {
		t.Errorf("HEAD with a filter: %d", r.status)
	}
	b.want(b.do("GET", "settings?min_revision=x", "reader-01", nil), 400, "schema_violation")
}

// TestMediaType takes JSON under any parameters, which mean nothing for it, and
// judges the bytes as UTF-8 whatever a charset says (D-53, B70, H-002).
func TestMediaType(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	post := func(ct, summary string) reply {
		raw := strings.Replace(mustJSON(body(m{"work_item_id": "w", "entry_kind": "finding", "author_agent_uid": "worker-http",
			"created_at_utc": "2026-05-16T19:12:00Z", "status": "active", "summary": "S"})), `"S"`, `"`+summary+`"`, 1)
		return b.do("POST", "blackboard", "worker-http", raw, header{"Content-Type": ct})
	}
	for _, ct := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8", "application/json; charset=latin1", "application/json; x=y"} {
		r := post(ct, "Grüße")
		b.want(r, 201, "")
		if got := r.text("entry.summary"); got != "Grüße" {
			t.Errorf("%s: became %q", ct, got)
		}
		b.want(post(ct, "Gr\xfc\xdfe"), 400, "schema_violation")
	}
	for _, ct := range []string{"", "text/json", "application/jsonl", "application/json, text/plain", "application/json; charset=a; charset=b", "multipart/form-data; boundary=x"} {
		b.want(post(ct, "x"), 415, "signalbox.unsupported_media_type")
	}
}

// TestTimes takes instants in UTC with up to nine digits of a second, stores
// what the wire can carry, and refuses every other form wherever a time stands
// (H-008, D-54, B75).
func TestTimes(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	id := b.claim("w", "worker-http", 600)
	sends := map[string]func(at string) reply{
		"work_item": func(at string) reply {
			return b.do("PUT", "work-items", "lead-01", body(m{"work_item": workItem("t "+at, m{"created_at_utc": at})}))
		},
		"claim_intent": func(at string) reply {
			b.put("c "+at, nil, nil)
			c := claimBody("c "+at, "worker-other", 60)
			c["requested_at_utc"] = at
			return b.do("POST", "claims", "worker-other", c)
		},
		"heartbeat": func(at string) reply {
			return b.verb("claims", id, "heartbeat", "worker-http", m{"observed_at_utc": at})
		},
		"entry": func(at string) reply {
			return b.do("POST", "blackboard", "worker-http", body(m{"work_item_id": "w", "entry_kind": "finding", "author_agent_uid": "worker-http",
				"created_at_utc": at, "status": "active"}))
		},
	}
	for what, send := range sends {
		for _, at := range []string{"2026-05-16T19:13:02Z", "2026-05-16T19:13:02.1Z", "2026-05-16T19:13:02.123456789Z", "2028-02-29T23:59:59.999999999Z", "0001-01-01T00:00:01Z"} {
			if r := send(at); r.status >= 300 {
				t.Errorf("%s at %s: %s", what, at, r.raw)
			}
		}
		for _, at := range []string{"2026-05-16T19:13:02.1234567890Z", "2026-05-16T19:13:02.Z", "2026-05-16T19:13:02,5Z", "2026-05-16T19:13:02+00:00", "2026-05-16T19:13:02-00:00",
			"2026-05-16T19:13:02+02:00", "2026-05-16T19:13:02", "2026-05-16t19:13:02Z", "2026-05-16T19:13:02z", "2026-05-16 19:13:02Z", "2026-02-29T00:00:00Z",
			"2026-05-16T24:00:00Z", "2026-05-16T19:13:60Z", "2026-05-16", "19:13:02Z", "", " 2026-05-16T19:13:02Z", "10000-01-01T00:00:00Z"} {
			if r := send(at); r.status != 400 || r.code() != "schema_violation" || !strings.Contains(r.text("error.message"), "_utc") {
				t.Errorf("%s at %q: %d %s", what, at, r.status, r.raw)
			}
		}
	}
	if got := b.item("t 2026-05-16T19:13:02.123456789Z").text("item.work_item.created_at_utc"); got != "2026-05-16T19:13:02.123Z" {
		t.Errorf("stored as %s", got)
	}
}

// FuzzQuery feeds every read with any query: it is taken or refused as a whole,
// in JSON, and a filter that is told comes out as it was told.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{"agent=a", "q=%ff", "status=ready&status=x", "a;b", "limit=99999999999999999999", "between=%2C", "cursor=eyJ9", "min_revision=0", "%00=1"} {
		f.Add(q)
	}
	b := newBox(f, func(o *Options) { o.Config.RateLimit = RateLimit{PerSecond: 1e9, Burst: 1e9} })
	b.put("w", nil, nil)
	b.claim("w", "worker-http", 60)
	f.Fuzz(func(t *testing.T, q string) {
		for _, path := range []string{"work-items", "pickup", "claims", "blackboard", "snapshot"} {
			r := httptest.NewRequest("GET", DefaultBasePath+path, nil)
			r.Host, r.URL.RawQuery = "localhost", q
			r.Header.Set("Authorization", "Bearer "+b.tokens["reader-01"])
			if strings.Contains(q, "min_revision") {
				continue // which may wait for 5 s
			}
			w := httptest.NewRecorder()
			b.owner.Handler().ServeHTTP(w, r)
			var doc struct{ Error struct{ Code string } }
			if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || w.Code != 200 && (w.Code != 400 || doc.Error.Code != "schema_violation") {
				t.Fatalf("%s?%s: %d %s", path, q, w.Code, w.Body)
			}
			agent := r.URL.Query().Get("agent")
			if w.Code == 200 && path == "claims" && agent != "" && agent != "worker-http" && strings.Contains(w.Body.String(), `"worker-http"`) {
				t.Fatalf("%s?%s shows others: %s", path, q, w.Body)
			}
		}
	})
}
