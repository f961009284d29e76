package acop

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// TestSlowReader does not hold up anybody: the others stay live, acts are not
// delayed, and the slow one is told where to resume (B79).
func TestSlowReader(t *testing.T) {
	t.Parallel()
	b := newBoxWith(t, nil, 4)
	conn, err := net.Dial("tcp", b.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET %sevents HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", DefaultBasePath, b.tokens["reader-01"])
	eventually(t, "the slow reader is connected", func() bool { return b.owner.count.streams.Load() == 1 })

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
			return
		}
	}
}
