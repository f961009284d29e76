package cli

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

// What a provider sends behind its answer reaches no terminal: the standard library
// would print it there.
func TestNothingOfAProviderOutOfTurn(t *testing.T) {
	t.Parallel()
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n{}out of turn")
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = conn.Read(make([]byte, 1)) // until the caller has seen it
	}))
	defer p.Close()
	cmd := exec.Command(binary(t), "invoke", "any", "--timeout", "1s", "--provider", "p="+p.URL)
	cmd.Env = append(cmd.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err == nil {
		t.Error("a provider that cannot be reached is no failure")
	}
	if s := out.String(); strings.Contains(s, "nsolicited") || strings.Contains(s, "out of turn") {
		t.Errorf("printed: %s", s)
	}
}
