package acmp

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// B28, B32: the optional GET is never opened, so that nothing it does can hurt;
// keep-alive events, comments and other events inside a stream mean nothing.
func TestKeepAlives(t *testing.T) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
		w.raw(": comment\n\nevent: ping\ndata:\n\nevent: ping\ndata: {}\n\ndata:\n\nretry: 5\nid: 7\n\n")
		w.chunk(0, "x", true)
		w.raw("event: ping\ndata: nonsense\n\n")
		w.streamed()
	})
	b, rec := newBuyer(t, p.URL, func(o *Options) { o.ProbeEvery = 10 * time.Millisecond })
	for range 5 {
		if evs := rec.outcome(t, invoke(t, b, invocation(nil))); outputText(evs) != "x" || last(evs).Kind != acmp.EventResult {
			t.Errorf("%s %q", kinds(evs), outputText(evs))
		}
	}
	for _, r := range p.all() {
		if r.Method == "" {
			t.Error("a request without a message, such as a GET, went out")
		}
	}
}

// B40: a response counts for the request whose id it has, in value and in type;
// others, whatever their ids, reach nobody.
func TestForeignResponses(t *testing.T) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
		for _, id := range []string{fmt.Sprintf("%q", w.req.ID), "9007199254740993", "1.5", "1e20", "-1", "null", `""`} {
			w.event(`{"jsonrpc":"2.0","id":` + id + `,"result":{"task_id":"` + w.req.taskID() + `","tokens_used":0,"cost_cu":0,"output":{"type":"text","data":"foreign"}}}`)
		}
		w.output("ours")
	})
	b, rec := newBuyer(t, p.URL, nil)
	end := last(rec.outcome(t, invoke(t, b, invocation(nil))))
	if end.Result == nil || string(end.Result.Output.Raw()) != "ours" {
		t.Errorf("outcome %+v %+v", end.Result, end.Err)
	}
}

// B80, B81, B86: with twenty streams alive the buyer closes within a second, and
// nothing of them stays.
func TestCloseLeavesNothing(t *testing.T) {
	p := newFakeProvider(t, 1000, func(w *answerWriter, _ wireRequest, _ int) {
		w.chunk(0, "x", false)
		w.hang()
	})
	before := runtime.NumGoroutine()
	rec := &recorder{}
	b, err := New(Options{Providers: []ProviderSpec{{Name: "p", URL: p.URL}}, Events: rec.event, ProbeEvery: time.Hour, KeepSilent: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		rec.await(t, invoke(t, b, invocation(timeout(600_000))), acmp.EventChunk)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := b.Close(ctx); err != nil { // within 500 ms and the second it has then
		t.Error(err)
	}
	p.CloseClientConnections()
	eventually(t, func() bool { return runtime.NumGoroutine() <= before+5 }, "the goroutines to end")
}

// B86: the end comes within a second however much is flowing, over and over.
func TestCloseWhileStreaming(t *testing.T) {
	p := newFakeProvider(t, 1000, func(w *answerWriter, _ wireRequest, _ int) {
		for i := 0; w.req.Ctx.Err() == nil; i++ {
			w.chunk(i, "x", false)
			select {
			case <-w.req.Ctx.Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
	p.forget = true
	for n := range 20 {
		rec := &recorder{}
		b, err := New(Options{Providers: []ProviderSpec{{Name: "p", URL: p.URL}}, Events: rec.event, ProbeEvery: time.Millisecond, KeepSilent: true, StateDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			id := invoke(t, b, invocation(timeout(600_000)))
			if i == 0 {
				rec.await(t, id, acmp.EventChunk)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // an end that hangs lasts longer on any machine
		if err := b.Close(ctx); err != nil {
			t.Errorf("run %d: %v", n, err)
		}
		cancel()
		if got := len(left(b.disk)); got != 20 {
			t.Errorf("run %d: %d tasks are left for the next run", n, got)
		}
	}
}

// B87: an answer that never ends or is nested without end costs a bounded amount
// and ends as an error of the task.
func TestEndlessAnswers(t *testing.T) {
	cases := map[string]func(w *answerWriter){
		"json body": func(w *answerWriter) {
			w.Header().Set("Content-Type", "application/json")
			for w.req.Ctx.Err() == nil {
				if _, err := w.ResponseWriter.Write([]byte(strings.Repeat(" ", 64<<10))); err != nil {
					return
				}
			}
		},
		"event line": func(w *answerWriter) {
			w.raw("data: ")
			for w.req.Ctx.Err() == nil {
				if _, err := w.ResponseWriter.Write([]byte(strings.Repeat("x", 64<<10))); err != nil {
					return
				}
			}
		},
		"nesting": func(w *answerWriter) { w.event(strings.Repeat("[", 100_000)); w.hang() },
		"nested chunk": func(w *answerWriter) {
			w.event(`{"jsonrpc":"2.0","method":"acmp/streamChunk","params":{"task_id":"` + w.req.taskID() + `","seq":0,"chunk":{"type":"json","data":` +
				strings.Repeat("[", 100_000) + `},"final":true}}`)
			w.hang()
		},
		"body of a failure": func(w *answerWriter) {
			w.WriteHeader(http.StatusBadRequest)
			for w.req.Ctx.Err() == nil {
				if _, err := w.ResponseWriter.Write([]byte(strings.Repeat("x", 64<<10))); err != nil {
					return
				}
			}
		},
	}
	for name, run := range cases {
		p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { run(w) })
		limit := 30_000
		if name == "event line" {
			limit = 2000 // what never ends is cut by the deadline alone
		}
		b, rec := newBuyer(t, p.URL, func(o *Options) { o.MaxMessage = 1 << 20 })
		before := heap()
		end := last(rec.outcome(t, invoke(t, b, invocation(timeout(int64(limit))))))
		if end.Err == nil || !end.Err.Local {
			t.Errorf("%s: %+v", name, end)
		}
		if grown := heap() - before; grown > 16<<20 {
			t.Errorf("%s: the heap grew by %d MiB", name, grown>>20)
		}
	}
}
