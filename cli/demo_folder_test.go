package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestDemoSweep: folders of demos that are gone are removed at the next start,
// those of running ones and everything else stay.
func TestDemoSweep(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	live, leave, err := demoFolder(temp)
	if err != nil {
		t.Fatal(err)
	}
	dead := func(name string, lock bool) string {
		dir := filepath.Join(temp, name)
		if err := os.MkdirAll(filepath.Join(dir, "box", "log"), 0o700); err != nil {
			t.Fatal(err)
		}
		if lock {
			if err := os.WriteFile(filepath.Join(dir, demoLock), []byte("1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	killed := dead(demoPrefix+"123", true)
	unknown := dead(demoPrefix+"124", false)
	other := dead(demoPrefix+"notes", true)
	starting := filepath.Join(temp, demoPrefix+"125")
	early := filepath.Join(temp, demoPrefix+"126")
	for _, dir := range []string{starting, early} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(early, old, old); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(temp, demoPrefix+"127")
	elsewhere := dead("elsewhere", true)
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	sweepDemos(temp)
	there := func(path string) bool { _, err := os.Stat(path); return !errors.Is(err, fs.ErrNotExist) }
	for _, path := range []string{live, unknown, other, starting, link, elsewhere} {
		if !there(path) {
			t.Errorf("%s was removed", path)
		}
	}
	for _, path := range []string{killed, early} {
		if there(path) {
			t.Errorf("%s was left", path)
		}
	}
	if err := leave(); err != nil || there(live) {
		t.Errorf("leaving: %v, the folder is there: %t", err, there(live))
	}
}
