//go:build !windows

package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"signalbox/model/acop"
)

// failSyncs lets the follower's syncs fail: a pipe has no disk below it. What the
// engine writes goes to its own files as before.
func failSyncs(t *testing.T, e *engine) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	_ = e.disk.file.Close()
	e.disk.file = r // the follower closes it
}

// After a failed sync the system takes what it did not write for written. Nothing
// of it is shown again before it was written anew, to another file.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, Now: clock})
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	engine := filepath.Join(dir, engineDir)
	stat := func() os.FileInfo {
		t.Helper()
		blocks, err := blockFiles(engine)
		if err != nil || len(blocks) != 1 {
			t.Fatalf("%d blocks: %v", len(blocks), err)
		}
		info, err := os.Stat(blocks[0].path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	doubtful := stat()
	failSyncs(t, s.engine())
	if _, err := s.Commit(t.Context(), itemChange(newItem("b", acop.StatusReady))); !errors.Is(err, ErrUnavailable) {
		t.Fatalf("a write that was not synced: %v", err)
	}
	commitSoon(t, s, itemChange(newItem("c", acop.StatusReady)))
	if os.SameFile(doubtful, stat()) {
		t.Error("the owner goes on with the file that could not be synced")
	}
	mustItem(t, s, "b") // it was in the file, and is on the disk now
	if _, err := os.Stat(filepath.Join(dir, spareBlock)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy is left over: %v", err)
	}
	want := dump(s)
	closeIn(t, dir)
	if got := dump(open(t, Options{Dir: dir, Now: clock})); got["head"] != want["head"] || got["sum"] != want["sum"] {
		t.Error("the next start finds another log")
	}
}

// Only what is in doubt is written anew, and it stays in doubt until that is done.
func TestSecureBlocks(t *testing.T) {
	t.Parallel()
	longLogAlone(t)
	dir, _ := longLog(t)
	engine := filepath.Join(dir, engineDir)
	blocks, err := blockFiles(engine)
	if err != nil {
		t.Fatal(err)
	}
	var before []os.FileInfo
	for _, b := range blocks {
		info, err := os.Stat(b.path)
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, info)
	}
	d := &durable{index: blocks[1].index, unsure: true}
	if err := d.secure(engine, filepath.Join(dir, "no such folder", spareBlock)); err == nil || !d.unsure {
		t.Fatalf("a copy that failed: %v", err)
	}
	if err := d.secure(engine, filepath.Join(dir, spareBlock)); err != nil || d.unsure {
		t.Fatal(err)
	}
	for i, b := range blocks {
		info, err := os.Stat(b.path)
		if err != nil {
			t.Fatal(err)
		}
		if same := os.SameFile(before[i], info); same != (i == 0) || info.Size() != before[i].Size() {
			t.Errorf("block %d: the same file %t, %d bytes of %d", b.index, same, info.Size(), before[i].Size())
		}
	}
	open(t, Options{Dir: dir, Now: clock})
}
