//go:build unix

package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"signalbox/model/acop"
)

// benchRound is how long one round of a write benchmark lasts. The disk's own
// rate is measured before and after each round: on a shared machine it changes
// from one second to the next, so that only the ratio means something.
const benchRound = time.Second

// diskRate appends blocks of an act's size to a file and syncs each: the most
// durable writes a second that anything can do here, one at a time.
func diskRate(b *testing.B, dir string) float64 {
	b.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "bare"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	block := []byte(strings.Repeat("x", 1500))
	begin, n := time.Now(), 0
	for ; time.Since(begin) < benchRound; n++ {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	return float64(n) / time.Since(begin).Seconds()
}

// benchItem is an item of a usual size.
func benchItem(id string) *acop.Item {
	it := newItem(id, acop.StatusReady)
	it.WorkItem.Summary = strings.Repeat("what is to be done here ", 12)
	it.WorkItem.OwnedPaths = []string{"server/store/*.go", "model/acop/**"}
	return it
}

// BenchmarkCommit writes durable acts with 1 and with 64 writers and compares
// with the disk's own rate in the same seconds.
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprint("writers-", writers), func(b *testing.B) {
			dir := b.TempDir()
			s := open(b, Options{Dir: filepath.Join(dir, "log")})
			var ratios, rates, disks []float64
			var took []time.Duration
			var cpu time.Duration
			for b.Loop() {
				before := diskRate(b, dir)
				began := cpuTime()
				rate, lat := commitRate(b, s, writers)
				cpu += cpuTime() - began
				disk := (before + diskRate(b, dir)) / 2
				ratios, rates, disks = append(ratios, rate/disk), append(rates, rate), append(disks, disk)
				took = append(took, lat...)
			}
			slices.Sort(took)
			b.ReportMetric(float64(cpu.Microseconds())/float64(len(took)), "cpu-us/act")
			b.ReportMetric(median(rates), "acts/s")
			b.ReportMetric(median(disks), "fsyncs/s")
			b.ReportMetric(100*median(ratios), "%ofdisk")
			b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
			b.ReportMetric(float64(s.Revision())/float64(s.engine().disk.syncs.Load()), "acts/sync")
			b.ReportMetric(float64(sizeOf(filepath.Join(dir, "log", engineDir)))/float64(s.Revision()), "diskB/act")
		})
	}
}

var benchIDs atomic.Int64

// commitRate lets so many writers write for a round.
func commitRate(b *testing.B, s *Store, writers int) (rate float64, took []time.Duration) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), benchRound)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	begin := time.Now()
	for range writers {
		wg.Go(func() {
			var mine []time.Duration
			for ctx.Err() == nil {
				t := time.Now()
				c := itemChange(benchItem(fmt.Sprint("bench-", benchIDs.Add(1))))
				if _, err := s.Commit(b.Context(), c); err != nil {
					b.Error(err)
					return
				}
				mine = append(mine, time.Since(t))
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
		})
	}
	wg.Wait()
	return float64(len(took)) / time.Since(begin).Seconds(), took
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// BenchmarkDelivery measures the time from the acknowledged act to the events
// in the hands of 200 readers: of each act the median reader's.
func BenchmarkDelivery(b *testing.B) {
	const readers = 200
	s := open(b, Options{})
	ctx, cancel := context.WithCancel(b.Context())
	got := make(chan time.Time, readers)
	var wg sync.WaitGroup
	for range readers {
		sub, err := s.Subscribe(b.Context(), 0, EventFilter{})
		if err != nil {
			b.Fatal(err)
		}
		wg.Go(func() {
			defer sub.Close()
			for {
				if _, err := sub.Next(ctx); err != nil {
					return
				}
				got <- time.Now()
			}
		})
	}
	var all, middle []float64
	for b.Loop() {
		begin := time.Now()
		commit(b, s, itemChange(benchItem(fmt.Sprint("bench-", benchIDs.Add(1)))))
		done := time.Now()
		lag := make([]float64, readers)
		for i := range lag {
			at := <-got
			lag[i] = at.Sub(done).Seconds() * 1000
			if i == readers-1 {
				all = append(all, at.Sub(begin).Seconds()*1000)
			}
		}
		middle = append(middle, median(lag))
	}
	b.ReportMetric(median(middle), "ms-after-ack")
	b.ReportMetric(median(all), "ms-to-last-reader")
	cancel()
	wg.Wait()
}

// BenchmarkGroup writes acts of 1, 8 and 64 records, to see what a record in
// company costs.
func BenchmarkGroup(b *testing.B) {
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := open(b, Options{})
			for b.Loop() {
				var cs []Change
				for range n {
					cs = append(cs, itemChange(benchItem(fmt.Sprint("bench-", benchIDs.Add(1)))))
				}
				commit(b, s, cs...)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N*n), "ms/record")
		})
	}
}
