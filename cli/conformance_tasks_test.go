package cli

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The cases of the suite about the life of a task; conformance_test.go names the
// requirements of each.

func deadline(t *testing.T, w wire) {
	begin := time.Now()
	m := invokeWire(t, w, "slow", map[string]any{"timeout_ms": 700}).answer(t)
	if took := time.Since(begin); m.code() != -33003 || m.Error.Data["task_id"] == nil || took < 650*time.Millisecond || took > 10*time.Second {
		t.Errorf("after %v: %s", took, m.raw)
	}
}

func cancelling(t *testing.T, w wire) {
	task := wireTask()
	r := request(t, w, "acmp/invoke", invokeOf(task, "slow", map[string]any{"stream": true}))
	r.chunk(t)
	for range 2 {
		w.notify(t, "acmp/cancel", map[string]any{"task_id": task, "reason": "enough"})
	}
	begin := time.Now()
	ms := r.all(t)
	if m := ms[len(ms)-1]; m.code() != -33004 || string(m.Error.Data["task_id"]) != strconv.Quote(task) || time.Since(begin) > 5*time.Second {
		t.Errorf("answer: %s", m.raw)
	}
	w.notify(t, "acmp/cancel", map[string]any{"task_id": "task_nobody_has"})
	if m := request(t, w, "acmp/invoke", invokeOf(task, "slow", nil)).answer(t); m.code() != -33004 {
		t.Errorf("again: %s", m.raw)
	}
	done := wireTask()
	first := request(t, w, "acmp/invoke", invokeOf(done, "lines", nil)).answer(t)
	w.notify(t, "acmp/cancel", map[string]any{"task_id": done})
	if m := request(t, w, "acmp/invoke", invokeOf(done, "lines", nil)).answer(t); string(m.Result["output"]) != string(first.Result["output"]) {
		t.Errorf("a cancel changed an outcome: %s", m.raw)
	}
}

func earlyCancel(t *testing.T, w wire) {
	task := wireTask()
	w.notify(t, "acmp/cancel", map[string]any{"task_id": task})
	if m := request(t, w, "acmp/invoke", invokeOf(task, "lines", nil)).answer(t); m.code() != -33004 {
		t.Errorf("answer: %s", m.raw)
	}
}

func inputChunkOf(task string, seq int, data string, final bool) map[string]any {
	return map[string]any{"task_id": task, "seq": seq, "final": final, "chunk": map[string]any{"type": "text", "data": data}}
}

func inputOrder(t *testing.T, w wire) {
	task := wireTask()
	w.notify(t, "acmp/inputChunk", inputChunkOf(task, 2, "two ", false)) // before its invoke
	r := request(t, w, "acmp/invoke", invokeOf(task, "echo", map[string]any{"stream": true, "input_stream": true, "input": map[string]any{"type": "text", "data": "first "}}))
	if m := r.chunk(t); m.text() != "first " { // output before the input is complete
		t.Errorf("prefix: %s", m.raw)
	}
	w.notify(t, "acmp/inputChunk", inputChunkOf(task, 1, "one ", false))
	w.notify(t, "acmp/inputChunk", inputChunkOf(task, 0, "zero ", false))
	w.notify(t, "acmp/inputChunk", inputChunkOf(task, 0, "again ", false))
	w.notify(t, "acmp/inputChunk", inputChunkOf(task, 4, "behind", false))
	w.notify(t, "acmp/inputChunk", inputChunkOf(task, 3, "three", true))
	w.notify(t, "acmp/inputChunk", inputChunkOf("task_nobody_has", 0, "x", true))
	got := "first "
	ms := r.all(t)
	for _, m := range ms {
		got += m.text()
	}
	if got != "first zero one two three" || ms[len(ms)-1].code() != 0 {
		t.Errorf("%q: %s", got, ms[len(ms)-1].raw)
	}
}

func withheld(t *testing.T, w wire) {
	task := wireTask()
	r := request(t, w, "acmp/invoke", invokeOf(task, "lines", map[string]any{"stream": true, "input_stream": true}))
	for m := r.chunk(t); !m.Params.Final; {
		m = r.chunk(t)
	}
	for end := time.After(500 * time.Millisecond); ; { // only beats may come now
		select {
		case m := <-r.msgs:
			if m.Method != "acmp/heartbeat" {
				t.Fatalf("before the final input chunk: %s", m.raw)
			}
			continue
		case <-end:
		}
		break
	}
	w.notify(t, "acmp/inputChunk", inputChunkOf(task, 0, "x", true))
	if m := r.answer(t); m.code() != 0 {
		t.Errorf("answer: %s", m.raw)
	}
}

func beats(t *testing.T, w wire) {
	begin := time.Now()
	ms := invokeWire(t, w, "ticks", map[string]any{"stream": true}).all(t)
	n := 0
	for _, m := range ms {
		if m.Method == "acmp/heartbeat" {
			n++
		}
	}
	nominal := int(time.Since(begin) / (200 * time.Millisecond))
	if n < nominal/2 || n > nominal+1 {
		t.Errorf("%d beats where %d are nominal", n, nominal)
	}
	if m := invokeWire(t, w, "ticks", nil).next(t); m.Method != "acmp/heartbeat" { // stream false, too
		t.Errorf("first: %s", m.raw)
	}
}

func comesBack(t *testing.T, w wire) {
	task := wireTask()
	r := request(t, w, "acmp/invoke", invokeOf(task, "ticks", map[string]any{"stream": true}))
	r.chunk(t)
	r.chunk(t)
	r.drop()
	for range 2 { // while it runs, and when it is over
		got := ""
		ms := request(t, w, "acmp/invoke", invokeOf(task, "ticks", map[string]any{"stream": true})).all(t)
		for _, m := range ms {
			got += m.text()
		}
		if got != "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n" || string(ms[len(ms)-1].Result["output_streamed"]) != "true" {
			t.Errorf("%q: %s", got, ms[len(ms)-1].raw)
		}
	}
	whole := request(t, w, "acmp/invoke", invokeOf(task, "ticks", nil)).answer(t)
	if !strings.Contains(string(whole.Result["output"]), `"1\n2\n3`) || string(whole.Result["output_streamed"]) != "false" {
		t.Errorf("whole: %s", whole.raw)
	}
}

func unknownMethods(t *testing.T, w wire) {
	for _, method := range []string{"acmp.v2/invoke", "acmp/interrupt", "acmp/resume", "acmp/result", "acmp/error", "acmp/heartbeat", "acmp/streamChunk", "acmp/nope"} {
		m := request(t, w, method, map[string]any{"task_id": "x"}).answer(t)
		if m.code() != -32601 {
			t.Errorf("%s: %s", method, m.raw)
		}
		w.notify(t, method, map[string]any{"task_id": "x"})
	}
}

func requestIDs(t *testing.T, w wire) {
	for _, id := range []string{"0", "-7", `""`, `"1"`, `"a\"b"`, "9007199254740993", "9007199254740992"} {
		for _, method := range []string{"server/discover", "acmp/invoke"} {
			m := w.start(t, id, method, invokeOf(wireTask(), "nope", nil)).answer(t)
			if string(m.ID) != id {
				t.Errorf("%s: %s", id, m.raw)
			}
		}
	}
}

func failing(t *testing.T, w wire) {
	m := invokeWire(t, w, "fail", nil).answer(t)
	if m.code() != -33099 || string(m.Error.Data["exit_code"]) != "3" || !strings.Contains(string(m.Error.Data["detail"]), "because") || m.Error.Data["task_id"] == nil {
		t.Errorf("answer: %s", m.raw)
	}
}

func races(t *testing.T, w wire) {
	var wg sync.WaitGroup
	for i := range 24 {
		task := wireTask()
		r := request(t, w, "acmp/invoke", invokeOf(task, "lines", map[string]any{"stream": true, "timeout_ms": 1 + i%4*50}))
		wg.Go(func() { w.notify(t, "acmp/cancel", map[string]any{"task_id": task}) })
		wg.Go(func() {
			if m := r.answer(t); m.code() != 0 && m.code() != -33003 && m.code() != -33004 {
				t.Errorf("answer: %s", m.raw)
			}
		})
	}
	wg.Wait()
}

func longData(t *testing.T, w wire) {
	text := strings.Repeat("x", 3<<20)
	m := invokeWire(t, w, "noisy", map[string]any{"input": map[string]any{"type": "text", "data": text}}).answer(t)
	var out struct{ Data string }
	if err := json.Unmarshal(m.Result["output"], &out); err != nil || out.Data != text {
		t.Errorf("%d bytes came of %d: %v", len(out.Data), len(text), err)
	}
}

func layerSix(t *testing.T, w wire) {
	m := request(t, w, "acmp/offerRequest", map[string]any{"capability": "echo", "max_price_cu": 0.25}).answer(t)
	var offer struct {
		ID string `json:"offer_id"`
	}
	raw, _ := json.Marshal(m.Result) // it was JSON
	if err := json.Unmarshal(raw, &offer); err != nil || offer.ID == "" || string(m.Result["price_cu"]) != "0.25" {
		t.Fatalf("offer: %s", m.raw)
	}
	for _, code := range []int{0, -34003} {
		if m := request(t, w, "acmp/accept", map[string]any{"offer_id": offer.ID}).answer(t); m.code() != code {
			t.Errorf("want %d: %s", code, m.raw)
		}
	}
	if m := request(t, w, "acmp/accept", map[string]any{"offer_id": "offer_nobody_made"}).answer(t); m.code() != -34001 {
		t.Errorf("unknown: %s", m.raw)
	}
	if m := invokeWire(t, w, "echo", map[string]any{"offer_id": offer.ID}).answer(t); string(m.Result["cost_cu"]) != "0.25" {
		t.Errorf("invoke: %s", m.raw)
	}
}

func duplicates(t *testing.T, w wire, runs string) {
	if err := os.RemoveAll(runs); err != nil {
		t.Fatal(err)
	}
	task := wireTask()
	var rs []*wireReply
	for range 20 {
		rs = append(rs, request(t, w, "acmp/invoke", invokeOf(task, "runs", nil)))
	}
	rs = append(rs, request(t, w, "acmp/invoke", invokeOf(task, "runs", nil)))
	for _, r := range rs {
		if m := r.answer(t); string(m.Result["output"]) != `{"type":"text","data":"one\ntwo\n"}` || string(m.Result["cost_cu"]) != "0.10" {
			t.Errorf("answer: %s", m.raw)
		}
	}
	if m := request(t, w, "acmp/invoke", invokeOf(task, "runs", nil)).answer(t); string(m.Result["cost_cu"]) != "0.10" { // finished
		t.Errorf("afterwards: %s", m.raw)
	}
	if b, err := os.ReadFile(runs); err != nil || string(b) != "x\n" {
		t.Errorf("runs %q: %v", b, err)
	}
}
