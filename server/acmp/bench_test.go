package acmp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

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
	p, err := New(only(h)())
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
	body := `{"jsonrpc":"2.0","id":1,"method":"acmp/invoke","params":{"task_id":"` + taskID() + `","capability":"work","input":{"type":"text","data":""},"stream":` + stream +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	res, err := c.post(context.Background(), acmp.MethodInvoke, []byte(body))
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
	drainInvoke(b, c, "true")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
}

// BenchmarkStreamStdio is one stream over a pipe; ns/op is per chunk.
func BenchmarkStreamStdio(b *testing.B) {
	p, err := New(only(flood(b.N))())
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
	_, _ = io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"acmp/invoke","params":{"task_id":"`+taskID()+`","capability":"work","input":{"type":"text","data":""},"stream":true`+
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`+"\n")
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
	inW.Close()
}

// BenchmarkInvokes is whole invokes by 16 callers.
func BenchmarkInvokes(b *testing.B) {
	c := benchPeer(b, flood(1))
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 64
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			drainInvoke(b, c, "false")
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "invokes/s")
}
