package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"signalbox/model/acop"
)

// The same on a file system that is full, where the machine lets a test make
// one; a compaction on it fails and leaves the log as it is.
func TestDiskFullFileSystem(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=6m"); err != nil {
		t.Skipf("cannot mount a small file system here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(disk, "log")
	s := open(t, Options{Dir: dir})
	big := func(id string) Change {
		it := newItem(id, acop.StatusReady)
		it.WorkItem.Summary = strings.Repeat("x", 50_000)
		return itemChange(it)
	}
	commit(t, s, big("first"))
	ballast := filepath.Join(disk, "ballast")
	fillUp(t, ballast)
	acked, err := s.Revision(), error(nil)
	for i := range 100 {
		if _, err = s.Commit(t.Context(), big(fmt.Sprint("more-", i))); err != nil {
			break
		}
		acked++
	}
	if !errors.Is(err, ErrUnavailable) {
		t.Fatalf("a write on a full file system: %v", err)
	}
	if err := s.TakesWrites(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a log on a full file system says that it takes writes: %v", err)
	}
	if s.Revision() != acked {
		t.Errorf("revision %d, acknowledged %d", s.Revision(), acked)
	}
	if _, ok := s.Item("first"); !ok {
		t.Error("reads no longer answer")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	commitSoon(t, s, big("again"))
	if err := s.TakesWrites(); err != nil {
		t.Errorf("after a write that was taken: %v", err)
	}
	for range 5 {
		c := big("again")
		c.Expected = mustItem(t, s, "again").Revision
		commit(t, s, c)
	}
	want := dump(s)
	closeIn(t, dir)

	fillUp(t, ballast)
	if done, err := Compact(t.Context(), CompactOptions{Dir: dir}); err == nil {
		t.Errorf("a compaction without space: %+v", done)
	} else {
		t.Log("compaction:", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if got := dump(open(t, Options{Dir: dir})); got["head"] != want["head"] || got["sum"] != want["sum"] {
		t.Error("the failed compaction changed the log")
	}
	if there, err := generations(dir); err != nil || len(there) != 1 {
		t.Errorf("what is left of the failed compaction: %v, %v", there, err)
	}
}

// TestDiskGrows fills a small file system with the log alone and then makes it
// larger: the owner takes all that there is, and goes on without a restart.
func TestDiskGrows(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=6m"); err != nil {
		t.Skipf("cannot mount a small file system here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s := open(t, Options{Dir: filepath.Join(disk, "log")})
	big := func(id string) Change {
		it := newItem(id, acop.StatusReady)
		text := make([]byte, 25_000) // of a kind that cannot be packed
		rand.Read(text)
		it.WorkItem.Summary = hex.EncodeToString(text)
		return itemChange(it)
	}
	var err error
	for i := 0; err == nil && i < 1000; i++ {
		_, err = s.Commit(t.Context(), big(fmt.Sprint("item-", i)))
	}
	if !errors.Is(err, ErrUnavailable) {
		t.Fatalf("a write on a full file system: %v", err)
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(disk, &st); err != nil {
		t.Fatal(err)
	}
	if free := st.Bavail * uint64(st.Bsize); free > 1<<20 {
		t.Errorf("writes are refused although %d bytes are free", free)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=24m"); err != nil {
		t.Fatal(err)
	}
	commitSoon(t, s, big("again"))
	for i := range 40 {
		commit(t, s, big(fmt.Sprint("more-", i)))
	}
}

// fillUp writes a file until nothing more fits.
func fillUp(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
