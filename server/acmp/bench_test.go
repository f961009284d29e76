//go:build unix

package acmp

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// flood emits n small chunks.
func flood(n int) Handler {
	return func(_ context.Context, t *Task) (Output, error) {
		p := acmp.Text("a line of output, as long as such lines are\n")
		for i := range n {
			send := t.Emit
			if i == n-1 {
				send = t.EmitFinal
			}
			if err := send(p); err != nil {
				return Output{}, err
			}
		}
		return Output{}, nil
	}
}

func benchPeer(b *testing.B, h Handler) httpPeer {
	b.Helper()
	p, err := New(context.Background(), only(h)())
	if err != nil {
		b.Fatal(err)
	}
	srv := httptest.NewServer(p.Handler())
	b.Cleanup(func() {
		srv.Close()
		if err := p.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return httpPeer{url: srv.URL}
}

func drainInvoke(b *testing.B, c httpPeer, stream string) {
	res, err := c.post(context.Background(), acmp.MethodInvoke, rawInvoke(stream))
	if err != nil {
		b.Error(err)
		return
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		b.Error(err)
	}
}

// BenchmarkStreamHTTP is one stream over loopback HTTP; ns/op is per chunk.
func BenchmarkStreamHTTP(b *testing.B) {
	c := benchPeer(b, flood(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime()
	drainInvoke(b, c, "true")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
	reportCPU(b, before)
}

// BenchmarkStreamStdio is one stream over a pipe; ns/op is per chunk.
func BenchmarkStreamStdio(b *testing.B) {
	p, err := New(context.Background(), only(flood(b.N))())
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close(context.Background())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() {
		_ = p.ServeStdio(context.Background(), inR, outW)
		outW.Close()
	}()
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime()
	_, _ = inW.Write(append(rawInvoke("true"), '\n'))
	buf := make([]byte, 64<<10)
	for {
		n, err := outR.Read(buf)
		if err != nil {
			b.Fatal(err)
		}
		if bytes.Contains(buf[:n], []byte(`"result":`)) {
			break
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
	reportCPU(b, before)
	inW.Close()
}

// BenchmarkInvokes is whole invokes by 16 callers.
func BenchmarkInvokes(b *testing.B) {
	c := benchPeer(b, flood(1))
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 64
	b.SetParallelism(8)
	before := cpuTime()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			drainInvoke(b, c, "false")
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "invokes/s")
	reportCPU(b, before)
}

// BenchmarkStreams50 is fifty streams together over loopback HTTP; ns/op is per
// chunk of one stream.
func BenchmarkStreams50(b *testing.B) {
	const streams = 50
	c := benchPeer(b, flood(max(b.N/streams, 1)))
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime()
	var wg sync.WaitGroup
	for range streams {
		wg.Go(func() { drainInvoke(b, c, "true") })
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
	reportCPU(b, before)
}

// BenchmarkLatency is the time from a handler's Emit to the line in the reader's
// hands, at 20 000 chunks/s over loopback HTTP.
func BenchmarkLatency(b *testing.B) {
	const perMS = 20
	begin := time.Now()
	c := benchPeer(b, func(ctx context.Context, t *Task) (Output, error) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for sent := 0; sent < b.N; {
			<-tick.C
			// A tick that came late is made up for, as a source that goes on would.
			for due := int(time.Since(begin).Milliseconds()) * perMS; sent < min(due, b.N); sent++ {
				now := []byte(strconv.FormatInt(int64(time.Since(begin)), 10))
				if err := t.Emit(acmp.Payload{Type: "json", Data: now}); err != nil {
					return Output{}, err
				}
			}
		}
		return Output{}, t.EmitFinal(acmp.Payload{Type: "json", Data: []byte("0")})
	})
	b.ResetTimer()
	begin = time.Now()
	res, err := c.post(context.Background(), acmp.MethodInvoke, rawInvoke("true"))
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	var late []time.Duration
	lines := bufio.NewReaderSize(res.Body, 256<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			break
		}
		_, rest, ok := bytes.Cut(line, []byte(`"data":`))
		if !ok {
			continue
		}
		digits, _, _ := bytes.Cut(rest, []byte("}"))
		if at, err := strconv.ParseInt(string(digits), 10, 64); err == nil && at > 0 {
			late = append(late, time.Since(begin)-time.Duration(at))
		}
	}
	if len(late) == 0 {
		return
	}
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(late[len(late)*99/100].Microseconds()), "p99-us")
	b.ReportMetric(float64(len(late))/b.Elapsed().Seconds(), "chunks/s")
}

// rawInvoke is an invoke of its own task.
func rawInvoke(stream string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":1,"method":"acmp/invoke","params":{"task_id":"` + taskID() + `","capability":"work","input":{"type":"text","data":""},"stream":` + stream +
		`,"timeout_ms":600000,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
}

// reportCPU tells the processor time of both ends, which holds on a busy machine, too.
func reportCPU(b *testing.B, before time.Duration) {
	if cpu := cpuTime() - before; cpu > 0 {
		b.ReportMetric(float64(cpu.Nanoseconds())/1e3/float64(b.N), "cpu-us/op")
	}
}

// cpuTime is what this process has used of the processors.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
