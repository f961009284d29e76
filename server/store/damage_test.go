package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acop"
)

// written makes a log of n items with a few acts more and closes it.
func written(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: dir, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		it := newItem(fmt.Sprintf("item-%d", i), acop.StatusReady)
		it.WorkItem.Summary = strings.Repeat(fmt.Sprintf("%d words ", i*7919), 20)
		commit(t, s, itemChange(it))
	}
	commit(t, s, itemChange(newItem("pair-a", acop.StatusReady)), itemChange(newItem("pair-b", acop.StatusReady)))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyDir(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(filepath.Join(to, "x"), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(to, "x")
}

// files lists the regular files below dir whose names end so.
func files(t *testing.T, dir, suffix string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, suffix) {
			out = append(out, path)
		}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("no file *%s below %s: %v", suffix, dir, err)
	}
	return out
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at] ^= 0x40
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// soundOrRefused demands that the log either is refused as damaged or holds
// everything; it tells which.
func soundOrRefused(t *testing.T, dir string, items int) (refused bool) {
	t.Helper()
	before := fingerprint(t, dir)
	s, err := Open(t.Context(), Options{Dir: dir, Now: clock})
	if err != nil {
		var d *DamageError
		if !errors.As(err, &d) {
			t.Fatalf("refused, but not as damage: %v", err)
		}
		for _, way := range []string{"cp -a", "backup", "another owner", "serve --accept-loss"} {
			if !strings.Contains(err.Error(), way) {
				t.Errorf("the way out %q is missing in: %v", way, err)
			}
		}
		if diff := cmp.Diff(before, fingerprint(t, dir)); diff != "" {
			t.Errorf("the refused folder was touched:\n%s", diff)
		}
		return true
	}
	defer s.Close()
	for i := range items {
		if it, ok := s.Item(fmt.Sprintf("item-%d", i)); !ok || it.Revision != uint64(i+1) {
			t.Fatalf("item-%d is silently lost", i)
		}
	}
	if mustItem(t, s, "pair-a").Revision != uint64(items+1) || mustItem(t, s, "pair-b").Revision != uint64(items+2) {
		t.Fatal("the batch is silently lost")
	}
	return false
}

// A changed byte anywhere in the messages is found or harmless, never served.
func TestFlippedByte(t *testing.T) {
	const items = 60
	dir := written(t, items)
	rel, err := filepath.Rel(dir, files(t, dir, ".blk")[0])
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, rel))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	const tries = 12
	for i := range int64(tries) {
		bad := copyDir(t, dir)
		flip(t, filepath.Join(bad, rel), info.Size()*i/tries+i)
		if soundOrRefused(t, bad, items) {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no changed byte was found")
	}
	t.Logf("%d of %d changed bytes refused, the others harmless", refused, tries)
}

// A changed byte in the engine's own files beside the messages loses nothing.
func TestFlippedByteBesideMessages(t *testing.T) {
	const items = 20
	dir := written(t, items)
	for _, path := range files(t, filepath.Join(dir, "log"), "") {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, ".blk") || info.Size() == 0 {
			continue
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		bad := copyDir(t, dir)
		flip(t, filepath.Join(bad, rel), info.Size()/2)
		if soundOrRefused(t, bad, items) {
			t.Errorf("%s: refused, although every message is there", rel)
		}
	}
}

// A cut tail, a missing block and an older copy under a newer note are refused.
func TestMissingPartsAreRefused(t *testing.T) {
	const items = 40
	dir := written(t, items)
	older := written(t, items/2)
	for name, damage := range map[string]func(t *testing.T, dir string){
		"cut tail": func(t *testing.T, dir string) {
			p := files(t, dir, ".blk")[0]
			info, err := os.Stat(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(p, info.Size()-200); err != nil {
				t.Fatal(err)
			}
		},
		"missing block": func(t *testing.T, dir string) {
			for _, p := range files(t, dir, ".blk") {
				if err := os.Remove(p); err != nil {
					t.Fatal(err)
				}
			}
		},
		"missing log": func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "log")); err != nil {
				t.Fatal(err)
			}
		},
		"older copy": func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "log")); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(filepath.Join(dir, "log"), os.DirFS(filepath.Join(older, "log"))); err != nil {
				t.Fatal(err)
			}
		},
		"missing note": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, noteName)); err != nil {
				t.Fatal(err)
			}
		},
		"spoiled note": func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, noteName), []byte("nothing"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bad := copyDir(t, dir)
			damage(t, bad)
			if !soundOrRefused(t, bad, items) {
				t.Fatal("was served")
			}
			if !soundOrRefused(t, bad, items) {
				t.Fatal("was served at the second start")
			}
			acceptAndGoOn(t, bad, items+2)
		})
	}
}

// acceptAndGoOn accepts the loss, writes, and opens again without being asked.
func acceptAndGoOn(t *testing.T, dir string, last uint64) {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: dir, Now: clock, AcceptLoss: true})
	if err != nil {
		t.Fatalf("accept the loss: %v", err)
	}
	if s.Revision() < last {
		t.Errorf("revision %d could be used a second time: the log had come to %d", s.Revision()+1, last)
	}
	rev := commit(t, s, itemChange(newItem("after", acop.StatusReady)))
	for _, it := range s.Snapshot(start).Items { // what is left can be changed
		commit(t, s, itemChange(it.Clone()))
	}
	want := dump(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = Open(t.Context(), Options{Dir: dir, Now: clock})
	if err != nil {
		t.Fatalf("after an accepted loss: %v", err)
	}
	defer s.Close()
	if s.Revision() != want["head"] || rev <= last {
		t.Errorf("revision %d after the restart, %d before", s.Revision(), want["head"])
	}
	if _, err := s.Commit(t.Context(), itemChange(newItem("later", acop.StatusReady))); err != nil {
		t.Error(err)
	}
}

// A message that this program did not write is never served: not while the
// owner runs, and not at its next start.
func TestForeignMessageStopsTheOwner(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	if _, err := s.engine().js.Publish(t.Context(), subject(KindItem, "b"), []byte(`{"kind":"item","id":"b"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), itemChange(newItem("c", acop.StatusReady))); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a write after it: %v", err)
	}
	if err := s.WaitRevision(t.Context(), 2); !errors.Is(err, ErrUnavailable) {
		t.Errorf("wait for the foreign message: %v", err)
	}
	if _, ok := s.Item("a"); !ok || s.Revision() != 1 {
		t.Error("what was true before can no longer be read")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Options{Dir: dir})
	var d *DamageError
	if !errors.As(err, &d) || len(d.Broken) != 1 || d.Broken[0] != 2 {
		t.Fatalf("start after it: %v", err)
	}
	acceptAndGoOn(t, dir, 2)
}

// Whoever only looks who holds a folder is in no owner's way.
func TestHolderIsInNobodysWay(t *testing.T) {
	dir := t.TempDir()
	if _, held, err := Holder(dir); held || err != nil {
		t.Fatalf("a new folder is held: %v", err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if _, _, err := Holder(dir); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 1000 {
		f, err := lockDir(dir)
		if err != nil {
			t.Error(err)
			break
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}

// Only one owner may have the folder open; the second learns which process has.
func TestTwoOpeners(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	_, err := Open(t.Context(), Options{Dir: dir})
	var used *ErrInUse
	if !errors.As(err, &used) || used.PID != os.Getpid() || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Fatalf("second opener: %v", err)
	}
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, Options{Dir: dir})
}
