package acmp

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// D-13, B41: repeats are ignored, a late chunk is put in its place, what
// is missing is a protocol error; so are the other faults of a result.
func TestProtocolFaults(t *testing.T) { overBoth(t, testProtocolFaults) }

func testProtocolFaults(t *testing.T, start starter) {
	cases := map[string]struct {
		run  func(w *answerWriter)
		text string
		want string // part of the error; "" = result
	}{
		"repeats and late": {func(w *answerWriter) {
			for _, n := range []int{0, 1, 3, 2, 2, 4, 5} {
				w.chunk(n, fmt.Sprint(n), n == 4)
			}
			w.streamed()
		}, "01234", ""},
		"gap before result": {func(w *answerWriter) { w.chunk(0, "a", false); w.chunk(2, "c", true); w.streamed() }, "a", "chunk 1 is missing"},
		"gap that stays":    {func(w *answerWriter) { w.chunk(0, "a", false); w.chunk(2, "c", true); w.hang() }, "a", "chunk 1 is missing"},
		"gap too wide": {func(w *answerWriter) {
			for n := 1; n < 100; n++ {
				w.chunk(n, "x", false)
			}
			w.hang()
		}, "", "chunk 0 is missing"},
		"no final chunk":  {func(w *answerWriter) { w.chunk(0, "a", false); w.streamed() }, "a", "before the final chunk"},
		"no output":       {func(w *answerWriter) { w.result(``) }, "", "no output"},
		"output null":     {func(w *answerWriter) { w.result(`"output":null`) }, "", "no output"},
		"other task":      {func(w *answerWriter) { w.result(`"task_id":"x","output":{"type":"text","data":""}`) }, "", "another task"},
		"unknown type":    {func(w *answerWriter) { w.result(`"resultType":"input_required","output":{"type":"text","data":""}`) }, "", "unknown type"},
		"no type, extra":  {func(w *answerWriter) { w.result(`"resultType":"-","new":[1],"output":{"type":"x/y","data":null}`) }, "", ""},
		"no tokens":       {func(w *answerWriter) { w.result(`"tokens_used":"-","output":{"type":"text","data":""}`) }, "", "tokens_used"},
		"no cost":         {func(w *answerWriter) { w.result(`"cost_cu":"-","output":{"type":"text","data":""}`) }, "", "cost_cu"},
		"negative cost":   {func(w *answerWriter) { w.result(`"cost_cu":-1,"output":{"type":"text","data":""}`) }, "", "cost_cu"},
		"wrong shape":     {func(w *answerWriter) { w.result(`"cost_cu":[],"output":7`) }, "", "cannot be read"},
		"chunk too large": {func(w *answerWriter) { w.chunk(0, strings.Repeat("x", 2<<20), true); w.hang() }, "", "larger than the limit of 1048576 bytes"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { c.run(w) })
			b, rec := start(p, func(o *Options) { o.MaxMessage = 1 << 20 })
			evs := rec.outcome(t, invoke(t, b, invocation(nil)))
			if got := outputText(evs); got != c.text {
				t.Errorf("text %q, want %q", got, c.text)
			}
			end := last(evs)
			switch {
			case c.want == "" && end.Kind != acmp.EventResult:
				t.Errorf("outcome %+v", end.Err)
			case c.want != "" && (end.Err == nil || !end.Err.Local || !strings.Contains(end.Err.Message, c.want)):
				t.Errorf("outcome %+v %+v, want %q", end, end.Err, c.want)
			}
		})
	}
}

// An event that is no message ends the task whose stream it is in; on a pipe it is
// stray text (TestStdioNoise).
func TestUnreadableEvent(t *testing.T) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
		w.chunk(0, "a", false)
		w.raw("data: {oops\n\n")
		w.hang()
	})
	b, rec := newBuyer(t, p.URL, nil)
	evs := rec.outcome(t, invoke(t, b, invocation(nil)))
	if e := last(evs).Err; outputText(evs) != "a" || e == nil || !e.Local || !strings.Contains(e.Message, "is not JSON") {
		t.Errorf("%q %+v", outputText(evs), e)
	}
}

// chunks that were not asked for are no output.
func TestChunksNotAskedFor(t *testing.T) { overBoth(t, testChunksNotAskedFor) }

func testChunksNotAskedFor(t *testing.T, start starter) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
		w.chunk(0, "x", true)
		w.output("whole")
	})
	b, rec := start(p, nil)
	evs := rec.outcome(t, invoke(t, b, invocation(func(p *acmp.InvokeParams) { p.Stream = false })))
	if got := kinds(evs); got != "sent result" {
		t.Errorf("events: %s", got)
	}
}

// an overcharge is found with decimals.
func TestOvercharge(t *testing.T) { overBoth(t, testOvercharge) }

func testOvercharge(t *testing.T, start starter) {
	for cost, want := range map[string]string{"0.3": "", "0.30000000000000001": "0.00000000000000001", "3e-1": "", "1": "0.7"} {
		p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
			w.event(strings.Replace(w.resultJSON(`"output":{"type":"text","data":"x"}`), `"cost_cu":0`, `"cost_cu":`+cost, 1))
		})
		b, rec := start(p, nil)
		ceiling := jsonNumber("0.3")
		evs := rec.outcome(t, invoke(t, b, invocation(func(p *acmp.InvokeParams) { p.MaxPriceCU = &ceiling })))
		end := last(evs)
		if end.Kind != acmp.EventResult || string(end.Overcharge) != want || string(end.Result.CostCU) != cost {
			t.Errorf("cost %s: overcharge %q, outcome %+v", cost, end.Overcharge, end)
		}
	}
}

// A-091, D-19: proofs are checked against the output, streamed or not.
func TestProof(t *testing.T) { overBoth(t, testProof) }

func testProof(t *testing.T, start starter) {
	hash, err := acmp.ResultHash(acmp.Text("one two"))
	if err != nil {
		t.Fatal(err)
	}
	proof := `"proof":{"method":"result-hash","hash":"` + hash + `"}`
	cases := map[string]struct {
		run  func(w *answerWriter)
		want string
	}{
		"streamed": {func(w *answerWriter) {
			w.chunk(0, "one ", false)
			w.chunk(1, "two", true)
			w.result(`"output_streamed":true,` + proof)
		}, acmp.ProofMatches},
		"whole":   {func(w *answerWriter) { w.result(`"output":{"type":"text","data":"one two"},` + proof) }, acmp.ProofMatches},
		"other":   {func(w *answerWriter) { w.result(`"output":{"type":"text","data":"one too"},` + proof) }, acmp.ProofDiffers},
		"missing": {func(w *answerWriter) { w.output("one two") }, acmp.ProofDiffers},
	}
	for name, c := range cases {
		p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { c.run(w) })
		b, rec := start(p, nil)
		evs := rec.outcome(t, invoke(t, b, invocation(func(p *acmp.InvokeParams) { p.ProofMethod = "result-hash" })))
		if got := last(evs).ProofCheck; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// D-08: errors of the provider keep code and data and
// are not ours; a timeout may be the provider's own verdict.
func TestReceivedErrors(t *testing.T) { overBoth(t, testReceivedErrors) }

func testReceivedErrors(t *testing.T, start starter) {
	for _, code := range []int{acmp.CodeBudgetExceeded, acmp.CodeTimeout, -33050, -32602, -32004, -32005} {
		p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
			w.fail(code, `{"task_id":"`+w.req.taskID()+`","detail":"why"}`)
		})
		b, rec := start(p, nil)
		end := last(rec.outcome(t, invoke(t, b, invocation(nil))))
		if end.Err == nil || end.Err.Code != code || end.Err.Local || end.Err.Data["detail"] != "why" {
			t.Errorf("code %d: %+v", code, end.Err)
		}
	}
}

// one JSON object is an answer too; a status that is no success is told
// in plain words, and says whether sending again can help.
func TestAnswersWithoutStream(t *testing.T) {
	cases := map[string]struct {
		run  func(w *answerWriter, n int)
		want string // part of the error, or the kinds of event
	}{
		"json": {func(w *answerWriter, _ int) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			fmt.Fprint(w.ResponseWriter, w.resultJSON(`"output":{"type":"text","data":"x"}`))
		}, "sent result"},
		"json error with status": {func(w *answerWriter, _ int) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w.ResponseWriter, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, w.req.ID)
		}, "no such method"},
		"401":      {func(w *answerWriter, _ int) { w.WriteHeader(http.StatusUnauthorized) }, "none was given (401); set ACMP_BEARER_TOKEN"},
		"redirect": {func(w *answerWriter, _ int) { w.Header().Set("Location", "http://evil"); w.WriteHeader(307) }, "redirects"},
		"html":     {func(w *answerWriter, _ int) { fmt.Fprint(w.ResponseWriter, "<html>") }, "neither JSON nor an event stream"},
		"wrong id": {func(w *answerWriter, _ int) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w.ResponseWriter, `{"id":"x","result":{}}`)
		}, "belongs to no request"},
		"503, then ok": {func(w *answerWriter, n int) {
			if n == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			w.output("x")
		}, "sent stream_broken resent result"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, n int) { c.run(w, n) })
			b, rec := newBuyer(t, p.URL, nil)
			evs := rec.outcome(t, invoke(t, b, invocation(nil)))
			if kinds(evs) == c.want {
				return
			}
			if end := last(evs); end.Err == nil || !strings.Contains(end.Err.Message, c.want) {
				t.Errorf("%s: %+v, want %q", kinds(evs), end.Err, c.want)
			}
		})
	}
}

// a broken stream is sent again with the same
// task_id and another request id; what came before is replaced.
func TestBrokenStreamIsSentAgain(t *testing.T) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, n int) {
		w.chunk(0, "one ", false)
		w.chunk(1, "two ", false)
		if n < 3 {
			w.cut()
		}
		w.chunk(2, "three", true)
		w.streamed()
	})
	b, rec := newBuyer(t, p.URL, func(o *Options) { o.StateDir = t.TempDir() })
	id := invoke(t, b, invocation(nil))
	evs := rec.outcome(t, id)
	if got, want := kinds(evs), "sent chunk chunk stream_broken resent chunk chunk stream_broken resent chunk chunk chunk result"; got != want {
		t.Fatalf("events: %s\nwant:   %s", got, want)
	}
	if outputText(evs) != "one two three" {
		t.Errorf("text %q", outputText(evs))
	}
	ids := map[string]bool{}
	for _, r := range p.seen(acmp.MethodInvoke) {
		ids[string(r.ID)] = true
		if r.taskID() != id {
			t.Errorf("task_id %s", r.taskID())
		}
	}
	for _, ev := range evs {
		if !ev.Deadline.IsZero() && !ev.Deadline.Equal(evs[0].Deadline) {
			t.Error("the deadline moved")
		}
	}
	if len(ids) != 3 {
		t.Errorf("request ids %v", ids)
	}
	if got := transcript(t, b, id); got != "one two three" {
		t.Errorf("transcript %q", got)
	}
}

// A stream that ends cleanly without a response is broken as well; with NoRetry
// that is the outcome.
func TestNoRetry(t *testing.T) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { w.chunk(0, "a", false) })
	b, rec := newBuyer(t, p.URL, nil)
	inv := invocation(nil)
	inv.NoRetry = true
	end := last(rec.outcome(t, invoke(t, b, inv)))
	if end.Err == nil || !end.Err.Local || !strings.Contains(end.Err.Message, "stream broke") {
		t.Errorf("outcome %+v", end.Err)
	}
}

// The lead may send again by hand; the stream before counts no more.
func TestResendByHand(t *testing.T) { overBoth(t, testResendByHand) }

func testResendByHand(t *testing.T, start starter) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, n int) {
		w.chunk(0, fmt.Sprint(n), n == 2)
		if n == 1 {
			w.hang()
		}
		w.streamed()
	})
	b, rec := start(p, nil)
	id := invoke(t, b, invocation(nil))
	rec.await(t, id, acmp.EventChunk)
	if err := b.Resend(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if evs := rec.outcome(t, id); outputText(evs) != "2" {
		t.Errorf("%s: %q", kinds(evs), outputText(evs))
	}
}

// D-07, A-136, A-143, A-144, B34: acmp/cancel first, then the wait for -33004;
// one outcome, nothing after it.
func TestCancel(t *testing.T) { overBoth(t, testCancel) }

func testCancel(t *testing.T, start starter) {
	var p *fakeProvider
	p = newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
		w.chunk(0, "a", false)
		got := p.awaitRequest(acmp.MethodCancel, 1)[0]
		if want := `{"jsonrpc":"2.0","method":"acmp/cancel","params":{"task_id":"` + w.req.taskID() + `","reason":"why <not>"}}`; strings.TrimSpace(got.Body) != want {
			t.Errorf("cancel %s", got.Body)
		}
		if w.req.Ctx.Err() != nil {
			t.Error("the stream was closed before the answer")
		}
		w.chunk(1, "late", false)
		w.fail(acmp.CodeCancelled, `{"task_id":"`+w.req.taskID()+`"}`)
	})
	b, rec := start(p, func(o *Options) { o.Providers[0].Token = NewSecret("tok") })
	id := invoke(t, b, invocation(nil))
	rec.await(t, id, acmp.EventChunk)
	if err := b.Cancel(t.Context(), id, "why <not>"); err != nil {
		t.Fatal(err)
	}
	end := last(rec.outcome(t, id))
	if end.Err == nil || end.Err.Code != acmp.CodeCancelled || end.Err.Local {
		t.Errorf("outcome %+v", end.Err)
	}
	h := p.seen(acmp.MethodCancel)[0].Header // none on a pipe
	if h != nil && (h.Get("Authorization") != "Bearer tok" || h.Get("Mcp-Method") != "acmp/cancel" || h.Get("Mcp-Protocol-Version") != protocolRevision) {
		t.Errorf("headers %v", h)
	}
	eventually(t, func() bool { return errors.Is(b.Cancel(t.Context(), id, ""), ErrEnded) }, "the task to be over")
	if err := b.Cancel(t.Context(), "nobody", ""); !errors.Is(err, ErrUnknownTask) {
		t.Errorf("unknown task: %v", err)
	}
}

// A cancel that nobody answers ends the task all the same, after a stated time.
func TestCancelNotAcknowledged(t *testing.T) { overBoth(t, testCancelNotAcknowledged) }

func testCancelNotAcknowledged(t *testing.T, start starter) {
	p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { w.hang() })
	b, rec := start(p, func(o *Options) { o.CancelWait = 50 * time.Millisecond })
	id := invoke(t, b, invocation(nil))
	p.awaitRequest(acmp.MethodInvoke, 1)
	if err := b.Cancel(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	end := last(rec.outcome(t, id))
	if end.Err == nil || end.Err.Code != acmp.CodeCancelled || !end.Err.Local || end.Err.Data["acknowledged"] != false {
		t.Errorf("outcome %+v", end.Err)
	}
}

// a result that overtakes the cancel is the outcome.
func TestResultWinsOverCancel(t *testing.T) { overBoth(t, testResultWinsOverCancel) }

func testResultWinsOverCancel(t *testing.T, start starter) {
	var p *fakeProvider
	p = newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
		p.awaitRequest(acmp.MethodCancel, 1)
		w.output("done")
	})
	b, rec := start(p, nil)
	id := invoke(t, b, invocation(nil))
	p.awaitRequest(acmp.MethodInvoke, 1)
	_ = b.Cancel(t.Context(), id, "")
	if got := kinds(rec.outcome(t, id)); got != "sent cancel_requested result" {
		t.Errorf("events: %s", got)
	}
}

// input chunks count from 0, one final, after
// a prefix in the invoke or none, while the output streams.
func TestStreamedInput(t *testing.T) { overBoth(t, testStreamedInput) }

func testStreamedInput(t *testing.T, start starter) {
	var p *fakeProvider
	p = newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
		w.chunk(0, "x", false) // before the input has come
		p.awaitRequest(acmp.MethodInputChunk, 3)
		w.chunk(1, "y", true)
		w.streamed()
	})
	b, rec := start(p, nil)
	prefix := acmp.Text("pre")
	id := invoke(t, b, invocation(func(p *acmp.InvokeParams) { p.Input, p.InputStream = &prefix, true }))
	rec.await(t, id, acmp.EventChunk)
	for i, s := range []string{"a", "b", ""} {
		if err := b.Input(t.Context(), id, acmp.Text(s), i == 2); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Input(t.Context(), id, acmp.Text("c"), true); err == nil {
		t.Error("input after the final chunk was taken")
	}
	if got := outputText(rec.outcome(t, id)); got != "xy" {
		t.Errorf("output %q", got)
	}
	if body := p.seen(acmp.MethodInvoke)[0].Body; !strings.Contains(body, `"data":"pre"`) || !strings.Contains(body, `"input_stream":true`) {
		t.Errorf("invoke %s", body)
	}
	for i, r := range p.seen(acmp.MethodInputChunk) {
		if want := fmt.Sprintf(`"seq":%d,`, i); !strings.Contains(r.Body, want) || strings.Contains(r.Body, `"final":true`) != (i == 2) {
			t.Errorf("chunk %d: %s", i, r.Body)
		}
	}
}
