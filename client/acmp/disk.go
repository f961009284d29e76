package acmp

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"signalbox/model/acmp"
)

// disk keeps under StateDir:
//
//	tasks/HASH.task    the journal of one unfinished task; gone once it has ended
//	tasks/HASH.out     its transcript
//	ledger.jsonl       one line per outcome
//
// HASH is made from the task_id, which may hold anything. A nil disk keeps
// nothing. A journal is locked by the process that runs its task, so several
// programs may share one folder.
type disk struct {
	dir    string
	bounds Bounds
	log    *slog.Logger
	mu     sync.Mutex // of the ledger
	pruner pruner
}

// record is the content of a journal file.
type record struct {
	Provider string `json:"provider"`
	// Endpoint is where the provider was: another one under the same name must
	// not get the input, nor run the task.
	Endpoint  string            `json:"endpoint"`
	Params    acmp.InvokeParams `json:"params"`
	NoRetry   bool              `json:"no_retry,omitempty"`
	RunTwice  bool              `json:"run_twice,omitempty"`
	FirstSend time.Time         `json:"first_send"`
	Cancelled string            `json:"cancelled,omitempty"` // reason
	IsCancel  bool              `json:"is_cancelled,omitempty"`
}

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
	path := d.path(r.Params.TaskID, ".task")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if !lockFile(f) {
		f.Close()
		return nil, errors.New("another program runs this task")
	}
	t := &taskFile{d: d, rec: r, journal: f, id: r.Params.TaskID}
	if err := t.write(); err != nil {
		f.Close()
		return nil, err
	}
	return t, nil
}

// unfinished opens the journals that no living program holds.
func (d *disk) unfinished() []*taskFile {
	if d == nil {
		return nil
	}
	names, _ := filepath.Glob(filepath.Join(d.dir, "tasks", "*.task"))
	var out []*taskFile
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_RDWR, 0o600)
		if err != nil {
			continue
		}
		t := &taskFile{d: d, journal: f}
		if !lockFile(f) || !stillThere(f, name) {
			f.Close()
			continue
		}
		if err := json.NewDecoder(f).Decode(&t.rec); err != nil || t.rec.Params.TaskID == "" ||
			d.path(t.rec.Params.TaskID, ".task") != name {
			d.log.Warn("unreadable journal of a task passed over", "file", filepath.Base(name))
			f.Close()
			continue
		}
		t.id = t.rec.Params.TaskID
		out = append(out, t)
	}
	return out
}

// stillThere reports whether f was not removed between opening and locking.
func stillThere(f *os.File, name string) bool {
	a, errA := f.Stat()
	b, errB := os.Stat(name)
	return errA == nil && errB == nil && os.SameFile(a, b)
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

// ledgerLine is one outcome in the cost ledger.
type ledgerLine struct {
	At         time.Time    `json:"at_utc"`
	TaskID     string       `json:"task_id"`
	Provider   string       `json:"provider"`
	Capability string       `json:"capability"`
	Outcome    string       `json:"outcome"` // result or error
	Code       int          `json:"code,omitempty"`
	Local      bool         `json:"local,omitempty"`
	CeilingCU  *json.Number `json:"ceiling_cu,omitempty"`
	CostCU     json.Number  `json:"cost_cu,omitempty"`
	Overcharge json.Number  `json:"overcharge_cu,omitempty"`
	Tokens     int64        `json:"tokens_used,omitempty"`
}

func (d *disk) account(inv acmp.Invocation, ev acmp.TaskEvent) {
	if d == nil {
		return
	}
	line := ledgerLine{
		At: ev.At.UTC(), TaskID: ev.TaskID, Provider: inv.Provider, Capability: inv.Params.Capability,
		Outcome: string(ev.Kind), CeilingCU: inv.Params.MaxPriceCU, Overcharge: ev.Overcharge,
	}
	if ev.Result != nil {
		line.CostCU, line.Tokens = ev.Result.CostCU, ev.Result.TokensUsed
	}
	if ev.Err != nil {
		line.Code, line.Local = ev.Err.Code, ev.Err.Local
	}
	b, err := json.Marshal(line)
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		err = appendLine(filepath.Join(d.dir, "ledger.jsonl"), b)
	}
	if err != nil {
		d.log.Warn("cost ledger not written", "cause", err)
	}
}

func appendLine(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	return errors.Join(err, f.Close())
}

// taskFile is what the disk holds of one task. A nil one keeps nothing. event,
// flush, finished and close are called by the goroutine that delivers the task's
// events; cancelled by its runner.
type taskFile struct {
	d  *disk
	id string

	mu      sync.Mutex
	rec     record
	journal *os.File

	out     *os.File
	w       *bufio.Writer
	join    acmp.Joiner
	buf     []byte // of one chunk
	size    int64  // of out
	failed  bool
	restart bool // the next chunk starts the output anew
}

func (t *taskFile) write() error {
	b, err := json.Marshal(t.rec)
	if err != nil {
		return err
	}
	if err := t.journal.Truncate(0); err != nil {
		return err
	}
	if _, err := t.journal.WriteAt(append(b, '\n'), 0); err != nil {
		return err
	}
	return t.journal.Sync()
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
	if err := t.write(); err != nil {
		t.d.log.Warn("journal of a task not written", "cause", err)
	}
}

// event adds what belongs to the transcript. Chunks of a broken stream stay
// until the first chunk of the next one replaces them.
func (t *taskFile) event(ev *acmp.TaskEvent) {
	if t == nil {
		return
	}
	switch ev.Kind {
	case acmp.EventResent:
		t.restart = true
	case acmp.EventChunk:
		t.append(ev.Chunk)
	case acmp.EventResult:
		if ev.Result.Output != nil {
			t.restart = true
			t.append(*ev.Result.Output)
		}
	}
	if ev.Kind.Final() && t.w != nil && !t.failed {
		_, err := t.w.Write(t.join.Flush(nil))
		t.note(err)
	}
}

func (t *taskFile) append(p acmp.Payload) {
	if t.failed {
		return
	}
	err := t.open()
	if err == nil && t.restart {
		t.restart = false
		t.w.Reset(t.out)
		if err = t.out.Truncate(0); err == nil {
			_, err = t.out.Seek(0, io.SeekStart)
		}
		t.join, t.size = acmp.Joiner{}, 0
	}
	if err == nil {
		t.buf = t.join.Append(t.buf[:0], p)
		t.size += int64(len(t.buf))
		_, err = t.w.Write(t.buf)
	}
	if err == nil && acmp.IsJSON(p.Type) {
		err = t.w.WriteByte('\n')
	}
	t.note(err)
}

func (t *taskFile) open() error {
	if t.out != nil {
		return nil
	}
	f, err := os.OpenFile(t.d.path(t.id, ".out"), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	t.out, t.w, t.restart = f, bufio.NewWriterSize(f, 64<<10), true
	return nil
}

// note gives up the transcript on an error of the disk; the task goes on.
func (t *taskFile) note(err error) {
	if err != nil && !t.failed {
		t.failed = true
		t.d.log.Warn("transcript of a task given up", "cause", err)
	}
}

func (t *taskFile) flush() {
	if t != nil && t.w != nil && !t.failed {
		t.note(t.w.Flush())
	}
}

// finished ends the journal: the task has its outcome.
func (t *taskFile) finished() {
	if t == nil {
		return
	}
	defer t.d.ended(t)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.journal != nil {
		if err := os.Remove(t.journal.Name()); err != nil {
			t.d.log.Warn("journal of a task not removed", "cause", err)
		}
		t.journal.Close()
		t.journal = nil
	}
}

// close lets go of the files; a journal that stays is for the next run.
func (t *taskFile) close() {
	if t == nil {
		return
	}
	t.flush()
	if t.out != nil {
		t.out.Close()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.journal != nil {
		t.journal.Close()
		t.journal = nil
	}
}

// record is what the journal holds of t before the first send.
func (t *task) record() record {
	return record{Provider: t.inv.Provider, Endpoint: t.l.spec.Endpoint(), Params: t.inv.Params, NoRetry: t.inv.NoRetry, RunTwice: t.inv.RunTwice, FirstSend: time.Now()}
}

// reattach takes up the tasks that an earlier run left unfinished, by sending
// the same invoke again. Those of providers that are not configured here, or
// that have moved, stay for a run that knows them as they were.
func (b *Buyer) reattach() {
	for _, f := range b.disk.unfinished() {
		l := b.links[f.rec.Provider]
		if why := cannotTakeUp(l, &f.rec); why != "" {
			b.env.left(f.rec.Params.TaskID, why)
			f.close()
			continue
		}
		t := newTask(b, l, acmp.Invocation{Provider: f.rec.Provider, Params: f.rec.Params, NoRetry: f.rec.NoRetry, RunTwice: f.rec.RunTwice})
		t.file, t.first, t.reattach = f, f.rec.FirstSend, true
		t.inputDone = true // how far the input had come is not known
		if f.rec.IsCancel {
			t.cancelC <- strings.TrimSpace(f.rec.Cancelled)
		}
		b.mu.Lock()
		b.tasks[t.id] = t
		b.mu.Unlock()
		b.start(t)
	}
}

// cannotTakeUp says why the task of rec is left alone, or "".
func cannotTakeUp(l *link, rec *record) string {
	switch {
	case l == nil:
		return fmt.Sprintf("provider %s is not known in this run", rec.Provider)
	case rec.Endpoint != l.spec.Endpoint():
		return fmt.Sprintf("provider %s is now at %s; the task was sent to %s", rec.Provider, l.spec.Endpoint(), rec.Endpoint)
	}
	return ""
}

// left tells of an unfinished task that is not taken up.
func (e *env) left(taskID, why string) {
	e.Log.Warn("an unfinished task is left alone", "task", taskID, "cause", why)
	if e.Left != nil {
		e.Left(taskID, why)
	}
}
