package acmp

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acmp"
)

// What ended in an earlier run is told with its outcome, the newest of it, and its
// output can still be read; what is of this run is not told.
func TestEarlierOutcomes(t *testing.T) {
	dir := t.TempDir()
	d, err := openDisk(dir, Bounds{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 5, 16, 12, 0, 0, 0, time.UTC)
	ceiling := json.Number("0.5")
	d.by, d.told = "signalbox invoke, process 7", true
	end := func(n int, ev acmp.TaskEvent) {
		ev.TaskID, ev.At = fmt.Sprint("t", n), at.Add(time.Duration(n)*time.Second)
		d.account(acmp.Invocation{Provider: "p", Params: acmp.InvokeParams{Capability: "lint", MaxPriceCU: &ceiling}}, ev)
	}
	end(1, acmp.TaskEvent{Kind: acmp.EventResult, Result: &acmp.Result{CostCU: "1"}})
	end(2, acmp.TaskEvent{Kind: acmp.EventResult, Result: &acmp.Result{CostCU: "0.7", TokensUsed: 9}, Overcharge: "0.2"})
	end(3, acmp.TaskEvent{Kind: acmp.EventError, Err: &acmp.Error{Code: acmp.CodeTimeout, Message: "too late", Local: true,
		Data: map[string]any{"detail": "exit status 2\n" + strings.Repeat("a line of its output\n", 200) + "make: *** [test] Error 2"}}})
	end(4, acmp.TaskEvent{Kind: acmp.EventResult, Result: &acmp.Result{CostCU: "0"}})
	out := &outFile{path: d.path("t3", ".out")}
	out.append(acmp.Text("as far as it came\n"))
	out.close()

	b, err := New(Options{StateDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(t.Context()) })
	b.ended["t4"] = true // of this run
	want := []acmp.Outcome{
		{TaskID: "t2", Provider: "p", Capability: "lint", At: at.Add(2 * time.Second), CeilingCU: &ceiling, CostCU: "0.7", Overcharge: "0.2", Tokens: 9,
			By: "signalbox invoke, process 7", Told: true},
		{TaskID: "t3", Provider: "p", Capability: "lint", At: at.Add(3 * time.Second), CeilingCU: &ceiling,
			Err: &acmp.Error{Code: acmp.CodeTimeout, Message: "too late", Local: true}, By: "signalbox invoke, process 7", Told: true},
	}
	got := b.Earlier(2)
	if detail := got[1].Err.Detail(); len(detail) > 1100 || got[1].Err.Brief() != "exit status 2: make: *** [test] Error 2" {
		t.Errorf("%d bytes are kept of how it failed: %q", len(detail), got[1].Err.Brief())
	}
	got[1].Err.Data = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := b.Earlier(100); len(got) != 3 {
		t.Errorf("%d outcomes", len(got))
	}
	if err := b.Seen(t.Context(), "t3"); err != nil {
		t.Fatal(err)
	}
	if got := b.Earlier(2); got[0].Seen || !got[1].Seen || got[1].Err == nil {
		t.Errorf("%+v", got)
	}
	r, err := b.Transcript(t.Context(), "t3")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if raw, err := io.ReadAll(r); err != nil || string(raw) != "as far as it came\n" {
		t.Errorf("%q %v", raw, err)
	}
}

// The note that a person saw the end of a task is no end: an unfinished task under the
// same task_id is taken up all the same.
func TestSeenIsNoOutcome(t *testing.T) {
	dir := t.TempDir()
	d := testDisk(t, dir)
	f, err := d.journal(testRecord("again"))
	if err != nil {
		t.Fatal(err)
	}
	f.close()
	if err := d.enter(ledgerLine{At: time.Now().Add(time.Hour), TaskID: "again", Outcome: outcomeSeen}); err != nil {
		t.Fatal(err)
	}
	if got := left(d); len(got) != 1 {
		t.Errorf("left: %q", got)
	}
}
