//go:build unix

package store

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"signalbox/model/acop"
)

// bigLog writes a log of many acts on many items as owners leave them behind,
// without waiting for the disk: one act in ten ends a claim, one in three carries
// an answer that is remembered for a day.
func bigLog(b *testing.B, dir string, items, acts int) {
	b.Helper()
	s := &Store{dir: dir, log: slog.New(slog.DiscardHandler), now: time.Now, p: newProjection(), lost: &losses{}}
	lock, err := lockDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer lock.Close()
	w, err := newWriter(b.Context(), s, generation{Number: 1, First: 1})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	begin := time.Now().Add(-30 * 24 * time.Hour)
	step := time.Since(begin) / time.Duration(acts)
	for i := range acts {
		it := randomItem(r, fmt.Sprintf("item-%d", i%items))
		it.WorkItem.Summary = strings.Repeat(fmt.Sprintf("%d words of a summary ", r.IntN(1000)), 12)
		it.WorkItem.CreatedAtUTC = acop.NewTime(begin)
		c := itemChange(it, "put")
		c.Record.AtUTC = acop.NewTime(begin.Add(time.Duration(i) * step))
		if i%10 == 0 {
			c.Record.Ended = &acop.Claim{ClaimID: fmt.Sprint("claim-", i), WorkItemID: c.Record.ID, WorkerAgentUID: "ann", ClaimStatus: acop.ClaimReleased, GrantedAtUTC: acop.NewTime(begin), ExpiresAtUTC: acop.NewTime(begin)}
		}
		if i%3 == 0 {
			c.Record.Idem = &Idempotency{Scope: fmt.Sprint(i), Fingerprint: "f", Status: 200, Body: []byte(`{"work_item_id":"` + c.Record.ID + `"}`)}
		}
		s.p.head = w.head
		one := &writing{}
		if err := s.message(one, &c, subjectOf(&c.Record), part{}); err != nil {
			b.Fatal(err)
		}
		m := one.msgs[0]
		m.Header.Del("Nats-Expected-Last-Subject-Sequence")
		if err := w.put(m); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.close(); err != nil {
		b.Fatal(err)
	}
	n, err := createNote(dir, w.head)
	if err != nil {
		b.Fatal(err)
	}
	if err := n.close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStart opens a log of 100 000 items and 1 000 000 acts: after a clean
// stop, and as it is found after kill -9 (without the engine's own summary).
func BenchmarkStart(b *testing.B) {
	const items, acts = 100_000, 1_000_000
	dir := benchLog(b, items, acts)
	for _, how := range []string{"clean", "killed"} {
		b.Run(how, func(b *testing.B) {
			for b.Loop() {
				if how == "killed" {
					b.StopTimer()
					_ = os.Remove(filepath.Join(streamDir(filepath.Join(dir, engineDir)), "msgs", "index.db"))
					b.StartTimer()
				}
				before, cpu := heap(), cpuTime()
				s, err := Open(b.Context(), Options{Dir: dir})
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				b.ReportMetric((cpuTime() - cpu).Seconds(), "cpu-s/start")
				if n := len(s.p.items); n != items || s.Revision() != acts {
					b.Fatalf("%d items at revision %d", n, s.Revision())
				}
				b.ReportMetric(float64(heap()-before)/items, "B/item")
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(sizeOf(filepath.Join(dir, engineDir)))/acts, "diskB/act")
		})
	}
}

// BenchmarkCompact leaves the history behind that is older than a week.
func BenchmarkCompact(b *testing.B) {
	const items, acts = 100_000, 1_000_000
	dir := benchLog(b, items, acts)
	for b.Loop() {
		b.StopTimer()
		work := filepath.Join(b.TempDir(), "log")
		if err := os.CopyFS(work, os.DirFS(dir)); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		cpu := cpuTime()
		done, err := Compact(b.Context(), CompactOptions{Dir: work, Keep: 7 * 24 * time.Hour})
		if err != nil || done.Nothing {
			b.Fatal(done, err)
		}
		b.StopTimer()
		b.ReportMetric((cpuTime() - cpu).Seconds(), "cpu-s")
		b.ReportMetric(float64(done.RecordsAfter), "records-left")
		b.ReportMetric(float64(done.BytesBefore)/1e6, "MB-before")
		b.ReportMetric(float64(done.BytesAfter)/1e6, "MB-after")
		b.StartTimer()
	}
}

// benchLog makes a big log, or takes the one that SIGNALBOX_BENCH_LOG names and
// leaves it there for the next run.
func benchLog(b *testing.B, items, acts int) string {
	b.Helper()
	dir := os.Getenv("SIGNALBOX_BENCH_LOG")
	if dir == "" {
		dir = b.TempDir()
	}
	if found, err := blockFiles(filepath.Join(dir, engineDir)); err != nil || len(found) == 0 {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			b.Fatal(err)
		}
		bigLog(b, dir, items, acts)
	}
	return dir
}

// heap is what is in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// cpuTime is what this process has used of all processors. Beside a busy
// machine's wall clock it tells what a start costs.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
