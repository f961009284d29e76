package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acop"
)

// longLog makes a log of several packed blocks and one that is not, and closes it.
func longLog(t *testing.T) (dir string, items int) {
	t.Helper()
	dir, items = t.TempDir(), 70
	s, err := Open(t.Context(), Options{Dir: dir, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	for i := range items {
		it := newItem(fmt.Sprintf("item-%d", i), acop.StatusReady)
		it.WorkItem.Summary = strings.Repeat(fmt.Sprintf("%d words ", i*7919), 30_000)
		commit(t, s, itemChange(it))
	}
	commit(t, s, itemChange(newItem("pair-a", acop.StatusReady)), itemChange(newItem("pair-b", acop.StatusReady)))
	newest := s.engine().disk.index
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	blocks, err := blockFiles(filepath.Join(dir, engineDir))
	if err != nil || len(blocks) < 3 || blocks[len(blocks)-1].index != newest {
		t.Fatalf("%d blocks, the follower synced %d last: %v", len(blocks), newest, err)
	}
	head, err := os.ReadFile(blocks[0].path)
	if err != nil || !strings.HasPrefix(string(head), "cmp") {
		t.Fatalf("the first block is not packed: %v", err)
	}
	return dir, items
}

// longLogAlone leaves a test out of a short run that writes and reads a long log with
// nobody else at it.
func longLogAlone(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("writes and reads a long log with nobody else at it")
	}
}

// What the engine packed is read back whole, and damage of it is found: a
// changed byte, a cut, a missing block, one block twice, blocks of an older log.
func TestPackedBlocks(t *testing.T) {
	longLogAlone(t)
	dir, items := longLog(t)
	if soundOrRefused(t, copyDir(t, dir), items) {
		t.Fatal("a whole log was refused")
	}
	other, _ := longLog(t)
	block := func(dir string, n int) string {
		bs, err := blockFiles(filepath.Join(dir, engineDir))
		if err != nil {
			t.Fatal(err)
		}
		return bs[n].path
	}
	over := func(t *testing.T, to, from string) {
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, damage := range map[string]func(t *testing.T, dir string){
		"flipped byte":      func(t *testing.T, dir string) { flip(t, block(dir, 0), 5000) },
		"flipped head":      func(t *testing.T, dir string) { flip(t, block(dir, 1), 2) },
		"flipped last byte": func(t *testing.T, dir string) { flip(t, block(dir, 0), fileSize(t, block(dir, 0))-1) },
		"cut block": func(t *testing.T, dir string) {
			if err := os.Truncate(block(dir, 1), fileSize(t, block(dir, 1))/2); err != nil {
				t.Fatal(err)
			}
		},
		"emptied block": func(t *testing.T, dir string) {
			if err := os.Truncate(block(dir, 1), 0); err != nil {
				t.Fatal(err)
			}
		},
		"first block missing": func(t *testing.T, dir string) {
			if err := os.Remove(block(dir, 0)); err != nil {
				t.Fatal(err)
			}
		},
		"middle block missing": func(t *testing.T, dir string) {
			if err := os.Remove(block(dir, 1)); err != nil {
				t.Fatal(err)
			}
		},
		"block twice":          func(t *testing.T, dir string) { over(t, block(dir, 1), block(dir, 0)) },
		"block of another log": func(t *testing.T, dir string) { over(t, block(dir, 0), block(other, 0)) },
		"blocks of another log": func(t *testing.T, dir string) {
			over(t, block(dir, 0), block(other, 0))
			over(t, block(dir, 1), block(other, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bad := copyDir(t, dir)
			damage(t, bad)
			// The other log tells the same: only its times of writing differ, so
			// that its blocks are as good as the lost ones, or are refused.
			if !soundOrRefused(t, bad, items) && !strings.HasSuffix(name, "another log") {
				t.Error("was served")
			}
		})
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A write torn by a power cut was never acknowledged: with a note that does not
// know of it the log opens without it; with one that does it is refused.
func TestTornLastWrite(t *testing.T) {
	dir := written(t, 20)
	path := files(t, dir, ".blk")[0]
	noted, err := os.ReadFile(filepath.Join(dir, noteName))
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{Dir: dir, Now: clock})
	rev := commit(t, s, itemChange(newItem("late", acop.StatusReady)))
	closeIn(t, dir)
	for _, cut := range []int64{1, 9, 100} {
		torn := copyDir(t, dir)
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(torn, rel), fileSize(t, path)-cut); err != nil {
			t.Fatal(err)
		}
		if !soundOrRefused(t, torn, 20) {
			t.Error("an acknowledged act is lost and the log was served")
		}
		if err := os.WriteFile(filepath.Join(torn, noteName), noted, 0o600); err != nil {
			t.Fatal(err)
		}
		// The engine's own summary is of the same moment as the note.
		_ = os.Remove(filepath.Join(streamDir(filepath.Join(torn, engineDir)), "msgs", "index.db"))
		if soundOrRefused(t, torn, 20) {
			t.Error("a torn write that nobody was told of made the log refuse")
		}
		s, err := Open(t.Context(), Options{Dir: torn, Now: clock})
		if err != nil {
			t.Fatal(err)
		}
		if got := commit(t, s, itemChange(newItem("next", acop.StatusReady))); got != rev {
			t.Errorf("the next act got revision %d instead of %d", got, rev)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What a start shows is on the disk: a killed owner may have left acts in the
// system's memory alone.
func TestStartSyncsWhatItShows(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, Options{Dir: dir})
	if s.engine().disk.syncs.Load() == 0 {
		t.Error("the start shows what it has not synced")
	}
}

// Nothing is acknowledged or told before it is on the disk, and a sync that
// failed is not forgotten: the log is checked and taken up again.
func TestAcknowledgedAfterSync(t *testing.T) {
	if engineSyncs {
		t.Skip("here the engine syncs")
	}
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	before := s.engine().disk.syncs.Load()
	rev := commit(t, s, itemChange(mustItem(t, s, "a").Clone()))
	if got := s.engine().disk.syncs.Load(); got <= before {
		t.Error("acknowledged without a sync")
	}
	if err := s.engine().disk.file.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), itemChange(newItem("b", acop.StatusReady))); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a write that could not be synced: %v", err)
	}
	if s.Revision() != rev {
		if _, ok := s.Item("b"); !ok || s.engine().isBroken() {
			t.Error("shown without being on the disk")
		}
	}
	commitSoon(t, s, itemChange(newItem("c", acop.StatusReady)))
	want := dump(s)
	closeIn(t, dir)
	if d := cmp.Diff(want["items"], dump(open(t, Options{Dir: dir}))["items"]); d != "" {
		t.Error(d)
	}
}
