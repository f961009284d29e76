package acmp

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds limit the transcripts of ended tasks that are kept on disk; the oldest
// go first. The transcript of a running task is always complete and kept, and
// so is the newest, whatever its size.
type Bounds struct {
	Keep     int   // at most so many; 0 means [DefaultKeep]
	MaxBytes int64 // at most so many bytes together; 0 means [DefaultMaxBytes]
}

// The bounds where none are configured.
const (
	DefaultKeep     = 1000
	DefaultMaxBytes = 2 << 30
)

func (b Bounds) orDefault() Bounds {
	if b.Keep <= 0 {
		b.Keep = DefaultKeep
	}
	if b.MaxBytes <= 0 {
		b.MaxBytes = DefaultMaxBytes
	}
	return b
}

// pruner decides when to look at the folder again: not at every end of a task,
// but before the bounds can be passed by more than a sixteenth.
type pruner struct {
	mu    sync.Mutex
	count int
	bytes int64
}

// ended prunes after the end of t where enough has come together.
func (d *disk) ended(t *taskFile) {
	p := &d.pruner
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	p.bytes += t.out.size
	if p.count > d.bounds.Keep/16 || p.bytes > d.bounds.MaxBytes/16 {
		p.count, p.bytes = 0, 0
		d.prune()
	}
}

// prune removes the oldest transcripts above the bounds, but none of an
// unfinished task.
func (d *disk) prune() {
	type output struct {
		path string
		size int64
		age  time.Time
	}
	names, _ := filepath.Glob(filepath.Join(d.dir, "tasks", "*.out"))
	var outs []output
	for _, name := range names {
		if _, err := os.Stat(strings.TrimSuffix(name, ".out") + ".task"); !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if fi, err := os.Stat(name); err == nil {
			outs = append(outs, output{name, fi.Size(), fi.ModTime()})
		}
	}
	slices.SortFunc(outs, func(a, b output) int { return b.age.Compare(a.age) })
	var total int64
	for i, o := range outs {
		total += o.size
		if i > 0 && (i >= d.bounds.Keep || total > d.bounds.MaxBytes) {
			_ = os.Remove(o.path)
			total -= o.size
		}
	}
}
