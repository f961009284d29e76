package acmp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"signalbox/model/acmp"
)

// disk keeps under StateDir:
//
//	tasks/HASH.task    the journal of one unfinished task; gone once it has ended
//	tasks/HASH.in      its streamed input, the part that may be sent again; goes with it
//	tasks/HASH.out     its transcript
//	ledger.jsonl       one line per outcome
//
// HASH is made from the task_id, which may hold anything. A nil disk keeps
// nothing. A journal is locked by the process that runs its task, so several
// programs may share one folder.
//
// What a crash may leave: the journal and the input as they were before or after
// their last change; a line of the ledger cut off, which the next one leaves
// behind; a transcript that ends early, of a task that is sent again.
type disk struct {
	dir    string
	bounds Bounds
	log    *slog.Logger
	mu     sync.Mutex // of the ledger
	pruner pruner
	by     string // see Options.Name
	told   bool
}

// openDisk makes the folder where needed. log is for what goes wrong later.
func openDisk(dir string, bounds Bounds, log *slog.Logger) (*disk, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(filepath.Join(dir, "tasks"), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for transcripts: %w", err)
	}
	d := &disk{dir: dir, bounds: bounds.orDefault(), log: log}
	d.prune()
	return d, nil
}

func (d *disk) path(taskID, ext string) string {
	sum := sha256.Sum256([]byte(taskID))
	return filepath.Join(d.dir, "tasks", hex.EncodeToString(sum[:16])+ext)
}

// journal writes r durably before the task is sent.
func (d *disk) journal(r record) (*taskFile, error) {
	if d == nil {
		return nil, nil
	}
	j, err := newJournal(d.path(r.Params.TaskID, ".task"), &r)
	if err != nil {
		return nil, err
	}
	if r.Params.InputStream {
		d.inputFile(r.Params.TaskID).remove() // of an earlier task of this name
	}
	return d.taskFile(r, j), nil
}

func (d *disk) taskFile(r record, j *journal) *taskFile {
	return &taskFile{d: d, rec: r, journal: j, out: outFile{path: d.path(r.Params.TaskID, ".out"), log: d.log}}
}

func (d *disk) inputFile(taskID string) *inputFile {
	if d == nil {
		return nil
	}
	return &inputFile{path: d.path(taskID, ".in"), log: d.log}
}

// unfinished hands over, one after the other, the journals that no living program
// holds; take must close those it does not keep. Those that cannot be read are
// told to lost, with the name of the file. A journal whose outcome is in the ledger
// was left by a crash between the two, and goes.
func (d *disk) unfinished(take func(*taskFile), lost func(file string, err error)) {
	if d == nil {
		return
	}
	names, _ := filepath.Glob(filepath.Join(d.dir, "tasks", "*.task"))
	var ended map[string]time.Time
	for _, name := range names {
		var r record
		j, err := openJournal(name, &r)
		if err == nil && j != nil && d.path(r.Params.TaskID, ".task") != name {
			j.close()
			err = errUnreadable
		}
		switch {
		case err != nil:
			lost(filepath.Base(name), err)
			continue
		case j == nil:
			continue
		}
		if ended == nil {
			ended = d.accounted()
		}
		t := d.taskFile(r, j)
		if ended[r.Params.TaskID].After(r.FirstSend) { // not of an earlier task of this name
			d.inputFile(r.Params.TaskID).remove()
			t.finished()
			continue
		}
		take(t)
	}
}

func (d *disk) transcript(taskID string) (io.ReadCloser, error) {
	if d == nil {
		return nil, errors.New("no transcripts are kept here")
	}
	f, err := os.Open(d.path(taskID, ".out"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no output of task %s", taskID)
	}
	return f, err
}

// taskFile is what the disk holds of one task. A nil one keeps nothing. event,
// flush, finished and close are called by the goroutine that delivers the task's
// events; cancelled by its runner.
type taskFile struct {
	d   *disk
	out outFile

	mu      sync.Mutex
	rec     record
	journal *journal // nil once finished or closed
}

// cancelled notes the cancel, so that a later run cancels again.
func (t *taskFile) cancelled(reason string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rec.Cancelled, t.rec.IsCancel = reason, true
	if t.journal == nil {
		return
	}
	if err := t.journal.write(&t.rec); err != nil {
		t.d.log.Warn("journal of a task not written", "cause", err)
	}
}

func (t *taskFile) event(ev *acmp.TaskEvent) {
	if t != nil {
		t.out.event(ev)
	}
}

func (t *taskFile) flush() {
	if t != nil {
		t.out.flush()
	}
}

// finished ends the journal: the task has its outcome, and its output is whole.
func (t *taskFile) finished() {
	if t == nil {
		return
	}
	t.out.sync()
	defer t.d.ended(t)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.journal.remove(); err != nil {
		t.d.log.Warn("journal of a task not removed", "cause", err)
	}
	t.journal = nil
}

// close lets go of the files; a journal that stays is for the next run.
func (t *taskFile) close() {
	if t == nil {
		return
	}
	t.out.close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.journal.close()
	t.journal = nil
}

// record is what the journal holds of t before the first send.
func (t *task) record() record {
	return record{Provider: t.inv.Provider, Endpoint: t.l.spec.Endpoint(), Params: t.inv.Params, NoRetry: t.inv.NoRetry, RunTwice: t.inv.RunTwice, FirstSend: time.Now()}
}
