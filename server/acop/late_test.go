package acop

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// accepted makes an item and takes it to accepted.
func (b *box) accepted(id string) {
	b.t.Helper()
	b.put(id, nil, nil)
	b.want(b.verb("claims", b.claim(id, "worker-http", 60), "complete", "worker-http", nil), 200, "")
	b.want(b.verb("work-items", id, "accept", "lead-01", nil), 200, "")
}

// TestDependencyAlreadyAccepted never leaves an item waiting for work that is
// done: whoever names such a blocker is told by the status and the log (C-025,
// H-055).
func TestDependencyAlreadyAccepted(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.accepted("a")
	doc := m{"blockers": []m{dependsOn("a")}}
	r := b.put("new", m{"status": "blocked"}, doc)
	if r.text("work_item_status") != "ready" || len(r.at("blockers").([]any)) != 0 || b.countEvents("new", "unblock") != 1 {
		t.Fatalf("a new item: %s", r.raw)
	}
	before := b.item("new").header.Get("ETag")
	b.put("new", m{"status": "blocked"}, doc) // the same document again
	if after := b.item("new").header.Get("ETag"); after != before {
		t.Errorf("publishing the same again changed the item from %s to %s", before, after)
	}
	b.put("old", nil, nil)
	if r := b.put("old", m{"status": "blocked"}, doc); r.text("work_item_status") != "ready" {
		t.Errorf("an item that is there: %s", r.raw)
	}
	r = b.put("two", m{"status": "blocked"}, m{"blockers": []m{dependsOn("a"), {"blocker_code": "review_required", "severity": "low", "summary": "s"}}})
	if r.text("work_item_status") != "blocked" || len(r.at("blockers").([]any)) != 1 {
		t.Errorf("with another blocker: %s", r.raw)
	}
	r = b.verb("work-items", "old", "block", "lead-01", m{"blocker": dependsOn("a")})
	b.want(r, 200, "")
	if r.text("work_item_status") != "ready" || len(r.at("blockers").([]any)) != 0 {
		t.Errorf("raised on a ready item: %s", r.raw)
	}
}

// TestBlockedWhileAccepted lets items begin to wait while their dependency is
// being accepted: none of them waits for ever.
func TestBlockedWhileAccepted(t *testing.T) {
	t.Parallel()
	b := fastBox(t)
	for round := range 8 {
		dep := fmt.Sprint("dep ", round)
		b.put(dep, nil, nil)
		b.want(b.verb("claims", b.claim(dep, "worker-http", 60), "complete", "worker-http", nil), 200, "")
		var wg sync.WaitGroup
		wg.Go(func() {
			if r, err := b.try("POST", "work-items/"+escaped(dep)+"/accept", "lead-01", body(nil)); err != nil || r.status != 200 {
				t.Errorf("accept: %v %s", err, r.raw)
			}
		})
		const n = 6
		for i := range n {
			wg.Go(func() {
				doc := body(m{"work_item": workItem(fmt.Sprint("waits ", round, " ", i), m{"status": "blocked"}), "blockers": []m{dependsOn(dep)}})
				if r, err := b.try("PUT", "work-items", "lead-01", doc); err != nil || r.status != 201 {
					t.Errorf("put: %v %s", err, r.raw)
				}
			})
		}
		wg.Wait()
		for i := range n {
			if st := b.status(fmt.Sprint("waits ", round, " ", i)); st != "ready" {
				t.Fatalf("round %d: item %d is %s although what it waits for is accepted", round, i, st)
			}
		}
	}
}

// TestLateWords marks what a worker says about an item after it lost it (B47).
func TestLateWords(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	entry := func(who string) reply {
		r := b.do("POST", "blackboard", who, body(m{"work_item_id": "w", "entry_kind": "finding", "author_agent_uid": who,
			"created_at_utc": "2026-05-16T19:12:00Z", "status": "active", "summary": "s"}))
		b.want(r, 201, "")
		return r
	}
	lost := b.claim("w", "worker-http", 10)
	mark := func() string {
		b.t.Helper()
		evs := b.item("w").at("events").([]any)
		e := evs[len(evs)-1].(m)
		if e["verb"] != "post" {
			t.Fatalf("last event %v", e)
		}
		id, _ := e["claim_id"].(string)
		return id
	}
	entry("worker-http")
	if got := mark(); got != "" {
		t.Errorf("the holder's entry is marked with %s", got)
	}
	b.clock.advance(11 * time.Second)
	second := b.claim("w", "worker-other", 60)
	entry("worker-http")
	if got := mark(); got != lost {
		t.Errorf("the late entry is marked with %q, want %s", got, lost)
	}
	entry("worker-other")
	if got := mark(); got != "" {
		t.Errorf("the new holder's entry is marked with %s", got)
	}
	// The second one loses the item, too; a third holds it, also after a restart.
	b.clock.advance(61 * time.Second)
	third := b.claim("w", "lead-01", 3600)
	for range 2 {
		for who, want := range map[string]string{"worker-http": lost, "worker-other": second, "lead-01": ""} {
			entry(who)
			if got := mark(); got != want {
				t.Errorf("the entry of %s is marked with %q, want %q", who, got, want)
			}
		}
		b.restart()
	}
	// Who held it again and gave it back said what there was to say.
	b.want(b.verb("claims", third, "release", "lead-01", nil), 200, "")
	again := b.claim("w", "worker-http", 60)
	b.want(b.verb("claims", again, "release", "worker-http", nil), 200, "")
	entry("worker-http")
	if got := mark(); got != "" {
		t.Errorf("the entry of one who gave the item back is marked with %s", got)
	}
}

// TestExpectation has the error shape where net/http refuses by itself (H-070).
func TestExpectation(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	conn, err := net.Dial("tcp", b.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(conn, "POST %sclaims HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: wonders\r\nContent-Length: 2\r\n\r\n{}", DefaultBasePath)
	raw, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(raw), "HTTP/1.1 417 ") || !strings.Contains(string(raw), `"signalbox.expectation_failed"`) ||
		!strings.Contains(string(raw), "application/json") {
		t.Fatalf("%v %q", err, raw)
	}
}
