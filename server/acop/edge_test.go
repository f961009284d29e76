package acop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	core "signalbox/model/acop"
)

// TestIdempotency replays outcomes that changed state, and only those (H-011,
// H-012, H-014..H-018, D-56, B46, B60, B62, B63).
func TestIdempotency(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	key := func(k string) header { return header{"Idempotency-Key": k} }
	put := func(id string) reply {
		return b.do("PUT", "work-items", "fixture-producer", body(m{"work_item": workItem(id, nil)}), key("put "+id))
	}
	b.want(put("w"), 201, "")
	r := put("w")
	b.want(r, 201, "")
	if r.header.Get("Idempotency-Replayed") != "true" {
		t.Fatal("a replay is not marked")
	}
	first := b.do("POST", "claims", "worker-http", claimBody("w", "worker-http", 60), key("K"))
	b.want(first, 201, "")
	again := b.do("POST", "claims", "worker-http", `{"scope":"owned_paths", "requested_ttl_seconds":60,"worker_agent_uid":"worker-http",
		"work_item_id":"w","protocol_version":"acop/1.0"}`, key("K"))
	if !bytes.Equal(first.raw, again.raw) || again.header.Get("ETag") != first.header.Get("ETag") || again.header.Get("Location") != first.header.Get("Location") {
		t.Fatalf("replay differs: %s, then %s", first.raw, again.raw)
	}
	put("w2")
	b.want(b.do("POST", "claims", "worker-http", claimBody("w2", "worker-http", 60), key("K")), 422, "signalbox.idempotency_key_reused")
	// Another identity's key is another key; a refusal is not remembered.
	b.want(b.do("POST", "claims", "worker-other", claimBody("w", "worker-other", 60), key("K")), 409, "claim_conflict")
	b.want(b.verb("claims", first.text("claim.claim_id"), "release", "worker-http", nil), 200, "")
	other := b.do("POST", "claims", "worker-other", claimBody("w", "worker-other", 60), key("K"))
	b.want(other, 201, "")
	// The past is told as it was, also after a restart.
	b.restart()
	again = b.do("POST", "claims", "worker-http", claimBody("w", "worker-http", 60), key("K"))
	if again.text("claim.claim_id") != first.text("claim.claim_id") || again.text("claim.claim_status") != "active" || again.header.Get("Idempotency-Replayed") != "true" {
		t.Fatalf("after the restart: %s", again.raw)
	}
	if got := b.item("w").text("item.lease.claim.claim_id"); got != other.text("claim.claim_id") {
		t.Fatalf("the holder changed to %s", got)
	}
	b.want(b.do("POST", "claims", "worker-http", claimBody("w", "worker-http", 60), key(" ")), 400, "schema_violation")
	id := other.text("claim.claim_id")
	b.want(b.verb("claims", id, "complete", "worker-other", nil), 200, "")
	b.want(b.verb("claims", id, "complete", "worker-other", nil), 409, "claim_released") // H-018
}

// TestIdempotencyOfActs replays an act on several objects with the tag of its
// object.
func TestIdempotencyOfActs(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", m{"status": "requires_attention"}, nil)
	do := func() reply {
		return b.verb("work-items", "w", "resolve", "lead-01", m{"decision": "ready", "note": "n"}, header{"Idempotency-Key": "k"})
	}
	one, two := do(), do()
	b.want(one, 200, "")
	if !bytes.Equal(one.raw, two.raw) || one.header.Get("ETag") != two.header.Get("ETag") {
		t.Fatalf("%s %v, then %s %v", one.raw, one.header, two.raw, two.header)
	}
	if n := len(b.item("w").at("entries").([]any)); n != 1 {
		t.Fatalf("%d entries", n)
	}
}

// TestSimultaneousKey sends one request 20 times at once (H-013, B61).
func TestSimultaneousKey(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	replies := make([]reply, 20)
	var wg sync.WaitGroup
	for i := range replies {
		wg.Go(func() {
			var err error
			if replies[i], err = b.try("POST", "claims", "worker-http", claimBody("w", "worker-http", 60), header{"Idempotency-Key": "same"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, r := range replies {
		if r.status != 201 || r.text("claim.claim_id") != replies[0].text("claim.claim_id") {
			t.Fatalf("%d %s", r.status, r.raw)
		}
	}
	if n := b.countEvents("w", "claim"); n != 1 {
		t.Fatalf("%d claims were granted", n)
	}
}

// TestStrictJSON refuses whatever two parsers could read differently (H-070,
// H-071, B67..B75, B87).
func TestStrictJSON(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	ok := `{"protocol_version":"acop/1.0","reason":"r"}`
	cases := []struct {
		name, body string
		status     int
		code       string
	}{
		{"duplicate name", `{"protocol_version":"acop/1.0","reason":"a","reason":"b"}`, 400, "schema_violation"},
		{"nested duplicate", `{"protocol_version":"acop/1.0","reason":"a","x":{"y":1,"y":2}}`, 400, "schema_violation"},
		{"second value", ok + ` {"a":1}`, 400, "schema_violation"},
		{"bracket behind", ok + `]`, 400, "schema_violation"},
		{"null", `null`, 400, "schema_violation"},
		{"array", `[]`, 400, "schema_violation"},
		{"empty", ``, 400, "schema_violation"},
		{"only spaces", "  \n ", 400, "schema_violation"},
		{"cut", `{"protocol_version":`, 400, "schema_violation"},
		{"bad utf-8", "{\"protocol_version\":\"acop/1.0\",\"reason\":\"w\xff\"}", 400, "schema_violation"},
		{"bad utf-8 in a name", "{\"protocol_version\":\"acop/1.0\",\"reason\":\"w\",\"k\xff\":1}", 400, "schema_violation"},
		{"lone surrogate", `{"protocol_version":"acop/1.0","reason":"\ud800"}`, 400, "schema_violation"},
		{"nul", `{"protocol_version":"acop/1.0","reason":"a\u0000b"}`, 400, "schema_violation"},
		{"nul in a name", `{"protocol_version":"acop/1.0","reason":"a","b\u0000":1}`, 400, "schema_violation"},
		{"other case", `{"protocol_version":"acop/1.0","Reason":"a"}`, 400, "schema_violation"},
		{"null member", `{"protocol_version":"acop/1.0","reason":null}`, 400, "schema_violation"},
		{"huge exponent", `{"protocol_version":"acop/1.0","reason":1e999999999}`, 400, "schema_violation"},
		{"tiny exponent", `{"protocol_version":"acop/1.0","reason":1e-999999999}`, 400, "schema_violation"},
		{"deep", `{"protocol_version":"acop/1.0","x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, 400, "schema_violation"},
		{"too large", `{"protocol_version":"acop/1.0","reason":"` + strings.Repeat("x", 2<<20) + `"}`, 413, "signalbox.payload_too_large"},
		{"just too large", `{"protocol_version":"acop/1.0","reason":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "signalbox.payload_too_large"},
		{"no version", `{"reason":"r"}`, 400, "schema_violation"},
		{"number version", `{"protocol_version":1.0,"reason":"r"}`, 400, "schema_violation"},
		{"spaces behind", ok + strings.Repeat(" ", 1<<20), 200, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := b.do("POST", "work-items/w/cancel", "lead-01", c.body)
			if r.status != c.status || r.code() != c.code {
				t.Errorf("%d %s", r.status, r.raw)
			}
		})
	}
	for _, ct := range []string{"text/plain", "", "application/xml"} {
		b.want(b.do("POST", "work-items/w/cancel", "lead-01", ok, header{"Content-Type": ct}), 415, "signalbox.unsupported_media_type")
	}
	b.want(b.do("POST", "work-items/w/cancel", "lead-01", ok, header{"Content-Encoding": "gzip"}), 415, "signalbox.unsupported_media_type")
	b.want(b.do("POST", "work-items/w/cancel", "lead-01", ok, header{"Content-Type": `application/json; charset="utf-8"`}), 409, "work_item_cancelled")
}

// TestPutShapes checks every member of an item (C-006, C-011..C-016, C-018,
// C-019, H-008, H-047, B74, B75).
func TestPutShapes(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	try := func(item m, more m) reply {
		doc := m{"work_item": item}
		for k, v := range more {
			doc[k] = v
		}
		return b.do("PUT", "work-items", "fixture-producer", body(doc))
	}
	for _, k := range []string{"work_item_id", "protocol_version", "work_kind", "created_at_utc", "producer", "status", "priority", "actionability_score"} {
		w := workItem("w", nil)
		delete(w, k)
		b.want(try(w, nil), 400, "schema_violation")
	}
	bad := []m{
		{"work_kind": "Implement"}, {"work_kind": "deploy"}, {"work_kind": "acmecorp.deploy"}, {"status": "done"}, {"priority": "highest"},
		{"actionability_score": -0.01}, {"actionability_score": 1.01}, {"actionability_score": "0.5"}, {"title": nil}, {"title": 1},
		{"created_at_utc": "not a date"}, {"created_at_utc": "2026-02-30T00:00:00Z"}, {"created_at_utc": "2026-05-16T19:13:02+02:00"},
		{"created_at_utc": "2026-05-16T19:13:02+00:00"}, {"created_at_utc": "2026-05-16"}, {"created_at_utc": "2026-05-16t19:13:02z"},
		{"created_at_utc": "2026-05-16T19:13:02"}, {"repo_id": "r"}, {"work_item_id": ""}, {"owned_paths": []any{1}},
	}
	for _, w := range bad {
		b.want(try(workItem("w", w), nil), 400, "schema_violation")
	}
	b.want(try(workItem("w", nil), m{"blockers": []m{{"severity": "low", "summary": "s"}}}), 400, "schema_violation")
	b.want(try(workItem("w", nil), m{"blockers": []m{{"blocker_code": "c", "severity": "low", "summary": "s", "extra": 1}}}), 400, "schema_violation")
	b.want(try(workItem("w", nil), m{"extra": 1}), 400, "schema_violation")
	raw := strings.Replace(mustJSON(body(m{"work_item": workItem("w", nil)})), "0.5", "1e400", 1)
	b.want(b.do("PUT", "work-items", "fixture-producer", raw), 400, "schema_violation")
	b.want(b.do("GET", "work-items/w", "reader-01", nil), 404, "work_item_not_found")
	for i, k := range core.WorkKinds() {
		b.want(try(workItem(fmt.Sprint("k", i), m{"work_kind": k, "actionability_score": i % 2}), nil), 201, "")
	}
	b.want(try(workItem("z", m{"created_at_utc": "2026-05-16T19:13:02.123456789Z"}), nil), 201, "")
}

func mustJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// TestVersions negotiates within the major version (C-078..C-083, D-26, H-010).
func TestVersions(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	claim := func(v any, more m) reply {
		c := claimBody("w", "worker-http", 60)
		c["protocol_version"] = v
		for k, x := range more {
			c[k] = x
		}
		return b.do("POST", "claims", "worker-http", c)
	}
	for _, v := range []string{"acop/0.9", "acop/2.0", "1.0", "acop/1", "ACOP/1.0", "acop/1.0 ", "acop/99.0", "acop/01.0", ""} {
		r := claim(v, nil)
		b.want(r, 400, "unsupported_protocol_version")
		if r.text("error.details.max_supported_version") != "acop/1.0" {
			t.Fatalf("%q: %s", v, r.raw)
		}
	}
	b.want(claim("acop/1.1", m{"new_member": 1}), 400, "unsupported_protocol_version")
	b.want(claim("acop/1.1", m{"new_member": 1, "requested_ttl_seconds": 0}), 400, "schema_violation")
	b.want(claim("acop/1.7", nil), 201, "")
	put := func(env, nested string, more m) reply {
		w := workItem("v", more)
		w["protocol_version"] = nested
		return b.do("PUT", "work-items", "fixture-producer", m{"protocol_version": env, "work_item": w})
	}
	b.want(put("acop/1.0", "acop/2.0", nil), 400, "unsupported_protocol_version")
	b.want(put("acop/1.1", "acop/1.1", m{"x": 1}), 400, "unsupported_protocol_version")
	b.want(put("acop/1.0", "acop/1.0", m{"x": 1}), 400, "schema_violation")
	r := put("acop/1.1", "acop/1.1", nil)
	b.want(r, 201, "")
	if r.text("work_item.protocol_version") != "acop/1.0" {
		t.Fatalf("stored as %s", r.raw)
	}
}
