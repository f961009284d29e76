package cli

import (
	"os"
	"strings"
	"syscall"
	"testing"

	owner "signalbox/server/acop"
)

// TestWeakTokensAreSaid takes a list that others can read and tokens that can be
// guessed, because tokens are opaque, and says so: once for one file, in the
// owner's log, the provider's and the doctor's report, and without a token
// (A-151, B105).
func TestWeakTokensAreSaid(t *testing.T) {
	t.Parallel()
	const list = "- {identity: lead-07, role: lead, token: q}\n- {identity: alice, role: worker, token: TOPSECRET-TOPSECRET-1}\n"
	weak := provideFile(t, "tokens.yaml", list)
	if err := os.Chmod(weak, 0o644); err != nil {
		t.Fatal(err)
	}
	sound := provideFile(t, "tokens.yaml", strings.Replace(list, "token: q", "token: TOPSECRET-TOPSECRET-2", 1))
	wants := func(t *testing.T, log string, n int) {
		t.Helper()
		for _, what := range []string{"other users can read the tokens", "can be guessed"} {
			if got := strings.Count(log, what); got != n {
				t.Errorf("%q is said %d times, want %d:\n%s", what, got, n, log)
			}
		}
		if n > 0 && (!strings.Contains(log, "lead-07") || strings.Contains(log, "alice")) {
			t.Errorf("the wrong identities are named:\n%s", log)
		}
		if strings.Contains(log, "TOPSECRET") {
			t.Errorf("a token is shown:\n%s", log)
		}
	}
	for name, c := range map[string]struct {
		file string
		said int
	}{"weak": {weak, 1}, "sound": {sound, 0}} {
		t.Run("serve "+name, func(t *testing.T) {
			t.Parallel()
			s := startServe(t, t.TempDir(), "--tokens", c.file)
			if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil { // it is looked at again
				t.Fatal(err)
			}
			s.stop(syscall.SIGTERM)
			wants(t, s.log.String(), c.said)
		})
		t.Run("provide "+name, func(t *testing.T) {
			t.Parallel()
			p := startProvide(t, "--tokens", c.file)
			for again := 1; again <= 2; again++ {
				if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
					t.Fatal(err)
				}
				soon(t, "the files are read again", func() bool {
					return strings.Count(p.log.String(), "the configuration was read again") == again
				})
			}
			wants(t, p.log.String(), c.said)
		})
	}
	t.Run("doctor", func(t *testing.T) {
		t.Parallel()
		p := newPatient(t)
		if err := os.MkdirAll(p.data(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(tokensFile(p.data()), []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
		r, _ := p.examine()
		r.wants(t, "state", verdictWarn, "the token of lead-07 is so short", "signalbox token add")
	})
	l, err := owner.LoadTokens(weak)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Add("new", "worker"); err != nil {
		t.Fatal(err)
	}
	if short := l.Short(); len(short) != 1 || short[0] != "lead-07" {
		t.Errorf("short tokens: %q", short)
	}
}
