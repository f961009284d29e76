package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"signalbox/model/acop"
)

const lossName = "accepted-losses.json"

// Range is a run of revisions, both ends included.
type Range struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

func (r Range) String() string {
	if r.From == r.To {
		return fmt.Sprint(r.From)
	}
	return fmt.Sprintf("%d to %d", r.From, r.To)
}

// loss is damage that an operator accepted, so that it is not asked again.
type loss struct {
	AtUTC   acop.Time `json:"at_utc"`
	What    string    `json:"what"`
	Missing []Range   `json:"missing,omitempty"`
	Broken  []uint64  `json:"broken,omitempty"`
}

// losses knows which revisions must not be read: those accepted as lost, and
// the records of acts that were cut short and never acknowledged. It is filled
// while the log is opened; only what is left out may grow later.
type losses struct {
	path    string
	list    []loss
	missing []Range
	mu      sync.RWMutex // guards skip
	skip    map[uint64]bool
	// before is the first revision of the history: a compaction left behind
	// whatever was lost before it and gave its places to other records.
	before uint64
}

func readLosses(dir string) (*losses, error) {
	l := &losses{path: filepath.Join(dir, lossName), skip: map[uint64]bool{}}
	b, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the accepted losses: %w", err)
	}
	if err := json.Unmarshal(b, &l.list); err != nil {
		return nil, fmt.Errorf("%s is not readable (%w); restore it or remove it", l.path, err)
	}
	for _, x := range l.list {
		l.take(x)
	}
	return l, nil
}

func (l *losses) take(x loss) {
	l.missing = append(l.missing, x.Missing...)
	for _, rev := range x.Broken {
		l.skip[rev] = true
	}
}

// accept writes a loss down before anything is built on what is left.
func (l *losses) accept(x loss) error {
	l.list = append(l.list, x)
	l.take(x)
	b, err := json.MarshalIndent(l.list, "", "  ")
	if err != nil {
		return fmt.Errorf("write down the accepted loss: %w", err)
	}
	if err := writeSynced(l.path, append(b, '\n')); err != nil {
		return fmt.Errorf("write down the accepted loss: %w", err)
	}
	return nil
}

// isBroken reports whether a revision, though there, must not be served.
func (l *losses) isBroken(rev uint64) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return rev >= l.before && l.skip[rev]
}

// leaveOut keeps a record from being read.
func (l *losses) leaveOut(rev uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.skip[rev] = true
}

// isMissing reports whether a revision was accepted as missing.
func (l *losses) isMissing(rev uint64) bool {
	return rev >= l.before && slices.ContainsFunc(l.missing, func(r Range) bool { return r.From <= rev && rev <= r.To })
}

// writeSynced replaces a file so that after a power cut the old or the new
// content is there, never a part.
func writeSynced(path string, b []byte) error {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
