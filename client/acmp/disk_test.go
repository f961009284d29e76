package acmp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"signalbox/model/acmp"
)

func testDisk(t *testing.T, dir string) *disk {
	t.Helper()
	d, err := openDisk(dir, Bounds{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func testRecord(id string) record {
	return record{Provider: "p", Endpoint: "http://p/", Params: acmp.InvokeParams{TaskID: id, Capability: "cap"}, FirstSend: time.Now()}
}

// left gives the task_ids that a run would take up, and lets them go again.
func left(d *disk) (ids []string) {
	d.unfinished(func(f *taskFile) {
		ids = append(ids, f.rec.Params.TaskID)
		f.close()
	}, func(file string, err error) { ids = append(ids, file+": "+err.Error()) })
	return ids
}

// A crash at any instant leaves a journal that can be read: whoever opens it while
// it is written anew sees one version or the other, whole. The lock goes with it.
func TestJournalIsWholeAtAnyInstant(t *testing.T) {
	dir := t.TempDir()
	d := testDisk(t, dir)
	f, err := d.journal(testRecord("t1"))
	if err != nil {
		t.Fatal(err)
	}
	path := d.path("t1", ".task")
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for n := 0; ; n++ {
				raw, err := os.ReadFile(path)
				var r record
				if err != nil || json.Unmarshal(raw, &r) != nil || r.Params.TaskID != "t1" {
					t.Errorf("read %d: %q, %v", n, raw, err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range 60 {
		f.cancelled(strings.Repeat("why ", i))
	}
	close(stop)
	readers.Wait()
	if got := left(testDisk(t, dir)); len(got) > 0 {
		t.Errorf("taken up while it runs: %v", got)
	}
	if _, err := testDisk(t, dir).journal(testRecord("t1")); err == nil {
		t.Error("a task_id that runs elsewhere was taken")
	}
	f.close()
	if got := left(testDisk(t, dir)); !slices.Equal(got, []string{"t1"}) {
		t.Errorf("after the end: %v", got)
	}
}

// What a crash can leave in the folder is taken up once, or goes, or is told; and
// no more than one file is open for it at a time.
func TestLeftoversOfACrash(t *testing.T) {
	dir := t.TempDir()
	d := testDisk(t, dir)
	for i := range 100 {
		f, err := d.journal(testRecord(fmt.Sprint("t", i)))
		if err != nil {
			t.Fatal(err)
		}
		f.close()
	}
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tasks := func(id, ext string) string {
		name, _ := filepath.Rel(dir, d.path(id, ext))
		return name
	}
	write(tasks("reserved", ".task"), "")                       // before the first write
	write(tasks("t1", ".task")+tempExt, `{"provider":"half`)    // in the middle of another
	write(filepath.Join("tasks", "torn.task"), `{"provider":"`) // by another hand
	line := func(id string, at time.Time) string {
		return fmt.Sprintf(`{"at_utc":%q,"task_id":%q,"outcome":"result"}`, at.UTC().Format(time.RFC3339Nano), id) + "\n"
	}
	write("ledger.jsonl", line("t2", time.Now())+line("t4", time.Now().Add(-time.Hour))+`{"task_id":"t3","outc`)
	open := func() int { fds, _ := os.ReadDir("/proc/self/fd"); return len(fds) }
	before, most := open(), 0
	var ids, lost []string
	d.unfinished(func(f *taskFile) {
		ids = append(ids, f.rec.Params.TaskID)
		most = max(most, open()-before)
		f.close()
	}, func(file string, err error) { lost = append(lost, file) })
	if len(ids) != 99 || slices.Contains(ids, "t2") || !slices.Contains(ids, "t3") || !slices.Contains(ids, "t4") || !slices.Contains(ids, "t1") {
		t.Errorf("%d taken up: %v", len(ids), ids)
	}
	if !slices.Equal(lost, []string{"torn.task"}) {
		t.Errorf("told: %v", lost)
	}
	if most > 10 {
		t.Errorf("%d files were open at once", most)
	}
	for _, gone := range []string{tasks("reserved", ".task"), tasks("t1", ".task") + tempExt, tasks("t2", ".task")} {
		if exists(filepath.Join(dir, gone)) {
			t.Errorf("%s is still there", gone)
		}
	}
}

// A line of the ledger that a crash cut off does not spoil the next one.
func TestLedgerAfterACrash(t *testing.T) {
	dir := t.TempDir()
	d := testDisk(t, dir)
	outcome := func(id string) {
		d.account(acmp.Invocation{Provider: "p"}, acmp.TaskEvent{Kind: acmp.EventResult, TaskID: id, At: time.Now(), Result: &acmp.Result{CostCU: "1"}})
	}
	outcome("t1")
	f, err := os.OpenFile(d.ledger(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(f, `{"task_id":"t2","outco`)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	outcome("t3")
	outcome("t4")
	raw, err := os.ReadFile(d.ledger())
	if err != nil || strings.Count(string(raw), "\n") != 4 {
		t.Errorf("ledger %q, %v", raw, err)
	}
	if got := d.accounted(); len(got) != 3 || got["t1"].IsZero() || got["t3"].IsZero() || got["t4"].IsZero() {
		t.Errorf("outcomes read back: %v", got)
	}
}

// New does not wait for whoever hears of the tasks that are left alone, however
// many.
func TestLeftHookHoldsNobodyUp(t *testing.T) {
	dir := t.TempDir()
	d := testDisk(t, dir)
	for i := range 20 {
		f, err := d.journal(testRecord(fmt.Sprint("t", i)))
		if err != nil {
			t.Fatal(err)
		}
		f.close()
	}
	gate, heard := make(chan struct{}), make(chan string, 20)
	newBuyer(t, "http://127.0.0.1:1/", func(o *Options) { // closes it, too
		o.StateDir = dir
		o.Left = func(id, _ string) { <-gate; heard <- id }
	})
	close(gate)
	ids := map[string]bool{}
	for range 20 {
		ids[<-heard] = true
	}
	if len(ids) != 20 {
		t.Errorf("told: %v", ids)
	}
}
