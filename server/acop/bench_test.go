//go:build unix

package acop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

// benchBox is an owner without a limit on its callers.
func benchBox(b *testing.B) *box {
	return newBox(b, func(o *Options) {
		o.Config.RateLimit = RateLimit{PerSecond: 1e9, Burst: 1e9}
		o.Clock = systemClock{}
	})
}

// syncRate is how many write+fsync pairs a second the folder takes, for the same
// few hundred bytes that an act is: what any durable log is bound by.
func syncRate(b *testing.B, dir string) float64 {
	b.Helper()
	f, err := os.Create(filepath.Join(dir, "sync-rate"))
	if err != nil {
		b.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := bytes.Repeat([]byte("x"), 1500)
	began, n := time.Now(), 0
	for time.Since(began) < 500*time.Millisecond {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		n++
	}
	return float64(n) / time.Since(began).Seconds()
}

// seed puts n items straight into the log, many at a time.
func seed(b *testing.B, st *store.Store, n int) {
	b.Helper()
	var wg sync.WaitGroup
	var next atomic.Int64
	for range 64 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				id, now := fmt.Sprint("item ", i), core.NewTime(time.Now())
				it := &core.Item{WorkItem: core.WorkItem{WorkItemID: id, ProtocolVersion: core.ProtocolVersion, WorkKind: core.KindImplement,
					CreatedAtUTC: now, Producer: "p", Status: core.StatusReady, Priority: core.PriorityHigh, ActionabilityScore: 0.5,
					Title: "A piece of work of ordinary length", TargetRepoID: "repo", TargetBranch: "main", OwnedPaths: []string{"src/a.go", "src/b.go"}},
					CreatedBy: "p", SubmittedStatus: core.StatusReady, StatusSinceUTC: now, UpdatedAtUTC: now}
				it.WorkItem.TargetAgentUID = "worker-http"
				if i%100 != 0 {
					it.WorkItem.TargetAgentUID = fmt.Sprint("worker-", i%100)
				}
				_, err := st.Commit(context.Background(), store.Change{Record: store.Record{ProtocolVersion: core.ProtocolVersion, Kind: store.KindItem, ID: id,
					AtUTC: now, Item: it, Events: []core.Event{{Family: core.FamilyWorkOffer, AtUTC: now, Actor: "p", Verb: "put", WorkItemID: id}}}})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// claimFast claims an item over HTTP with as little of a client as can be.
func (b *box) claimFast(c *http.Client, token, item string) error {
	raw, _ := json.Marshal(claimBody(item, "worker-http", 600))
	req, _ := http.NewRequest("POST", b.http.URL+DefaultBasePath+"claims", bytes.NewReader(raw))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != 201 {
		return fmt.Errorf("claim: %s", resp.Status)
	}
	return nil
}

// claimFloor is the least time that one claim after the other can take: a bare
// HTTP exchange and a bare synced write of the engine.
func claimFloor(b *testing.B, c *http.Client) time.Duration {
	b.Helper()
	s, js, data := echo(b), engine(b), make([]byte, claimWritten)
	return each(b, func(int) error { return exchange(c, s.URL) }) + each(b, func(i int) error {
		_, err := js.Publish(context.Background(), fmt.Sprint("floor.", i), data)
		return err
	})
}

// BenchmarkClaims measures durable claims over HTTP, each of another item, and
// sets them beside the folder's own write+fsync rate and beside what HTTP and
// the engine take by themselves, one claim at a time.
func BenchmarkClaims(b *testing.B) {
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			bx := benchBox(b)
			seed(b, bx.store, b.N)
			c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
			floor := claimFloor(b, c)
			disk := syncRate(b, bx.dir)
			token := bx.tokens["worker-http"]
			took := make([]time.Duration, b.N)
			b.ResetTimer()
			began, cpu := time.Now(), cpuTime()
			crowd(b, clients, b.N, func(i int) error {
				at := time.Now()
				err := bx.claimFast(c, token, fmt.Sprint("item ", i))
				took[i-1] = time.Since(at)
				return err
			})
			rate := float64(b.N) / time.Since(began).Seconds()
			b.StopTimer()
			reportCPU(b, cpu)
			slices.Sort(took)
			b.ReportMetric(rate, "claims/s")
			b.ReportMetric(disk, "fsyncs/s")
			b.ReportMetric(100*rate/disk, "%of-fsync")
			b.ReportMetric(100*rate*floor.Seconds(), "%of-floor")
			b.ReportMetric(float64(took[b.N*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// BenchmarkPickup asks for the latest actionable work of one agent among
// 100 000 items, answer written and read; BenchmarkPickup of the log measures
// the query alone. Memory is what the owner keeps for each item.
func BenchmarkPickup(b *testing.B) {
	const n = 100_000
	bx := benchBox(b)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	seed(b, bx.store, n)
	runtime.GC()
	runtime.ReadMemStats(&after)
	perItem := (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / n
	q := store.ItemQuery{Agent: "worker-http", Actionable: true, Limit: 10}
	b.Run("query", func(b *testing.B) {
		for b.Loop() {
			if rows, _, _, err := bx.store.Items(q); err != nil || len(rows) != 10 {
				b.Fatal(len(rows), err)
			}
		}
		b.ReportMetric(perItem, "B/item")
	})
	b.Run("http", func(b *testing.B) {
		for b.Loop() {
			req, _ := http.NewRequest("GET", bx.http.URL+DefaultBasePath+"pickup?agent=worker-http&limit=10", nil)
			req.Header.Set("Authorization", "Bearer "+bx.tokens["worker-http"])
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode != 200 {
				b.Fatal(resp.Status)
			}
		}
	})
}

// BenchmarkDelivery measures how long an event takes from the sending of the act
// to each of 200 readers.
func BenchmarkDelivery(b *testing.B) {
	const readers = 200
	bx := benchBox(b)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	var took []time.Duration
	var got sync.WaitGroup
	var sent atomic.Int64
	ready := make(chan struct{}, readers)
	for range readers {
		go func() {
			req, _ := http.NewRequestWithContext(ctx, "GET", bx.http.URL+DefaultBasePath+"events", nil)
			req.Header.Set("Authorization", "Bearer "+bx.tokens["reader-01"])
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return
			}
			defer resp.Body.Close()
			buf := make([]byte, 64<<10)
			first := true
			for {
				n, err := resp.Body.Read(buf)
				at := time.Now().UnixNano()
				if first {
					first = false
					ready <- struct{}{}
				}
				if err != nil {
					return
				}
				for range bytes.Count(buf[:n], []byte("event: work_offer")) {
					mu.Lock()
					took = append(took, time.Duration(at-sent.Load()))
					mu.Unlock()
					got.Done()
				}
			}
		}()
	}
	for range readers {
		<-ready
	}
	i := 0
	for b.Loop() {
		i++
		got.Add(readers)
		sent.Store(time.Now().UnixNano())
		bx.put(fmt.Sprint("w", i), nil, nil)
		got.Wait()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
