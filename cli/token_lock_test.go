package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"signalbox/model/acop"
	owner "signalbox/server/acop"
)

// TestTokenLockHoldsOne: however many want it, one holds the lock at a time, also
// where the file is removed and made anew between them.
func TestTokenLockHoldsOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, count := filepath.Join(dir, "tokens.yaml.lock"), filepath.Join(dir, "count")
	if err := os.WriteFile(count, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	const many, each = 8, 25
	var wg sync.WaitGroup
	for range many {
		wg.Go(func() {
			for range each {
				leave, err := holdFile(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				raw, _ := os.ReadFile(count)
				n, _ := strconv.Atoi(string(raw))
				_ = os.WriteFile(count, []byte(strconv.Itoa(n+1)), 0o600)
				leave()
			}
		})
	}
	wg.Wait()
	if raw, err := os.ReadFile(count); err != nil || string(raw) != strconv.Itoa(many*each) {
		t.Errorf("%s turns were counted of %d: %v", raw, many*each, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock's file is left behind: %v", err)
	}
}

// TestTokenLockEndsWithItsHolder: a file that a dead program left is no lock, one
// that is held is, and waiting for it ends with the context.
func TestTokenLockEndsWithItsHolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(file+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	leave, err := holdFile(t.Context(), file+".lock")
	if err != nil {
		t.Fatalf("a left lock: %v", err)
	}
	defer leave()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := holdFile(ctx, file+".lock"); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was given up: %v", err)
	}
	got := runWith(t.Context(), "", nil, "token", "add", "a", "--role", "worker", "--tokens", file)
	if got.code != exitFailed || !strings.Contains(got.stderr, "another program has been changing it") || !strings.Contains(got.stderr, file) || got.stdout != "" {
		t.Errorf("exit %d, %q %q", got.code, got.stdout, got.stderr)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Error("the tokens were changed without the lock")
	}
}

// TestOwnLeadWaitsForTheLock: an owner that makes its lead while somebody changes the
// list takes nobody's new token away.
func TestOwnLeadWaitsForTheLock(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	err := changeTokens(t.Context(), tokensFile(data), func(tokens *owner.Tokens) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := ownLead(ctx, data); err == nil {
			t.Error("the lead is made in the midst of another change")
		}
		_, err := tokens.Add("worker-7", acop.RoleWorker)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tokens, lead, err := ownLead(t.Context(), data)
	if err != nil || tokens.Credentials("worker-7") != 1 {
		t.Fatalf("the tokens of %v (%v)", tokens, err)
	}
	again, same, err := ownLead(t.Context(), data)
	if id, _ := again.Principal(lead); err != nil || same != lead || id != localLead {
		t.Errorf("the lead is not found again: %q (%v)", id, err)
	}
}
