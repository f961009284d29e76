package acmp

import (
	"bufio"
	"encoding/json"
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

// journal keeps what was begun, how it ended and which offers bind over a restart
// (D-12): one JSON record a line, appended and synced before the task runs, and again
// before its answer, or that to an acceptance, goes out. Records that come at the same
// time share one sync. At start, and whenever the file has grown to twice what is held,
// it is written anew.
type journal struct {
	path string
	log  *slog.Logger
	lock *os.File

	mu     sync.Mutex // guards what is queued
	queue  [][]byte
	wait   chan struct{} // closed when the queue is on the disk; replaced with it
	failed error
	wake   chan struct{}
	quit   chan struct{}
	done   chan struct{}

	file *os.File // belongs to the writer
	size int64
	max  int64 // size at which the file is written anew
	held func(write func(record) error) error
}

// record is one line: of a task, of an accepted offer, or the key of all offers. That
// of a task without End is a task that has begun.
type record struct {
	ID        string             `json:"id,omitempty"`
	Principal string             `json:"principal,omitempty"`
	At        time.Time          `json:"at,omitzero"` // of the begin or the end, or the acceptance
	Params    *acmp.InvokeParams `json:"params,omitempty"`
	Price     json.Number        `json:"price,omitempty"` // CU
	Uses      string             `json:"uses,omitempty"`  // the accepted offer that binds the task
	End       *endRecord         `json:"end,omitempty"`
	Gone      bool               `json:"gone,omitempty"` // only the id is remembered
	Offer     *offerRecord       `json:"offer,omitempty"`
	OfferKey  []byte             `json:"offer_key,omitempty"`
}

// offerRecord is an accepted offer; its principal, price and time stand in the record.
type offerRecord struct {
	ID         string    `json:"id"`
	Capability string    `json:"capability"`
	Escrow     string    `json:"escrow,omitempty"`
	Proof      string    `json:"proof,omitempty"`
	Until      time.Time `json:"until"`
	Used       bool      `json:"used,omitempty"`
}

// known reports whether the record is of a kind that is written here.
func (r *record) known() bool {
	return r.ID != "" || r.Offer != nil && r.Offer.ID != "" || len(r.OfferKey) > 0
}

type endRecord struct {
	Error   *acmp.Error    `json:"error,omitempty"`
	Output  *acmp.Payload  `json:"output,omitempty"`
	Chunks  []acmp.Payload `json:"chunks,omitempty"`
	Chunked bool           `json:"chunked,omitempty"`
	After   bool           `json:"after,omitempty"` // the chunks belong to the error
	Final   bool           `json:"final,omitempty"` // they end with the final one
	Tokens  int64          `json:"tokens,omitempty"`
	Lost    bool           `json:"lost,omitempty"` // the first chunks were no longer held
}

const (
	journalName  = "tasks.ndjson"
	journalSlack = 16 << 20 // bytes a journal may grow whatever is held
)

// openJournal reads the journal of dir, which is made if need be, and gives its
// records in the order they were written. Only one process can have it open.
func openJournal(dir string, limits Limits, log *slog.Logger) (*journal, []record, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the data folder: %w", err)
	}
	lock, err := lockFile(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, nil, err
	}
	j := &journal{path: filepath.Join(dir, journalName), log: log, lock: lock,
		wait: make(chan struct{}), wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
		max: 2*int64(limits.TotalBytes) + journalSlack}
	recs, err := readJournal(j.path, limits, log)
	if err != nil {
		lock.Close()
		return nil, nil, err
	}
	return j, recs, nil
}

func readJournal(path string, limits Limits, log *slog.Logger) ([]record, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	defer f.Close()
	var recs []record
	r := bufio.NewReaderSize(f, 64<<10)
	longest := 8*limits.TaskBytes + 8*limits.MessageBytes + 1<<20 // JSON in JSON, at its worst
	for n := 1; ; n++ {
		line, err := readLine(r, longest)
		if errors.Is(err, io.EOF) {
			if len(line) > 0 { // torn by the end of the process: never acknowledged
				log.Warn("the last record of the journal is not whole and is left out", "line", n)
			}
			return recs, nil
		}
		var rec record
		if err == nil {
			err = json.Unmarshal(line, &rec)
		}
		if err != nil || !rec.known() {
			return nil, fmt.Errorf("%s:%d: the journal is damaged; to start without what it remembers, move the file away", path, n)
		}
		recs = append(recs, rec)
	}
}

// start writes the journal anew from held and lets records be appended.
func (j *journal) start(held func(write func(record) error) error) error {
	j.held = held
	if err := j.rewrite(); err != nil {
		return err
	}
	go j.run()
	return nil
}

// append puts a record on the disk and returns when it is there.
func (j *journal) append(rec record) error { return j.enqueue(rec)() }

// enqueue gives a record its place in the journal; kept returns when it is on the disk.
func (j *journal) enqueue(rec record) (kept func() error) {
	line, err := json.Marshal(rec)
	if err != nil {
		return func() error { return fmt.Errorf("journal task %s: %w", rec.ID, err) }
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.failed; err != nil {
		return func() error { return err }
	}
	j.queue = append(j.queue, append(line, '\n'))
	select {
	case j.wake <- struct{}{}:
	default:
	}
	wait := j.wait
	return func() error { return j.await(wait) }
}

// await returns when what was queued with wait is on the disk.
func (j *journal) await(wait <-chan struct{}) error {
	select {
	case <-wait:
	case <-j.done:
		select {
		case <-wait:
		default:
			return errJournalClosed
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

var errJournalClosed = errors.New("the journal is closed")

func (j *journal) run() {
	defer close(j.done)
	for {
		select {
		case <-j.wake:
			j.writeQueued()
		case <-j.quit:
			j.writeQueued()
			return
		}
	}
}

// writeQueued writes what has been queued, with one sync for all of it.
func (j *journal) writeQueued() {
	j.mu.Lock()
	lines, wait := j.queue, j.wait
	j.queue, j.wait = nil, make(chan struct{})
	j.mu.Unlock()
	err := j.write(lines)
	if err == nil && j.size > j.max {
		err = j.rewrite()
	}
	if err != nil {
		j.log.Error("the journal cannot be written: outcomes will not outlive this process", "err", err)
		j.mu.Lock()
		j.failed = err
		j.mu.Unlock()
	}
	close(wait)
}

func (j *journal) write(lines [][]byte) error {
	if len(lines) == 0 {
		return nil
	}
	for _, l := range lines {
		n, err := j.file.Write(l)
		j.size += int64(n)
		if err != nil {
			return fmt.Errorf("write the journal: %w", err)
		}
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// rewrite puts what is held into a new file in the place of the old one.
func (j *journal) rewrite() error {
	f, err := os.OpenFile(j.path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	w := &countingWriter{w: bufio.NewWriterSize(f, 256<<10)}
	enc := json.NewEncoder(w)
	err = j.held(func(r record) error { return enc.Encode(r) })
	err = errors.Join(err, w.w.Flush(), f.Sync())
	if err == nil {
		err = os.Rename(j.path+".new", j.path)
	}
	if err != nil {
		f.Close()
		return fmt.Errorf("write the journal: %w", err)
	}
	syncFolder(filepath.Dir(j.path))
	if j.file != nil {
		j.file.Close()
	}
	j.file, j.size = f, w.n
	j.max = max(j.max, 2*w.n)
	return nil
}

// syncFolder makes the rename last; not every system can.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

type countingWriter struct {
	w *bufio.Writer
	n int64
}

// Write implements io.Writer.
func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// close writes what is queued and lets go of the folder.
func (j *journal) close() {
	close(j.quit)
	<-j.done
	j.file.Close()
	j.lock.Close()
}
