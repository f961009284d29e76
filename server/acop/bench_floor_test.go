//go:build unix

package acop

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The sizes in bytes of what a claim of these benchmarks sends, gets and writes.
const (
	claimSent    = 210
	claimAnswer  = 1100
	claimWritten = 2300
)

// floorTime is how long each floor is measured beside the claims.
const floorTime = 500 * time.Millisecond

// cpuTime is what this process has used of all processors: on a busy machine it
// tells more than the clock on the wall.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// reportCPU adds the processor time of one operation since began.
func reportCPU(b *testing.B, began time.Duration) {
	b.ReportMetric(float64((cpuTime()-began).Microseconds())/float64(b.N), "cpu-us/op")
}

// echo is a server without any work: it reads a body and answers with another.
func echo(b *testing.B) *httptest.Server {
	answer := bytes.Repeat([]byte("x"), claimAnswer)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(answer)
	}))
	b.Cleanup(s.Close)
	return s
}

// exchange sends a body of a claim's size and reads the answer.
func exchange(c *http.Client, url string) error {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(make([]byte, claimSent)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer 0123456789012345678901234567890123456789012")
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// engine is the bare engine on a folder of its own, with nothing of ours: a
// stream that syncs each message before it acknowledges it.
func engine(b *testing.B) jetstream.JetStream {
	b.Helper()
	srv, err := server.NewServer(&server.Options{ServerName: "floor", DontListen: true, JetStream: true, StoreDir: b.TempDir(),
		SyncAlways: true, NoSigs: true, NoLog: true})
	if err != nil {
		b.Fatal(err)
	}
	srv.Start()
	b.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(10 * time.Second) {
		b.Fatal("the engine did not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := js.CreateStream(context.Background(), jetstream.StreamConfig{Name: "FLOOR", Subjects: []string{"floor.>"},
		Storage: jetstream.FileStorage, Compression: jetstream.S2Compression}); err != nil {
		b.Fatal(err)
	}
	return js
}

// crowd lets so many goroutines do n operations together.
func crowd(b *testing.B, clients, n int, op func(i int) error) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := op(int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// each measures how long one operation takes, one after the other.
func each(b *testing.B, op func(i int) error) time.Duration {
	b.Helper()
	began, n := time.Now(), 0
	for ; time.Since(began) < floorTime; n++ {
		if err := op(n); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began) / time.Duration(n)
}

// BenchmarkFloor measures what a claim cannot do without, and nothing else: an
// HTTP exchange of its sizes over loopback, and a message of its size that the
// engine writes and syncs.
func BenchmarkFloor(b *testing.B) {
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprintf("http/clients=%d", clients), func(b *testing.B) {
			s, c := echo(b), &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
			cpu := cpuTime()
			b.ResetTimer()
			crowd(b, clients, b.N, func(int) error { return exchange(c, s.URL) })
			b.StopTimer()
			reportCPU(b, cpu)
		})
		b.Run(fmt.Sprintf("engine/clients=%d", clients), func(b *testing.B) {
			js, data := engine(b), make([]byte, claimWritten)
			cpu := cpuTime()
			b.ResetTimer()
			crowd(b, clients, b.N, func(i int) error {
				_, err := js.Publish(context.Background(), "floor."+strconv.Itoa(i), data)
				return err
			})
			b.StopTimer()
			reportCPU(b, cpu)
		})
	}
}
