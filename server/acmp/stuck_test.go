package acmp

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// B87: a sender that stops half way is answered and let go, also where it is refused
// before its message was read.
func TestStuckSendersAreLetGo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits out the time for a message")
	}
	_, c := idleProvider(t, nil)
	for head, status := range map[string]int{"POST": http.StatusBadRequest, "PUT": http.StatusMethodNotAllowed} {
		t.Run(head, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(3 * bodyTime))
			fmt.Fprintf(conn, "%s / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", head, conn.RemoteAddr())
			rd := bufio.NewReader(conn)
			resp, err := http.ReadResponse(rd, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != status {
				t.Errorf("%v: %d", err, resp.StatusCode)
			}
			if _, err := rd.ReadByte(); err != io.EOF {
				t.Errorf("the connection is not closed: %v", err)
			}
		})
	}
}
