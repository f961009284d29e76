package cli

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServeTakesTheAddressFirst: where the owner cannot listen, or what it was
// given cannot be read, nothing is on disk afterwards, and one line says why.
func TestServeTakesTheAddressFirst(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen", "127.0.0.1:99999"}, "the port must be a number from 0 to 65535"},
		{[]string{"--listen", "127.0.0.1:-1"}, "the port must be a number from 0 to 65535"},
		{[]string{"--listen", "127.0.0.1:http"}, "the port must be a number from 0 to 65535"},
		{[]string{"--listen", "foo"}, "foo is no address to listen on; give HOST:PORT"},
		{[]string{"--listen", "\x1b[2J"}, "is no address to listen on"},
		{[]string{"--listen", "0.0.0.0:0"}, "can be reached from other machines"},
		{[]string{"--listen", taken.Addr().String()}, "another program does"},
		{[]string{"--listen", "127.0.0.1:0", "--tokens", "/nonexistent"}, "/nonexistent"},
		{[]string{"--listen", "127.0.0.1:0", "--tls-cert", "/nonexistent", "--tls-key", "/nonexistent"}, "/nonexistent"},
	} {
		data := filepath.Join(t.TempDir(), "box")
		got := runWith(t.Context(), "", map[string]string{}, append([]string{"serve", "--data", data}, tt.args...)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, tt.want) || strings.Count(got.stderr, "\n") != 1 || strings.ContainsRune(got.stderr, '\x1b') {
			t.Errorf("serve %q: exit %d, stderr %q, want %q", tt.args, got.code, got.stderr, tt.want)
		}
		if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("serve %q left %s behind", tt.args, data)
		}
	}
}

// TestServeNamesTheOwnerThatRuns: the same folder and address again.
func TestServeNamesTheOwnerThatRuns(t *testing.T) {
	t.Parallel()
	b, err := openOwner(t.Context(), ownerOptions{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = openOwner(t.Context(), ownerOptions{Data: b.Data, Listen: b.listener.Addr().String()})
	if err == nil || !strings.Contains(err.Error(), "serves "+b.Data+" already") {
		t.Errorf("a second owner: %v", err)
	}
}

// TestTokenIsGoodWhenAddReturns: at the running owner, for tokens beside its data
// and for a file of its own.
func TestTokenIsGoodWhenAddReturns(t *testing.T) {
	t.Parallel()
	own := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(own, []byte("- {identity: lead, role: lead, token: a-long-enough-token-of-a-lead-0123456789}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tokens := range []string{"", own} {
		state := t.TempDir()
		env := map[string]string{"XDG_STATE_HOME": state}
		b, err := openOwner(t.Context(), ownerOptions{Data: filepath.Join(state, "signalbox", "box"), Tokens: tokens})
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"token", "add", "agent:new", "--role", "reader"}
		if tokens != "" {
			args = append(args, "--tokens", tokens)
		}
		added := runWith(t.Context(), "", env, args...)
		if added.code != exitOK {
			t.Fatalf("token add: %s", added.stderr)
		}
		env["ACOP_BACKEND_BEARER_TOKEN"], env["ACOP_BACKEND_BASE_URI"] = added.stdout, b.URL
		if got := runWith(t.Context(), "", env, "work", "list"); got.code != exitOK {
			t.Errorf("the token is not good yet: %s", got.stderr)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestMalformedTokens: a token that cannot stand in a header is a fault of the
// call, and is never shown (B105).
func TestMalformedTokens(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"secret\nsecret", "secret secret", "secret\tx", "secret\x00", "secret\x1b[2J", "secret\x7f", "s\u00e9cret", "\"secret\"\r\nX: y", "", "  \n"} {
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		for where, env := range map[string]map[string]string{
			"ACOP_BACKEND_BEARER_TOKEN": {"ACOP_BACKEND_BEARER_TOKEN": bad},
			file:                        {"SIGNALBOX_TOKEN_FILE": file},
		} {
			if strings.TrimSpace(bad) == "" && where != file {
				continue
			}
			env["SIGNALBOX_SERVER"] = "http://127.0.0.1:1"
			got := runWith(t.Context(), "", env, "work", "list")
			if got.code != exitUsage || !strings.Contains(got.stderr, where) || strings.Contains(strings.ReplaceAll(got.stderr, file, ""), "cret") {
				t.Errorf("%q in %s: exit %d, %q", bad, where, got.code, got.stderr)
			}
		}
	}
}
