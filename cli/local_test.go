package cli

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLocalBoxKeepsItsAddress shows that a box is found where it was before its
// restart, and elsewhere only when something has taken that place.
func TestLocalBoxKeepsItsAddress(t *testing.T) {
	state := t.TempDir()
	g := &globals{sys: Sys{Env: func(name string) string {
		if name == "XDG_STATE_HOME" {
			return state
		}
		return ""
	}}}
	open := func() *ownerBox {
		t.Helper()
		_, _, own, err := g.joinOrOpen(t.Context(), slog.New(slog.DiscardHandler))
		if err != nil || own == nil {
			t.Fatalf("open the local box: %v, own %v", err, own != nil)
		}
		return own
	}
	own := open()
	first := own.URL
	if base, _, ok := localBox(t.Context(), g); !ok || base != first {
		t.Errorf("another program finds the box at %q (%v), want %q", base, ok, first)
	}
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}
	own = open()
	if own.URL != first {
		t.Errorf("after a restart the box is at %s, was at %s", own.URL, first)
	}
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}

	raw, err := os.ReadFile(filepath.Join(g.localData(), addressFile))
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	taken, err := lc.Listen(t.Context(), "tcp", strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	own = open()
	defer own.Close()
	if own.URL == first {
		t.Errorf("the box claims to be at %s, where something else listens", own.URL)
	}
}

// Who names a token file is who it says on the own box too, whether it runs already
// or is opened now; a file that cannot be read opens nothing.
func TestGivenTokenCountsOnTheLocalBox(t *testing.T) {
	state := t.TempDir()
	g := &globals{sys: Sys{Env: func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }}}
	g.tokenFile = filepath.Join(state, "none.token")
	var usage *exitError
	if _, _, own, err := g.joinOrOpen(t.Context(), slog.New(slog.DiscardHandler)); !errors.As(err, &usage) || usage.code != exitUsage {
		t.Fatalf("a token file that is not there: own %v, %v", own != nil, err)
	}
	if _, err := os.Stat(g.localData()); err == nil {
		t.Error("the box was made although its token could not be read")
	}
	g.tokenFile = filepath.Join(state, "bert.token")
	if err := os.WriteFile(g.tokenFile, []byte("the-token-of-bert\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bert := func() *ownerBox {
		t.Helper()
		_, token, own, err := g.joinOrOpen(t.Context(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := token(t.Context()); err != nil || got != "the-token-of-bert" {
			t.Errorf("the dashboard is somebody else: %v", err)
		}
		return own
	}
	own := bert()
	defer own.Close()
	if again := bert(); again != nil {
		t.Error("the box was opened twice")
	}
}
