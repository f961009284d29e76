package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
)

// The engine can sync each message by itself, one after the other, while nobody
// else may write. Here the follower does it instead: a message is applied, told
// and acknowledged only after a sync that began when it was in its file. All
// that was written in the meantime is covered by the next sync, so that 64
// writers share one, and an act of many records costs one.
//
// Where an open file cannot be replaced, which the engine does when it packs a
// full block, the engine syncs each message.
const engineSyncs = runtime.GOOS == "windows"

// durable syncs the engine's files as far as they were written.
type durable struct {
	dir     string        // of the blocks
	root    *os.Root      // the same, open
	written atomic.Uint64 // every message up to here is in its file
	syncs   atomic.Uint64 // how many there were
	synced  uint64        // every message up to here is on the disk; the follower's alone
	file    *os.File      // the newest block
	index   uint32
	unsure  bool // a sync failed: what the files hold from index on need not be on the disk
}

// wrote notes that the engine acknowledged a message.
func (d *durable) wrote(seq uint64) {
	for {
		old := d.written.Load()
		if seq <= old || d.written.CompareAndSwap(old, seq) {
			return
		}
	}
}

// reach returns when the message is on the disk. It is called by the follower
// alone. After an error the disk may hold anything of what was not yet synced,
// and another sync proves nothing ([durable.secure]).
func (d *durable) reach(seq uint64) (err error) {
	if seq <= d.synced {
		return nil
	}
	defer func() { d.unsure = d.unsure || err != nil }()
	upTo := max(seq, d.written.Load()) // before the sync begins
	for d.file != nil {
		d.syncs.Add(1)
		if err := syncData(d.file); err != nil {
			return fmt.Errorf("sync the log: %w", err)
		}
		more, err := d.open(d.index + 1)
		if err != nil {
			return err
		}
		if !more {
			d.synced = upTo
			return nil
		}
	}
	return errors.New("sync the log: its files are gone")
}

// start takes up the newest block. What stands in the files was acknowledged after
// its sync, or never was; but a kill may have left the rest in the system's memory
// alone, and from now on it is shown. A sync serves that: of the newest two
// blocks, for the kill may have come between the two.
func (d *durable) start(engine string) error {
	d.dir = filepath.Join(streamDir(engine), "msgs")
	d.index = 1
	blocks, err := blockFiles(engine)
	if err != nil {
		return err
	}
	for _, b := range blocks[max(0, len(blocks)-2):] {
		d.index = b.index
		if err := d.syncBlock(b.path); err != nil {
			return err
		}
	}
	if d.root, err = os.OpenRoot(d.dir); err != nil {
		return fmt.Errorf("sync the log: %w", err)
	}
	there, err := d.open(d.index)
	if err == nil && !there {
		return errors.New("sync the log: the engine has made no file")
	}
	return err
}

func (d *durable) syncBlock(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("sync the log: %w", err)
	}
	defer f.Close()
	d.syncs.Add(1)
	if err := syncData(f); err != nil {
		return fmt.Errorf("sync the log: %w", err)
	}
	return nil
}

// open goes on to a block if it is there. It is asked after every sync for the
// next one, which hardly ever is: the open folder saves the way to it.
func (d *durable) open(index uint32) (bool, error) {
	name := strconv.FormatUint(uint64(index), 10) + ".blk"
	if _, err := d.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	f, err := d.root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return false, fmt.Errorf("sync the log: %w", err)
	}
	d.closeFile()
	d.file, d.index = f, index
	return true, syncDir(d.dir)
}

// secure puts copies that are on the disk in the place of all blocks that a failed
// sync left in doubt. The system takes what it could not write for written and
// shows it on, as long as it remembers it: the next sync of the same file would
// succeed without a write. What it has forgotten is missing in the copy as well,
// and the scan that follows judges that. It is called when the engine has stopped;
// spare is the path of the copies until they are whole, on the same disk.
func (d *durable) secure(engine, spare string) error {
	if !d.unsure {
		return nil
	}
	blocks, err := blockFiles(engine)
	if err != nil {
		return err
	}
	for _, b := range blocks {
		if b.index < d.index {
			continue
		}
		if err := replaceSynced(b.path, spare); err != nil {
			return fmt.Errorf("write a block anew after a failed sync: %w", err)
		}
	}
	d.unsure = false
	return nil
}

// replaceSynced puts a copy of a file in its place, once the copy is on the disk.
func replaceSynced(path, spare string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	// A new file each time: the sync of one that failed before would prove nothing.
	if err := os.Remove(spare); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(spare, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(spare)) // it may be large on a full disk
	}
	if err := os.Rename(spare, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func (d *durable) closeFile() {
	if d.file != nil {
		_ = d.file.Close() // nothing was written through it
	}
	d.file = nil
}

func (d *durable) close() {
	d.closeFile()
	if d.root != nil {
		_ = d.root.Close()
	}
	d.root = nil
}
