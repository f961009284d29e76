package acmp

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"signalbox/model/acmp"
)

// record is the content of a journal.
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

// journal is the file of one unfinished task. The program that runs the task holds
// a lock on it. It is never written in place: each version takes the place of the
// one before as a whole, so that a crash leaves the one or the other.
type journal struct {
	path string
	f    *os.File // holds the lock
}

// newJournal takes path for a task and writes r durably. What an earlier run left
// there under the same task_id is replaced.
func newJournal(path string, r *record) (*journal, error) {
	f, err := takeFile(path)
	if err != nil {
		return nil, err
	}
	j := &journal{path: path, f: f}
	if err := j.write(r); err != nil {
		fi, statErr := f.Stat()
		if j.f != f || statErr == nil && fi.Size() == 0 {
			_ = os.Remove(path) // the task is not sent: no later run may take it up
		}
		j.close()
		return nil, err
	}
	return j, nil
}

// takeFile opens and locks the file at path, making it where there is none.
func takeFile(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if !lockFile(f) {
			f.Close()
			return nil, errors.New("another program runs this task")
		}
		if stillThere(f, path) {
			return f, nil
		}
		f.Close() // its owner replaced or removed it meanwhile
	}
}

// stillThere reports whether f was not removed or replaced between opening and
// locking.
func stillThere(f *os.File, name string) bool {
	a, errA := f.Stat()
	b, errB := os.Stat(name)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// write puts r in the place of what the journal holds.
func (j *journal) write(r *record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := replaceFile(j.path, append(b, '\n'))
	if f != nil {
		j.f.Close()
		j.f = f
	}
	return err
}

// replaceFile makes b the content of path, durably and at one instant, and gives
// the new file, locked. Only one may do so at a time. With an error, a file says that
// it stands at path already, and that a crash of the machine may still bring the one
// before it back.
func replaceFile(path string, b []byte) (*os.File, error) {
	tmp := path + tempExt
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if !lockFile(f) {
		err = fmt.Errorf("%s is in use", filepath.Base(tmp))
	}
	if err == nil {
		_, err = f.Write(b)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		f.Close()
		_ = os.Remove(tmp)
		return nil, err
	}
	return f, syncDir(filepath.Dir(path))
}

// tempExt ends the name of a file that is to take the place of another.
const tempExt = ".tmp"

// openJournal takes the journal at path, left by an earlier run, into r. It gives
// nil without an error where there is nothing to take up: a living program holds
// it, it has gone, or the run that made it ended before it wrote anything.
func openJournal(path string, r *record) (*journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j := &journal{path: path, f: f}
	if !lockFile(f) || !stillThere(f, path) {
		j.close()
		return nil, nil
	}
	_ = os.Remove(path + tempExt) // of a write that a crash cut off
	if fi, err := f.Stat(); err == nil && fi.Size() == 0 {
		return nil, j.remove()
	}
	if err := json.NewDecoder(f).Decode(r); err != nil || r.Params.TaskID == "" {
		j.close()
		return nil, errUnreadable
	}
	return j, nil
}

var errUnreadable = errors.New("its journal cannot be read")

// remove ends the journal: the task has its outcome. A nil journal does nothing.
func (j *journal) remove() error {
	if j == nil {
		return nil
	}
	defer j.close()
	_ = os.Remove(j.path + tempExt)
	return os.Remove(j.path)
}

// close lets go of the journal, which stays for the next run.
func (j *journal) close() {
	if j != nil {
		j.f.Close()
	}
}
