package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"signalbox/model/acop"
	"signalbox/server/store"
)

// runCompact runs one compact command line.
func runCompact(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), append([]string{"compact"}, args...), Sys{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Env: func(string) string { return "" }})
	return code, out.String(), errs.String()
}

// A stopped owner's log is compacted, a running one's is not; what was done is
// said to people and to scripts.
func TestCompactCommand(t *testing.T) {
	data := t.TempDir()
	dir := filepath.Join(data, "log")
	s, err := store.Open(t.Context(), store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	rev, now := uint64(0), acop.NewTime(time.Now())
	for range 20 {
		it := &acop.Item{WorkItem: acop.WorkItem{WorkItemID: "a", Status: acop.StatusReady, CreatedAtUTC: now}, StatusSinceUTC: now, UpdatedAtUTC: now}
		c := store.Change{Expected: rev, Record: store.Record{Kind: store.KindItem, ID: "a", Item: it, Events: []acop.Event{{Family: acop.FamilyWorkUpdate, AtUTC: now, WorkItemID: "a", Verb: "put"}}}}
		if rev, err = s.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, stderr := runCompact(t, "--data", data); code != exitUsage || !strings.Contains(stderr, "in use by process") {
		t.Errorf("while the owner runs: exit %d, %s", code, stderr)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := runCompact(t, "--data", data); code != exitOK || !strings.Contains(stdout, "Nothing to leave behind") {
		t.Errorf("young history: exit %d, %s%s", code, stdout, stderr)
	}
	code, stdout, stderr := runCompact(t, "--data", data, "--keep", "0s", "--json")
	var got struct {
		Changed bool   `json:"changed"`
		Before  uint64 `json:"records_before"`
		After   uint64 `json:"records_after"`
		Last    uint64 `json:"revision"`
	}
	if err := json.Unmarshal([]byte(stdout), &got); code != exitOK || err != nil || !got.Changed || got.Before != 20 || got.After >= 20 || got.Last != rev {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	if s, err = store.Open(t.Context(), store.Options{Dir: dir}); err != nil || s.Revision() != rev {
		t.Fatalf("after the compaction: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if code, _, stderr := runCompact(t, "--data", filepath.Join(data, "nowhere")); code != exitUsage || !strings.Contains(stderr, "no log") {
		t.Errorf("a folder without a log: exit %d, %s", code, stderr)
	}
	if code, _, _ := runCompact(t, "--data", data, "--keep=-1h"); code != exitUsage {
		t.Errorf("a negative --keep: exit %d", code)
	}
	if _, err := os.Stat(filepath.Join(data, "nowhere")); err == nil {
		t.Error("the missing folder was made")
	}
}
