package acmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"signalbox/model/acmp"
)

// inputFile keeps the streamed input of one unfinished task: one acmp.InputChunk a
// line, those that may be sent again. It is there before a chunk is sent, so that a
// later run goes on with the seq that comes next. The holder of the journal alone
// uses it. A nil one keeps nothing.
type inputFile struct {
	path string
	log  *slog.Logger
	f    *os.File // nil before the first chunk
	size int64    // bytes
}

// add notes the last of kept.
func (f *inputFile) add(kept []*piece) error {
	if f == nil {
		return nil
	}
	if f.size > 2*maxInputKept {
		return f.replace(kept) // without those that were let go
	}
	if f.f == nil {
		if err := f.create(); err != nil {
			return err
		}
	}
	line, err := json.Marshal(kept[len(kept)-1].msg)
	if err != nil {
		return err
	}
	// At the end of what is known to be whole: a write that failed leaves nothing.
	n, err := f.f.WriteAt(append(line, '\n'), f.size)
	if err == nil {
		err = f.f.Sync()
	}
	if err != nil {
		return errors.Join(err, f.f.Truncate(f.size))
	}
	f.size += int64(n)
	return nil
}

func (f *inputFile) create() (err error) {
	if f.f, err = os.OpenFile(f.path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if err = f.f.Truncate(f.size); err == nil {
		err = syncDir(filepath.Dir(f.path))
	}
	return err
}

// rewrite leaves kept alone in the file. A failure is logged: more is kept then
// than is needed.
func (f *inputFile) rewrite(kept []*piece) {
	if f == nil {
		return
	}
	if err := f.replace(kept); err != nil {
		f.log.Warn("kept input of a task not written", "cause", err)
	}
}

func (f *inputFile) replace(kept []*piece) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, p := range kept {
		if err := enc.Encode(p.msg); err != nil {
			return err
		}
	}
	now, err := replaceFile(f.path, b.Bytes())
	if now != nil {
		f.close()
		f.f, f.size = now, int64(b.Len())
	}
	return err
}

// read gives what an earlier run kept. A last line that a crash cut off was not
// sent, and is forgotten.
func (f *inputFile) read() ([]acmp.InputChunk, error) {
	if f == nil {
		return nil, nil
	}
	_ = os.Remove(f.path + tempExt) // of a write that a crash cut off
	raw, err := os.ReadFile(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []acmp.InputChunk
	for line := range bytes.Lines(raw) {
		var c acmp.InputChunk
		if json.Unmarshal(line, &c) != nil || line[len(line)-1] != '\n' {
			break
		}
		if n := len(out); n > 0 && c.Seq != out[n-1].Seq+1 {
			return nil, errors.New("the kept input has a gap")
		}
		out = append(out, c)
		f.size += int64(len(line))
	}
	return out, nil
}

// remove ends the file with its task.
func (f *inputFile) remove() {
	if f == nil {
		return
	}
	f.close()
	for _, path := range []string{f.path, f.path + tempExt} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			f.log.Warn("kept input of a task not removed", "cause", err)
		}
	}
}

func (f *inputFile) close() {
	if f != nil && f.f != nil {
		f.f.Close()
	}
}
