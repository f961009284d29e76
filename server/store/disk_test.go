//go:build unix

package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"signalbox/model/acop"
)

const unlimited = ^uint64(0)

func init() { fillChild = fillDisk }

// fillDisk is the child's part of [TestDiskFull]: it writes until the log takes
// no more, because no file may grow beyond the limit, which acts on the engine
// as a full disk does. It prints what was acknowledged and how the rest ended.
func fillDisk(ctx context.Context, dir, limit string) error {
	var n uint64
	if _, err := fmt.Sscan(limit, &n); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	s, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: unlimited}); err != nil {
		return err
	}
	refused := 0
	for i := 0; refused < 3; i++ {
		it := newItem(fmt.Sprint("d", i), acop.StatusReady)
		it.WorkItem.Summary = strings.Repeat("x", 2000)
		rev, err := s.Commit(ctx, itemChange(it))
		switch {
		case err == nil:
			fmt.Printf("ack d%d %d 1\n", i, rev)
		case errors.Is(err, ErrUnavailable):
			refused++
			fmt.Printf("refused d%d\n", i)
		default:
			return fmt.Errorf("a write on a full disk: %w", err)
		}
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: unlimited, Max: unlimited}); err != nil {
		return err
	}
	if err := writeAgain(ctx, s); err != nil {
		return err
	}
	return s.Close()
}

// writeAgain writes until the log takes it: one act of one record and one of two.
func writeAgain(ctx context.Context, s *Store) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		rev, err := s.Commit(ctx, itemChange(newItem("again", acop.StatusReady)))
		if err == nil {
			fmt.Printf("ack again %d 1\n", rev)
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
	_, err := s.CommitAll(ctx, []Change{itemChange(newItem("again-a", acop.StatusReady)), itemChange(newItem("again-b", acop.StatusReady))})
	if err != nil {
		return err
	}
	sub, err := s.Subscribe(ctx, 0, EventFilter{})
	if err != nil {
		return err
	}
	defer sub.Close()
	for at := uint64(0); at < s.Revision(); {
		events, err := sub.Next(ctx)
		if err != nil {
			return fmt.Errorf("events after the disk was full: %w", err)
		}
		at = events[0].Revision
	}
	return nil
}

// On a full disk a write is refused as unavailable, nothing is half kept, what
// was acknowledged stays, and with space the owner writes again.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+dir, childEnv+"_LIMIT=100000")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := open(t, Options{Dir: dir})
	acks := 0
	for line := range strings.Lines(string(out)) {
		var id string
		var rev uint64
		if n, _ := fmt.Sscanf(line, "ack %s %d", &id, &rev); n == 2 {
			acks++
			if it, ok := s.Item(id); !ok || it.Revision != rev {
				t.Errorf("acknowledged %s at %d is lost", id, rev)
			}
		}
		if n, _ := fmt.Sscanf(line, "refused %s", &id); n == 1 {
			if _, ok := s.Item(id); ok {
				t.Errorf("refused %s is there", id)
			}
		}
	}
	if acks < 10 || !strings.Contains(string(out), "ack again") {
		t.Errorf("the owner did not go on by itself when there was space:\n%s", out)
	}
	commit(t, s, itemChange(newItem("after", acop.StatusReady)))
}
