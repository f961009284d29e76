package store

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// TestCheck judges a log as a start would and leaves it as it is.
func TestCheck(t *testing.T) {
	t.Parallel()
	dir := written(t, 5)
	before := fingerprint(t, dir)
	if last, err := Check(t.Context(), dir); err != nil || last != 7 {
		t.Errorf("a sound log: %d, %v", last, err)
	}
	hurt := copyDir(t, dir)
	blocks := files(t, hurt, ".blk")
	flip(t, blocks[0], 200)
	var damage *DamageError
	if _, err := Check(t.Context(), hurt); !errors.As(err, &damage) {
		t.Errorf("a damaged log: %v", err)
	}
	// Sound again: what was damaged had not been touched.
	flip(t, blocks[0], 200)
	if _, err := Check(t.Context(), hurt); err != nil {
		t.Errorf("the log was changed: %v", err)
	}
	if !maps.Equal(fingerprint(t, dir), before) {
		t.Error("the sound log was changed")
	}
	s, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var used *ErrInUse
	if _, err := Check(t.Context(), dir); !errors.As(err, &used) {
		t.Errorf("while an owner runs: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Check(t.Context(), filepath.Join(dir, "nowhere")); !errors.Is(err, ErrNoLog) {
		t.Errorf("no folder: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(t.Context(), file); err == nil || errors.Is(err, ErrNoLog) {
		t.Errorf("a file in place of the folder: %v", err)
	}
}
