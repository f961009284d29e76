package store

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

const (
	noteName = "last-revision"
	noteSlot = 128 // bytes of one slot of the note, its newline included
)

// note is the small file that remembers how far the log had come, so that a log
// that lost its end or an older copy put in its place is recognised at start.
//
// It is written on every applied act before the writer gets its answer, and
// synced to disk each second and at the end: after the death of the process the
// note holds every acknowledged revision, after a power cut all but those of
// the last second. Two slots take turns, so that a torn write spoils only the
// older knowledge.
type note struct {
	mu    sync.Mutex
	f     *os.File
	slot  int64
	dirty bool
	// floor is what the note held when it was opened. Until the log has come as
	// far again, older revisions are not noted.
	floor uint64
}

var errNoNote = errors.New("the note of the last revision is missing")

// openNote opens the note of a folder and reads it. [errNoNote] means that
// there is none; another error that it cannot be read.
func openNote(dir string) (*note, link, error) {
	f, err := os.OpenFile(filepath.Join(dir, noteName), os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, link{}, errNoNote
	}
	if err != nil {
		return nil, link{}, fmt.Errorf("open the note of the last revision: %w", err)
	}
	n := &note{f: f}
	best, found := link{}, false
	for slot := range int64(2) {
		buf := make([]byte, noteSlot)
		if _, err := f.ReadAt(buf, slot*noteSlot); err != nil {
			continue
		}
		if l, ok := parseSlot(string(buf)); ok && (!found || l.rev > best.rev) {
			best, found, n.slot, n.floor = l, true, 1-slot, l.rev
		}
	}
	if !found {
		return n, link{}, fmt.Errorf("the note of the last revision (%s) is damaged", f.Name())
	}
	return n, best, nil
}

// createNote makes the note of a new folder and syncs it, so that a log without
// a note can only be a damaged one.
func createNote(dir string, l link) (*note, error) {
	f, err := os.OpenFile(filepath.Join(dir, noteName), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the note of the last revision: %w", err)
	}
	n := &note{f: f, floor: l.rev}
	if err := errors.Join(n.write(l), n.sync(), syncDir(dir)); err != nil {
		return nil, errors.Join(fmt.Errorf("create the note of the last revision: %w", err), f.Close())
	}
	return n, nil
}

func formatSlot(l link) string {
	return string(appendSlot(nil, l))
}

// appendSlot writes a slot: "<20 digits> <sum> <8 hex digits of crc>", filled up
// with spaces. It is done for every act, so that fmt would be noticed.
func appendSlot(b []byte, l link) []byte {
	for unit := uint64(1e19); unit > 0; unit /= 10 {
		b = append(b, byte('0'+l.rev/unit%10))
	}
	b = append(b, ' ')
	b = hex.AppendEncode(b, l.sum[:])
	crc := crc32.ChecksumIEEE(b)
	b = append(b, ' ')
	b = hex.AppendEncode(b, binary.BigEndian.AppendUint32(nil, crc))
	for len(b) < noteSlot-1 {
		b = append(b, ' ')
	}
	return append(b, '\n')
}

func parseSlot(s string) (link, bool) {
	var l link
	var hash string
	var crc uint32
	if _, err := fmt.Sscanf(s, "%d %s %x", &l.rev, &hash, &crc); err != nil || !l.sum.parse(hash) {
		return link{}, false
	}
	return l, formatSlot(l) == s
}

// write notes l; it reaches the disk with the next sync.
func (n *note) write(l link) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l.rev < n.floor {
		return nil
	}
	if l.rev == n.floor { // replaces what was known of this revision
		if err := n.put(l); err != nil {
			return err
		}
	}
	n.floor = 0
	return n.put(l)
}

func (n *note) put(l link) error {
	var room [noteSlot]byte
	if _, err := n.f.WriteAt(appendSlot(room[:0], l), n.slot*noteSlot); err != nil {
		return fmt.Errorf("note revision %d: %w", l.rev, err)
	}
	n.slot, n.dirty = 1-n.slot, true
	return nil
}

func (n *note) sync() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.dirty {
		return nil
	}
	if err := n.f.Sync(); err != nil {
		return fmt.Errorf("sync the note of the last revision: %w", err)
	}
	n.dirty = false
	return nil
}

func (n *note) close() error {
	if n == nil {
		return nil
	}
	return errors.Join(n.sync(), n.f.Close())
}

// syncDir makes the entries of a folder durable where the system can do that.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	// Some systems cannot sync a folder; there its entries are durable anyway.
	_ = d.Sync()
	return d.Close()
}
