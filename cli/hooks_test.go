package cli

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"signalbox/model/fleet"
)

// waitUntil polls with a deadline.
func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited 20 s for %s", what)
		}
		time.Sleep(10 * time.Millisecond) // polling processes, with a deadline
	}
}

// However many asks come at once, few hooks run, few more wait, and what is left
// out is in the log; when the dashboard ends all of it ends, with what the hooks
// have started.
func TestHooksAreBoundedAndEndWithTheDashboard(t *testing.T) {
	dir := t.TempDir()
	var log lockedBuffer
	h := newHook([]string{"sh", "-c", `sleep 1000 & echo "$! " >"$0/$$"; wait`, dir}, slog.New(slog.NewTextHandler(&log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const asks = 300
	var all sync.WaitGroup
	for range asks {
		all.Go(func() { h.run(ctx, fleet.Ask{Kind: "decide", Key: "decide:x"}) })
	}
	running := func() (children []int) {
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, f := range files {
			if raw, _ := os.ReadFile(f); bytes.HasSuffix(raw, []byte(" \n")) {
				pid, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
				children = append(children, pid)
			}
		}
		return children
	}
	left := asks - hookLimit - hookLine
	waitUntil(t, "the rest to be left out", func() bool { return strings.Count(log.String(), "too many wait") == left })
	waitUntil(t, "the hooks to run", func() bool { return len(running()) == hookLimit })
	cancel()
	h.close()
	all.Wait()
	if n := len(running()); n != hookLimit {
		t.Errorf("%d hooks ran, want %d", n, hookLimit)
	}
	for _, pid := range running() {
		waitUntil(t, "the sleep of a hook to be gone", func() bool { return gone(pid) })
	}
	before := log.String()
	h.run(t.Context(), fleet.Ask{}) // closed
	if n := len(running()); n != hookLimit || log.String() != before {
		t.Errorf("a closed hook ran")
	}
}
