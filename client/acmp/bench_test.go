package acmp

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// The benchmarks run a buyer against a provider that writes raw bytes as fast as
// it is read: what they measure is the way from the handler to Events. Repeat
// them with
//
//	go test -run '^$' -bench . -benchtime 1s -count 5 ./client/acmp

// benchProvider streams n chunks to each invoke, where n is in the capability.
func benchProvider(b *testing.B) string {
	b.Helper()
	p := newFakeProvider(b, 0, func(w *answerWriter, req wireRequest, _ int) {
		w.Header().Set("Content-Type", "text/event-stream")
		out := bufio.NewWriterSize(w.ResponseWriter, 32<<10)
		writeChunks(out, "event: message\ndata: ", "\n\n", req.taskID(), benchCount(req))
		_ = out.Flush()
		w.streamed()
	})
	return p.URL
}

func benchCount(req wireRequest) int {
	n, _ := strconv.Atoi(req.capability())
	return n
}

// writeChunks writes n small chunks; each carries the time it was written.
func writeChunks(out io.Writer, before, after, taskID string, n int) {
	for i := range n {
		fmt.Fprintf(out, `%s{"jsonrpc":"2.0","method":"acmp/streamChunk","params":{"task_id":"%s","seq":%d,"chunk":{"type":"text","data":"%019d"},"final":%t}}%s`,
			before, taskID, i, time.Now().UnixNano(), i == n-1, after)
	}
}

// benchBuyer starts a buyer that counts chunks and tells each outcome.
func benchBuyer(b *testing.B, spec ProviderSpec, each func(acmp.TaskEvent), change ...func(*Options)) (*Buyer, chan acmp.TaskEvent) {
	b.Helper()
	done := make(chan acmp.TaskEvent, 64)
	o := Options{
		Providers: []ProviderSpec{spec}, ProbeEvery: time.Hour,
		Events: func(ev acmp.TaskEvent) {
			if each != nil {
				each(ev)
			}
			if ev.Kind.Final() {
				done <- ev
			}
		},
	}
	for _, f := range change {
		f(&o)
	}
	buyer, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = buyer.Close(b.Context()) })
	if _, err := buyer.Settings(b.Context(), spec.Name); err != nil {
		b.Fatal(err)
	}
	return buyer, done
}

func benchInvoke(b *testing.B, buyer *Buyer, n int) {
	b.Helper()
	inv := invocation(func(p *acmp.InvokeParams) { p.Capability, p.TimeoutMS = strconv.Itoa(n), 600_000 })
	if _, err := buyer.Invoke(b.Context(), inv); err != nil {
		b.Fatal(err)
	}
}

func mustResult(b *testing.B, ev acmp.TaskEvent) {
	b.Helper()
	if ev.Kind != acmp.EventResult {
		b.Fatalf("outcome %+v", ev.Err)
	}
}

// reportRate tells chunks/s and the processor time of one chunk: of both ends
// together, but of a child process only this end.
func reportRate(b *testing.B, chunks int, since time.Duration) {
	b.ReportMetric(float64(chunks)/b.Elapsed().Seconds(), "chunks/s")
	b.ReportMetric(float64(cpuTime()-since)/float64(chunks), "cpu-ns/chunk")
}

// BenchmarkStreamHTTP: chunks of one stream over loopback HTTP.
func BenchmarkStreamHTTP(b *testing.B) {
	buyer, done := benchBuyer(b, ProviderSpec{Name: "p", URL: benchProvider(b)}, nil)
	b.ReportAllocs()
	b.ResetTimer()
	used := cpuTime()
	benchInvoke(b, buyer, b.N)
	mustResult(b, <-done)
	reportRate(b, b.N, used)
}

// BenchmarkStreamStdio: chunks of one stream over the pipe of a child process.
func BenchmarkStreamStdio(b *testing.B) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	buyer, done := benchBuyer(b, ProviderSpec{Name: "p", Command: []string{exe}, Env: []string{childVar + "=flood"}}, nil)
	b.ReportAllocs()
	b.ResetTimer()
	used := cpuTime()
	benchInvoke(b, buyer, b.N)
	mustResult(b, <-done)
	reportRate(b, b.N, used)
}

// BenchmarkStreams50: fifty streams at once share b.N chunks.
func BenchmarkStreams50(b *testing.B) {
	const streams = 50
	buyer, done := benchBuyer(b, ProviderSpec{Name: "p", URL: benchProvider(b)}, nil)
	b.ReportAllocs()
	b.ResetTimer()
	used := cpuTime()
	each := b.N/streams + 1
	for range streams {
		benchInvoke(b, buyer, each)
	}
	for range streams {
		mustResult(b, <-done)
	}
	reportRate(b, streams*each, used)
}

// BenchmarkAddedLatency: what passes between the write of a chunk and the event,
// at 20 000 chunks/s in bursts of 1 ms.
func BenchmarkAddedLatency(b *testing.B) {
	p := newFakeProvider(b, 0, func(w *answerWriter, req wireRequest, _ int) {
		w.Header().Set("Content-Type", "text/event-stream")
		n := benchCount(req)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for i := 0; i < n; {
			<-tick.C
			for range min(20, n-i) {
				fmt.Fprintf(w.ResponseWriter, "event: message\ndata: "+`{"jsonrpc":"2.0","method":"acmp/streamChunk","params":{"task_id":"%s","seq":%d,"chunk":{"type":"text","data":"%019d"},"final":%t}}`+"\n\n",
					req.taskID(), i, time.Now().UnixNano(), i == n-1)
				i++
			}
			w.ResponseWriter.(http.Flusher).Flush()
		}
		w.streamed()
	})
	late := make([]time.Duration, 0, b.N)
	buyer, done := benchBuyer(b, ProviderSpec{Name: "p", URL: p.URL}, func(ev acmp.TaskEvent) {
		if ev.Kind == acmp.EventChunk {
			at, _ := strconv.ParseInt(string(ev.Chunk.Data[1:20]), 10, 64)
			late = append(late, time.Since(time.Unix(0, at)))
		}
	})
	b.ResetTimer()
	benchInvoke(b, buyer, b.N)
	mustResult(b, <-done)
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(late[len(late)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
}

// BenchmarkGigabyte: 1 GiB of text in chunks of 64 KiB to a consumer that stands
// still for a moment every 64 MiB, transcript included. It tells the most memory the
// program held from the system meanwhile; run it with -benchtime 1x.
func BenchmarkGigabyte(b *testing.B) {
	const chunk, total = 64 << 10, 1 << 30
	line := strings.Repeat("a line of output, as agents write them, 63 bytes with its end.\n", chunk/64)
	p := newFakeProvider(b, 0, func(w *answerWriter, req wireRequest, _ int) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range total / chunk {
			w.chunk(i, line, i == total/chunk-1)
		}
		w.streamed()
	})
	var most uint64
	var got int
	buyer, done := benchBuyer(b, ProviderSpec{Name: "p", URL: p.URL}, func(ev acmp.TaskEvent) {
		if ev.Kind != acmp.EventChunk {
			return
		}
		if got += chunk; got%(64<<20) == 0 {
			<-time.After(50 * time.Millisecond)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.Sys-m.HeapReleased)
		}
	}, func(o *Options) { o.StateDir = b.TempDir() })
	b.ResetTimer()
	for range b.N {
		got = 0
		benchInvoke(b, buyer, 1)
		mustResult(b, <-done)
	}
	b.SetBytes(total)
	b.ReportMetric(float64(most>>20), "MiB-held")
}

// BenchmarkInvokes16: short tasks by 16 callers.
func BenchmarkInvokes16(b *testing.B) {
	p := newFakeProvider(b, 0, func(w *answerWriter, _ wireRequest, _ int) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w.ResponseWriter, w.resultJSON(`"output":{"type":"text","data":"x"}`))
	})
	p.forget = true
	var mu sync.Mutex
	waiting := map[string]chan struct{}{}
	var failed atomic.Int64
	buyer, _ := benchBuyer(b, ProviderSpec{Name: "p", URL: p.URL}, nil)
	buyer.env.Events = func(ev acmp.TaskEvent) {
		if !ev.Kind.Final() {
			return
		}
		if ev.Err != nil {
			failed.Add(1)
		}
		mu.Lock()
		c := waiting[ev.TaskID]
		delete(waiting, ev.TaskID)
		mu.Unlock()
		close(c)
	}
	b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			inv := invocation(nil)
			inv.Params.TaskID = NewTaskID()
			c := make(chan struct{})
			mu.Lock()
			waiting[inv.Params.TaskID] = c
			mu.Unlock()
			if _, err := buyer.Invoke(b.Context(), inv); err != nil {
				b.Error(err)
				return
			}
			<-c
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "invokes/s")
	if failed.Load() > 0 {
		b.Errorf("%d failed", failed.Load())
	}
}
