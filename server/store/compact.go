package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"time"
)

// ErrNoLog means that a folder holds no log.
var ErrNoLog = errors.New("no log is in this folder")

// CompactOptions say what a compaction keeps.
type CompactOptions struct {
	// Dir is the folder of the log. No owner may have it open.
	Dir string
	// Keep is how long history is kept; zero keeps only what must be. Answers to
	// requests are remembered for their 24 h in any case.
	Keep time.Duration
	Log  *slog.Logger     // nil discards
	Now  func() time.Time // nil = time.Now

	step func(string) // told before each step; for tests
}

// Compacted says what a compaction did.
type Compacted struct {
	// Nothing says that there was no record to leave behind; the log is as it was.
	Nothing bool
	// Tail is the first revision whose history is kept, Last the last revision.
	// Both are the same revisions as before.
	Tail, Last uint64
	// Records before and after, and the bytes of their files.
	RecordsBefore, RecordsAfter uint64
	BytesBefore, BytesAfter     int64
}

// Compact writes the log anew without the history that is older than Keep, and
// swaps it in. Every object keeps its state and its revision; readers that
// resume from before the kept history are told that it is gone.
//
// The old log stays untouched until the new one is whole, synced and compared
// with it, and one rename decides which counts. So a compaction that is cut
// short at any moment leaves the one or the other, and the next start removes
// the rest. *[ErrInUse] says that an owner runs; *[DamageError] that the log must
// be repaired first. It needs free space for the new log.
func Compact(ctx context.Context, o CompactOptions) (Compacted, error) {
	s := &Store{dir: o.Dir, log: o.Log, now: o.Now, p: newProjection()}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	now := s.now() // one moment for all of it
	s.now = func() time.Time { return now }
	if o.step == nil {
		o.step = func(string) {}
	}
	if err := hasLog(o.Dir); err != nil {
		return Compacted{}, err
	}
	c := &compaction{old: s, keep: o.Keep, step: o.step}
	done, err := c.run(ctx)
	if err != nil {
		err = errors.Join(err, c.undo())
	}
	return done, errors.Join(err, s.release())
}

// compaction is one run of [Compact].
type compaction struct {
	old  *Store
	keep time.Duration
	step func(string)

	blocks  []blockFile
	found   *scan
	next    generation // the one being written; Number 0 = none yet
	swapped bool
	picked  []uint64 // places of the older records that are kept
	bridge  map[string]bool
}

func (c *compaction) run(ctx context.Context) (Compacted, error) {
	if err := c.open(ctx); err != nil {
		return Compacted{}, err
	}
	tail, err := c.findTail(ctx)
	if err != nil {
		return Compacted{}, err
	}
	if err := c.pick(ctx, tail); err != nil {
		return Compacted{}, err
	}
	f := c.found
	done := Compacted{Tail: f.gen.Tail, Last: f.last, RecordsBefore: f.last + 1 - f.gen.First}
	done.BytesBefore = sizeOf(filepath.Join(c.old.dir, c.old.gen.folder()))
	n := uint64(len(c.picked)) + 1 // and the preface
	if tail < f.gen.First+n || tail-n <= f.gen.First {
		done.Nothing, done.RecordsAfter, done.BytesAfter = true, done.RecordsBefore, done.BytesBefore
		return done, nil
	}
	c.next = generation{Number: c.old.gen.Number + 1, First: tail - n, Tail: tail}
	if err := c.write(ctx); err != nil {
		return Compacted{}, err
	}
	if err := c.compare(ctx); err != nil {
		return Compacted{}, err
	}
	if err := c.swap(); err != nil {
		return Compacted{}, err
	}
	done.Tail, done.RecordsAfter = tail, f.last+1-c.next.First
	done.BytesAfter = sizeOf(filepath.Join(c.old.dir, c.next.folder()))
	return done, nil
}

// open takes the folder and checks the log as a start does, without the engine.
func (c *compaction) open(ctx context.Context) error {
	s := c.old
	var err error
	if s.lock, err = lockDir(s.dir); err != nil {
		return err
	}
	if s.lost, err = readLosses(s.dir); err != nil {
		return err
	}
	d := &DamageError{Dir: s.dir}
	if s.gen, d.Note, err = readGeneration(s.dir); err != nil {
		return err
	}
	s.lost.before = s.gen.Tail
	var noted link
	if s.note, noted, err = openNote(s.dir); err != nil {
		d.Note = err.Error()
	}
	d.Noted = noted.rev
	if c.found, err = s.scanFiles(ctx, true); err != nil {
		return err
	}
	if c.found.compare(d, noted); d.any() {
		return d
	}
	s.project(c.found)
	c.blocks, err = blockFiles(filepath.Join(s.dir, s.gen.folder()))
	return err
}

// compare opens the new log and demands the same state as that of the old one.
func (c *compaction) compare(ctx context.Context) error {
	c.step("compare")
	t := &Store{dir: c.old.dir, log: c.old.log, now: c.old.now, p: newProjection(), gen: c.next}
	t.lost = &losses{skip: map[uint64]bool{}, before: c.next.Tail}
	f, err := t.scanFiles(ctx, true)
	if err != nil {
		return err
	}
	d := &DamageError{Dir: filepath.Join(t.dir, t.gen.folder())}
	f.compare(d, c.found.head)
	if d.Noted = c.found.last; d.any() {
		return d
	}
	if err := t.startEngine(ctx, c.next.First); err != nil {
		return errors.Join(err, t.release())
	}
	if err := errors.Join(t.engine().agree(ctx, f, d), t.release()); err != nil {
		return err
	}
	t.project(f)
	if what := differ(c.old.p, t.p); what != "" {
		return fmt.Errorf("the compacted log shows other %s than the log; nothing was changed", what)
	}
	return syncTree(filepath.Join(t.dir, t.gen.folder()))
}

// differ names what of the present state is not the same in both.
func differ(a, b *projection) string {
	for what, same := range map[string]bool{
		"revision":          a.head == b.head,
		"work items":        reflect.DeepEqual(a.items, b.items),
		"entries":           reflect.DeepEqual(a.entries, b.entries),
		"settings":          reflect.DeepEqual(a.settings, b.settings),
		"live claims":       reflect.DeepEqual(a.live, b.live),
		"remembered answer": reflect.DeepEqual(a.answers.byScope, b.answers.byScope),
	} {
		if !same {
			return what
		}
	}
	return ""
}

// swap makes the new generation the one that counts and removes the old one.
func (c *compaction) swap() error {
	c.step("swap")
	b, err := formatGeneration(c.next)
	if err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(c.old.dir, generationName), b); err != nil {
		return fmt.Errorf("swap the compacted log in: %w", err)
	}
	c.swapped = true
	c.step("clear")
	c.old.gen = c.next
	if err := c.old.clearOthers(); err != nil {
		return err
	}
	c.step("done")
	return nil
}

// undo removes a new generation that does not count.
func (c *compaction) undo() error {
	if c.next.Number == 0 || c.swapped {
		return nil
	}
	return os.RemoveAll(filepath.Join(c.old.dir, c.next.folder()))
}
