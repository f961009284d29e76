package acop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSlowReader does not hold up anybody: the others stay live, acts are not
// delayed, and the slow one is told where to resume (B79).
func TestSlowReader(t *testing.T) {
	t.Parallel()
	// However long the acts take here, it is the full buffer that the reader loses by.
	b := newBoxWith(t, func(o *Options) { o.frameIn = 10 * time.Minute }, 4)
	conn := b.stuckReader()

	fast := b.listen("")
	big := strings.Repeat("x", 50_000)
	const n = 40 // more than the sockets take
	for i := range n {
		started := time.Now()
		b.put(fmt.Sprint("w", i), m{"summary": big}, nil)
		if d := time.Since(started); d > 5*time.Second {
			t.Fatalf("an act took %s", d)
		}
		if f := fast.next(); f.ev.WorkItemID != fmt.Sprint("w", i) {
			t.Fatalf("the fast reader got %s", f.ev.WorkItemID)
		}
	}
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	rd := bufio.NewReaderSize(conn, 1<<20)
	for {
		line, err := rd.ReadString('\n')
		if err != nil {
			t.Fatalf("the slow reader was not told that it lost: %v", err)
		}
		if strings.HasPrefix(line, "event: lost") {
			break
		}
	}
	if n := b.samples()["signalbox_event_readers_lost_total"]; n != 1 {
		t.Errorf("%v readers were lost", n)
	}
}

// stuckReader opens an event stream and takes nothing of it.
func (b *box) stuckReader() net.Conn {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.http.Listener.Addr().String())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		b.t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET %sevents HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", DefaultBasePath, b.tokens["reader-01"])
	eventually(b.t, "the reader is connected", func() bool { return b.owner.count.streams.Load() == 1 })
	return conn
}

// TestStuckReaderIsCounted tells in the metrics of a reader that takes nothing, long
// before the buffer would be full; one that just leaves is none (B79).
func TestStuckReaderIsCounted(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.frameIn = 300 * time.Millisecond })
	b.put("w0", nil, nil)
	l := b.listen("")
	l.next()
	l.cancel()
	eventually(t, "the reader that left is forgotten", func() bool { return b.owner.count.streams.Load() == 0 })
	b.stuckReader()
	big := strings.Repeat("x", 50_000)
	for i := 0; b.owner.count.streams.Load() > 0; i++ {
		if i == 1000 {
			t.Fatal("a reader that takes nothing is never given up")
		}
		b.put(fmt.Sprint("w", i%10), m{"summary": fmt.Sprint(big, i)}, nil)
	}
	if n := b.samples()["signalbox_event_readers_lost_total"]; n != 1 {
		t.Errorf("%v readers were lost, want 1", n)
	}
}

// TestStuckSenders gives up on bodies that never end and refuses those that are
// too large before they are read; the connection is closed and nobody else waits
// (B87, H-071).
func TestStuckSenders(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits out the time for a body")
	}
	b := newBox(t, nil)
	b.put("w", nil, nil)
	payload := mustJSON(body(m{"reason": "r"}))
	const cancel = "POST " + DefaultBasePath + "work-items/w/cancel"
	token := b.tokens["lead-01"]
	for name, c := range map[string]struct {
		head, token string
		length      string
		sent        string
		status      int
		code        string
	}{
		"stops half way":        {cancel, token, fmt.Sprint(len(payload)), payload[:10], 400, "schema_violation"},
		"says more than it has": {cancel, token, fmt.Sprint(len(payload) + 5), payload, 400, "schema_violation"},
		"a gigabyte":            {cancel, token, fmt.Sprint(1 << 30), "{", 413, "signalbox.payload_too_large"},
		"more than fits":        {cancel, token, "99999999999999999999", "{", 400, "schema_violation"},
		"without a credential":  {cancel, "none", fmt.Sprint(len(payload)), "", 401, "unauthenticated"},
		"to nowhere":            {"POST /nowhere", token, fmt.Sprint(len(payload)), "", 404, "signalbox.route_not_found"},
		"where none belongs":    {"GET " + DefaultBasePath + "settings", token, "100", "", 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", b.http.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(6 * bodyPatience))
			fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n%s",
				c.head, c.token, c.length, c.sent)
			rd := bufio.NewReader(conn)
			resp, err := http.ReadResponse(rd, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			raw, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			r, err := b.checked("raw", name, resp, raw)
			if err != nil || r.status != c.status || r.code() != c.code {
				t.Errorf("%v: %d %s", err, r.status, raw)
			}
			if _, err := rd.ReadByte(); err != io.EOF {
				t.Errorf("the connection is not closed: %v", err)
			}
		})
		if st := b.status("w"); st != "ready" { // the others are answered meanwhile
			t.Errorf("the item is %s", st)
		}
	}
	many := m{}
	for i := range 60_000 {
		many[fmt.Sprint("k", i)] = 1
	}
	raw, err := json.Marshal(body(many))
	if err != nil || len(raw) > 1<<20 {
		t.Fatal(err, len(raw))
	}
	r := b.do("POST", "work-items/w/cancel", "lead-01", raw)
	b.want(r, 400, "schema_violation")
	if len(r.raw) > 1000 {
		t.Errorf("the refusal of many members has %d bytes", len(r.raw))
	}
}
