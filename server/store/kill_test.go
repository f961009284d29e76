package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"signalbox/model/acop"
)

// childEnv names the folder that a child of the test writes to until it is killed.
const childEnv = "SIGNALBOX_STORE_TEST_DIR"

func TestMain(m *testing.M) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := child(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fillChild plays a full disk, on systems that can.
var fillChild func(ctx context.Context, dir, limit string) error

// child is what the test binary does instead of tests.
func child(ctx context.Context, dir string) error {
	if step := os.Getenv(childEnv + "_STEP"); step != "" {
		return compactUntil(ctx, dir, step)
	}
	if limit := os.Getenv(childEnv + "_LIMIT"); limit != "" {
		return fillChild(ctx, dir, limit)
	}
	return writeForever(ctx, dir, os.Getenv(childEnv+"_ROUND"))
}

// writeForever writes items, pairs of items and new states of one item, and
// prints what was acknowledged, one line an act.
func writeForever(ctx context.Context, dir, round string) error {
	s, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(format string, v ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format, v...)
	}
	say("open %d\n", s.Revision())
	errs := make(chan error)
	for w := range 3 {
		go func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%s.%d.%d", round, w, i)
				cs := []Change{itemChange(newItem(id, acop.StatusReady))}
				if w == 2 { // a batch: both or none
					cs = append(cs, itemChange(newItem(id+"+", acop.StatusReady)))
				}
				rev, err := s.CommitAll(ctx, cs)
				if err != nil {
					errs <- err
					return
				}
				say("ack %s %d %d\n", id, rev, len(cs))
			}
		}()
	}
	return <-errs
}

// H-085: kill -9 in the middle of acknowledged writes loses none of them, shows
// no half batch, and the log opens again by itself.
func TestKillLosesNothing_H085(t *testing.T) {
	dir := t.TempDir()
	acked := map[string]uint64{}
	pairs := map[string]bool{}
	for round := range 4 {
		runAndKill(t, dir, round, 60+round*37, acked, pairs)
		s, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for id, rev := range acked {
			it, ok := s.Item(id)
			if !ok {
				t.Fatalf("round %d: acknowledged %s at %d is lost", round, id, rev)
			}
			if want := rev; !pairs[id] && it.Revision != want {
				t.Errorf("round %d: %s is at %d, acknowledged at %d", round, id, it.Revision, want)
			}
		}
		checkPairs(t, s, round)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkPairs makes sure that of every batch both records are there or none.
func checkPairs(t *testing.T, s *Store, round int) {
	t.Helper()
	for _, it := range s.Snapshot(start).Items {
		id := it.WorkItem.WorkItemID
		if strings.Split(id, ".")[1] != "2" {
			continue
		}
		other := id + "+"
		if strings.HasSuffix(id, "+") {
			other = strings.TrimSuffix(id, "+")
		}
		if _, ok := s.Item(other); !ok {
			t.Errorf("round %d: %s is there, %s is not", round, id, other)
		}
	}
}

// runAndKill runs a child until it has acknowledged n acts and kills it.
func runAndKill(t *testing.T, dir string, round, n int, acked map[string]uint64, pairs map[string]bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), childEnv+"="+dir, fmt.Sprintf("%s_ROUND=%d", childEnv, round))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for got := 0; lines.Scan(); {
		var id string
		var rev uint64
		var size int
		if _, err := fmt.Sscanf(lines.Text(), "ack %s %d %d", &id, &rev, &size); err != nil {
			continue
		}
		acked[id], pairs[id] = rev, size == 2
		if size == 2 {
			acked[id+"+"] = rev
		}
		if got++; got == n {
			// The pipe still holds acknowledgements; they count as well.
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	if len(acked) == 0 {
		t.Fatal("the child acknowledged nothing")
	}
}
