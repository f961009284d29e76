//go:build linux

package cli

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// blackHole is an address that takes no connection and refuses none: its backlog is
// full.
func blackHole(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for range 64 {
		c, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Fatal("the backlog does not fill")
	return ""
}

// silentServer takes connections and never answers.
func silentServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
		}
	}()
	return l.Addr().String()
}

// --timeout bounds all that a person waits for, connecting and the declaration of
// the provider included: exit 3 and the reason, at the binary.
func TestInvokeTimeoutBoundsConnecting(t *testing.T) {
	const timeout, slack = 2 * time.Second, 20 * time.Second // unbounded they would take minutes
	for name, args := range map[string][]string{
		"black hole":     {"--provider", "p=http://" + blackHole(t) + "/mcp"},
		"silent":         {"--provider", "p=http://" + silentServer(t) + "/mcp"},
		"silent process": {"--provider", "p=stdio:sleep 60"},
		"two of them":    {"--provider", "p=http://" + blackHole(t) + "/mcp", "--provider", "q=http://" + silentServer(t) + "/mcp"},
		"quote":          {"--quote", "--quote-wait", "1m", "--provider", "p=http://" + silentServer(t) + "/mcp"},
		"json":           {"--json", "--provider", "p=http://" + silentServer(t) + "/mcp"},
		"no stream":      {"--stream=false", "--provider", "p=http://" + blackHole(t) + "/mcp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(binary(t), append([]string{"invoke", "work", "--timeout", timeout.String()}, args...)...)
			cmd.Env = append(cmd.Environ(), "XDG_STATE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
			var stderr strings.Builder
			cmd.Stderr = &stderr
			begin := time.Now()
			_ = cmd.Run() // the exit code is looked at
			took := time.Since(begin)
			if code := cmd.ProcessState.ExitCode(); code != exitUnreachable || took > timeout+slack {
				t.Errorf("exit %d after %v: %s", code, took, stderr.String())
			}
			s := stderr.String()
			s = s[max(strings.Index(s, "signalbox: "), 0):] // behind the table of the offers
			if strings.Count(s, "\n") != 1 || !strings.Contains(s, "p: ") && !strings.Contains(s, "provider p") || strings.ContainsAny(s, "\u2424") || strings.Contains(s, "context deadline") {
				t.Errorf("stderr %q", s)
			}
		})
	}
}
