package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/minio/highwayhash"
	"github.com/nats-io/nats-server/v2/server"
)

// The form of a record in the engine's block files: length (with a bit for
// headers), sequence, time, length of the subject; the subject; the length of
// the headers and they themselves; the payload; a hash. Little endian.
//
// Reading these files ourselves lets a start check the log before the engine
// opens it: the engine repairs what it finds by cutting it off, and a folder
// that is refused must stay as it is for whoever looks at it next. A test reads
// back what the engine wrote, so that an engine with another form is noticed.
const (
	blockRecordHead = 22
	blockHash       = 8
	blockHeaderBit  = 1 << 31
	blockErased     = 1 << 63
	blockTombstone  = 1 << 62
	blockMaxRecord  = 32 << 20
	blockMaxSize    = 64 << 20 // more room is not made on the word of a file
)

var (
	errTorn = errors.New("the block ends inside of a record")
	errHash = errors.New("the engine's hash does not fit")
	// errPacked means that a block cannot be unpacked: nothing of it can be read.
	errPacked = errors.New("unpack a block of the log")
)

// blockRecord is one record of a block. Its parts are slices of the block.
type blockRecord struct {
	seq     uint64
	subject []byte
	header  []byte
	payload []byte
	err     error // why the record must not be believed
}

// blockFile is one file of the log.
type blockFile struct {
	path  string
	index uint32
}

// streamDir is where the engine keeps the stream below its folder.
func streamDir(engine string) string {
	return filepath.Join(engine, "jetstream", server.DEFAULT_GLOBAL_ACCOUNT, "streams", streamName)
}

// blockFiles lists the block files of an engine's folder in their order.
func blockFiles(engine string) ([]blockFile, error) {
	dir := filepath.Join(streamDir(engine), "msgs")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the folder of the log: %w", err)
	}
	var out []blockFile
	for _, e := range entries {
		var n uint32
		if _, err := fmt.Sscanf(e.Name(), "%d.blk", &n); err != nil || e.Name() != fmt.Sprintf("%d.blk", n) {
			continue
		}
		out = append(out, blockFile{filepath.Join(dir, e.Name()), n})
	}
	slices.SortFunc(out, func(a, b blockFile) int { return int(int64(a.index) - int64(b.index)) })
	return out, nil
}

// blockRoom lends buffers of the size of a block to those who keep no part of it.
var blockRoom = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// load reads the file and undoes its compression. The result is the caller's.
func (f blockFile) load() ([]byte, error) {
	buf := new(bytes.Buffer)
	err := f.loadInto(buf)
	return buf.Bytes(), err
}

// with lends the content of the block for the length of a call.
func (f blockFile) with(use func([]byte) error) error {
	buf, ok := blockRoom.Get().(*bytes.Buffer)
	if !ok {
		buf = new(bytes.Buffer)
	}
	defer blockRoom.Put(buf)
	buf.Reset()
	if err := f.loadInto(buf); err != nil {
		return err
	}
	return use(buf.Bytes())
}

func (f blockFile) loadInto(buf *bytes.Buffer) error {
	raw, err := os.ReadFile(f.path)
	if err != nil {
		return fmt.Errorf("read a block of the log: %w", err)
	}
	var info server.CompressionInfo
	n, err := info.UnmarshalMetadata(raw)
	if err == nil && n == 0 {
		buf.Write(raw)
		return nil
	}
	body := len(raw) - blockHash // the last hash stands behind what is packed
	if err != nil || body < n {
		return fmt.Errorf("%w: %s", errPacked, f.path)
	}
	// With less spare room the buffer would double at the very end.
	buf.Grow(int(min(info.OriginalSize, blockMaxSize)) + bytes.MinRead + blockHash)
	if _, err = buf.ReadFrom(s2.NewReader(bytes.NewReader(raw[n:body]))); err != nil {
		return fmt.Errorf("%w: %s: %w", errPacked, f.path, err)
	}
	buf.Write(raw[body:])
	return nil
}

// hasher makes the hash that the engine keeps for each record of this block.
func (f blockFile) hasher() hash.Hash {
	key := sha256.Sum256(fmt.Appendf(nil, "%s-%d", streamName, f.index))
	h, err := highwayhash.New64(key[:])
	if err != nil {
		panic(err) // the key has the one length there is
	}
	return h
}

// records walks a block. A record whose length is possible but whose hash is
// wrong comes with its error and the walk goes on after it. It ends with
// errTorn where no further record can be found.
func (f blockFile) records(buf []byte, take func(off int, r blockRecord)) error {
	h := f.hasher()
	for off := 0; off < len(buf); {
		rec, n, err := firstRecord(buf[off:], h)
		if err != nil {
			return err
		}
		if rec.seq&(blockTombstone|blockErased) == 0 {
			take(off, rec)
		}
		off += n
	}
	return nil
}

// firstRecord reads the record at the beginning of buf and tells its length.
func firstRecord(buf []byte, h hash.Hash) (blockRecord, int, error) {
	if len(buf) < blockRecordHead+blockHash {
		return blockRecord{}, 0, errTorn
	}
	length := binary.LittleEndian.Uint32(buf)
	withHeader := length&blockHeaderBit != 0
	length &^= blockHeaderBit
	subj := int(binary.LittleEndian.Uint16(buf[20:]))
	least := blockRecordHead + subj + blockHash
	if withHeader {
		least += 4
	}
	if length > blockMaxRecord || int(length) < least || int(length) > len(buf) {
		return blockRecord{}, 0, errTorn
	}
	return parseRecord(buf[:length], subj, withHeader, h), int(length), nil
}

func parseRecord(b []byte, subj int, withHeader bool, h hash.Hash) blockRecord {
	rec := blockRecord{seq: binary.LittleEndian.Uint64(b[4:])}
	data, want := b[blockRecordHead:len(b)-blockHash], b[len(b)-blockHash:]
	rec.subject = data[:subj]
	body := data[subj:]
	n := 0
	if withHeader {
		n = int(binary.LittleEndian.Uint32(body))
		body = body[4:]
	}
	h.Reset()
	h.Write(b[4:20])
	h.Write(rec.subject)
	h.Write(body)
	if n < 0 || n > len(body) || !bytes.Equal(h.Sum(nil), want) {
		rec.err = errHash
		return rec
	}
	rec.header, rec.payload = body[:n], body[n:]
	return rec
}

// ours reads the headers that the seal covers; the engine's own say how a
// message came in, which is of no use later.
func ours(raw []byte) heads {
	var h heads
	for rest := string(raw); rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch name {
		case headerSum:
			h.sum = value
		case headerLink:
			h.link = value
		case headerPart:
			h.part = value
		case headerIndex:
			h.index = value
		case headerKept:
			h.kept = value
		}
	}
	return h
}
