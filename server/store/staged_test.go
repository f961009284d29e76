package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"signalbox/model/acop"
)

// stage writes an act of two records by hand, in the engine's way, and returns a
// copy of what the engine has staged of it just before it is committed.
func stage(t *testing.T, s *Store) (staged string) {
	t.Helper()
	w, err := s.prepare([]Change{itemChange(newItem("b", acop.StatusReady)), itemChange(newItem("c", acop.StatusReady))})
	if err != nil {
		t.Fatal(err)
	}
	request := func(m *nats.Msg, seq int) {
		m.Header.Set(jetstreamext.BatchIDHeader, "cut-short")
		m.Header.Set(jetstreamext.BatchSeqHeader, fmt.Sprint(seq))
		if _, err := s.engine().nc.RequestMsg(m, engineWait); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range w.msgs {
		request(m, i+1)
	}
	dir := filepath.Join(streamDir(filepath.Join(s.dir, engineDir)), stagedDir)
	for end := time.Now().Add(engineWait); sizeOf(dir) < int64(len(w.msgs[0].Data)+len(w.msgs[1].Data)); {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are staged", sizeOf(dir))
		}
		<-time.After(time.Millisecond)
	}
	staged = filepath.Join(t.TempDir(), stagedDir)
	if err := os.CopyFS(staged, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	end := nats.NewMsg(w.msgs[0].Subject)
	end.Header.Set(jetstreamext.BatchCommitHeader, "eob")
	request(end, 3)
	return staged
}

// A process that dies between two records of one act leaves the first of them in
// the log and both staged beside it. The engine would go on with the act at the
// next start; the owner leaves it out, and starts (H-085).
func TestStagedActIsLeftOut_H085(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, Now: clock})
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	noted, err := os.ReadFile(filepath.Join(dir, noteName))
	if err != nil {
		t.Fatal(err)
	}
	staged := stage(t, s)
	closeIn(t, dir)

	stream := streamDir(filepath.Join(dir, engineDir))
	blocks, err := blockFiles(filepath.Join(dir, engineDir))
	if err != nil || len(blocks) != 1 {
		t.Fatal(blocks, err)
	}
	cut := int64(-1)
	err = blocks[0].with(func(buf []byte) error {
		return blocks[0].records(buf, func(off int, r blockRecord) {
			if r.seq == 3 {
				cut = int64(off)
			}
		})
	})
	if err != nil || cut < 0 {
		t.Fatalf("the second record of the act is not there: %v", err)
	}
	for _, err := range []error{
		os.Truncate(blocks[0].path, cut),
		os.RemoveAll(filepath.Join(stream, stagedDir)),
		os.CopyFS(filepath.Join(stream, stagedDir), os.DirFS(staged)),
		os.Remove(filepath.Join(stream, "msgs", "index.db")),
		os.WriteFile(filepath.Join(dir, noteName), noted, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		s = open(t, Options{Dir: dir, Now: clock})
		mustItem(t, s, "a")
		for _, id := range []string{"b", "c"} {
			if _, ok := s.Item(id); ok && s.Revision() < 4 {
				t.Errorf("%s of the act that was cut short is served", id)
			}
		}
		commit(t, s, itemChange(mustItem(t, s, "a").Clone()))
		closeIn(t, dir)
	}
}
