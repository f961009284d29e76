package cli

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnknownAuthorityIsTold: every way to an owner whose certificate this machine does
// not trust names the variable that helps, also to the local box, which is not taken
// for one that is down.
func TestUnknownAuthorityIsTold(t *testing.T) {
	t.Parallel()
	dir, state := t.TempDir(), t.TempDir()
	newAuthority(t, dir).issue("box", net.IPv4(127, 0, 0, 1))
	data := filepath.Join(state, "signalbox", "box")
	s := startServe(t, data, "--tls-cert", filepath.Join(dir, "box.pem"), "--tls-key", filepath.Join(dir, "box.key"))
	server := strings.TrimSuffix(s.url, "/acop/v1/")
	for _, args := range [][]string{
		{"work", "list"},
		{"work", "list", "--server", server, "--token-file", leadTokenFile(data)},
		{"work", "freeze", "--reason", "x", "--server", server, "--token-file", leadTokenFile(data)},
		{"doctor"},
	} {
		env := map[string]string{"XDG_STATE_HOME": state, "XDG_CONFIG_HOME": t.TempDir()}
		// A busy machine may not answer within the second that a box is given.
		soon(t, strings.Join(args, " ")+" names the variable", func() bool {
			got := runWith(t.Context(), "", env, args...)
			if got.code == exitOK || strings.Contains(got.stderr, "start the owner") {
				t.Fatalf("%v: exit %d, %q %q", args, got.code, got.stdout, got.stderr)
			}
			return strings.Contains(got.stdout+got.stderr, "SSL_CERT_FILE")
		})
	}
}
