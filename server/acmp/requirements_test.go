package acmp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"signalbox/model/acmp"
)

// whatever the price and the ceiling, compared as decimals: a
// result never costs more, a refusal is because it would, and what is refused has not
// run.
func TestPriceNeverAboveCeiling(t *testing.T) {
	var runs atomic.Int64
	d := rand.New(rand.NewPCG(1, 2))
	number := func() json.Number { // 0.1 beside 0.10000000000000000001, 1e-1 and 100e-3
		s := fmt.Sprintf("%d.%d", d.IntN(3), d.IntN(3))
		switch d.IntN(4) {
		case 0:
			s += strings.Repeat("0", d.IntN(25)) + fmt.Sprint(d.IntN(3))
		case 1:
			s += fmt.Sprintf("e%d", d.IntN(5)-2)
		}
		return json.Number(s)
	}
	exact := func(n json.Number) *big.Rat {
		r, ok := new(big.Rat).SetString(n.String())
		if !ok {
			t.Fatalf("%q is no number", n)
		}
		return r
	}
	var caps []Capability
	for i := range 40 {
		c := capability(fmt.Sprint("c", i), func(ctx context.Context, t *Task) (Output, error) { runs.Add(1); return stream(1)(ctx, t) })
		c.Info.PriceCU = number()
		caps = append(caps, c)
	}
	c := overHTTP(t, newProvider(t, Options{Capabilities: caps}))
	refused := 0
	for range 400 {
		one, ceiling, before := caps[d.IntN(len(caps))].Info, number(), runs.Load()
		m := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"capability": one.Name, "max_price_cu": ceiling})).answer(t)
		over := exact(one.PriceCU).Cmp(exact(ceiling)) > 0
		switch {
		case over && (m.Error == nil || m.Error.Code != acmp.CodeBudgetExceeded || runs.Load() != before):
			t.Errorf("price %s, ceiling %s: %s", one.PriceCU, ceiling, m.raw)
		case !over && (m.Result == nil || exact(m.Result.CostCU).Cmp(exact(one.PriceCU)) != 0):
			t.Errorf("price %s, ceiling %s: %s", one.PriceCU, ceiling, m.raw)
		}
		if over {
			refused++
		}
	}
	if refused < 50 || refused > 350 {
		t.Errorf("%d of 400 were above their ceiling: the numbers prove little", refused)
	}
}

// what the buyer says reaches the handler as it was
// said, of any type and form, the defaults filled in.
func TestWhatReachesTheHandler(t *testing.T) {
	seen := make(chan acmp.InvokeParams, 1)
	h := func(_ context.Context, task *Task) (Output, error) {
		seen <- *task.Params()
		return Output{Payload: task.Params().Input}, nil
	}
	onBoth(t, only(h), func(t *testing.T, _ *Provider, c peer) {
		for _, in := range []string{
			`{"type":"x/y","data":null}`, `{"type":"image/png","data":"iVBORw0="}`, `{"type":"json","data":{"a":[1.50,true]}}`, `{"type":"text","data":"東京 👍🏽"}`,
		} {
			m := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"input": json.RawMessage(in), "escrow_id": "esc_1",
				"max_price_cu": json.RawMessage("0.50"), "input_tokens_est": int64(1) << 60, "preferred_tier": "B", "future": 1})).answer(t)
			p := <-seen
			if p.OutputType != "json" || p.EscrowID != "esc_1" || p.MaxPriceCU == nil || *p.MaxPriceCU != "0.50" || p.PreferredTier != "B" {
				t.Errorf("the handler got %+v", p)
			}
			var got, want any
			if json.Unmarshal([]byte(in), &want) != nil || m.Result == nil || !strings.Contains(string(m.raw), `"output":`) {
				t.Fatalf("%s: %s", in, m.raw)
			}
			var r struct {
				Result struct{ Output json.RawMessage }
			}
			if err := json.Unmarshal(m.raw, &r); err != nil || json.Unmarshal(r.Result.Output, &got) != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s came back as %s", in, r.Result.Output)
			}
		}
	})
}

// the declaration of a provider with every feature is the example of the
// specification, and beside it only what layer 1 leaves open.
func TestDeclarationIsTheExample(t *testing.T) {
	const example = `{"version":"0.1.0","role":"provider","accepts":["acmp/invoke","acmp/cancel","acmp/inputChunk"],` +
		`"emits":["acmp/streamChunk","acmp/heartbeat"],"features":{"output_streaming":true,"input_streaming":true,"heartbeat_interval_ms":5000`
	o := only(stream(1))()
	o.HeartbeatInterval = 5 * time.Second
	m := overHTTP(t, newProvider(t, o)).request(t, "server/discover", nil).answer(t)
	if !strings.Contains(string(m.raw), `"extensions":{"org.a2agora/acmp":`+example+`,"capabilities":[{"name":"work"}]}}}`) {
		t.Errorf("declaration %s", m.raw)
	}
}

// each error, a chunk and a heartbeat as they stand on the
// wire, to the byte.
func TestMessagesToTheByte(t *testing.T) {
	h := func(ctx context.Context, task *Task) (Output, error) {
		if task.Params().OutputType == "beats" {
			task.Progress(0.5, "half \"way\"")
			_ = task.Emit(acmp.Text("a\nb"))
		}
		<-ctx.Done()
		return Output{}, ctx.Err()
	}
	opts := func() Options {
		o := only(h)()
		o.NoInputStreaming, o.RefuseEscrow, o.HeartbeatInterval = true, true, 20*time.Millisecond
		o.Capabilities[0].Info.PriceCU = "0.30"
		return o
	}
	onBoth(t, opts, func(t *testing.T, _ *Provider, c peer) {
		for want, more := range map[string]map[string]any{
			`{"code":-33001,"message":"Budget exceeded","data":{"detail":"Minimum price for work is 0.30 CU.","min_price_cu":0.30,"task_id":"ID"}}`: {"max_price_cu": 0.1},
			`{"code":-33002,"message":"Capability not found","data":{"capability":"nope","task_id":"ID"}}`:                                          {"capability": "nope"},
			`{"code":-33003,"message":"Task timed out","data":{"task_id":"ID","timeout_ms":5}}`:                                                     {"timeout_ms": 5},
			`{"code":-33004,"message":"Task cancelled","data":{"detail":"enough","task_id":"ID"}}`:                                                  {"output_type": "cancel"},
			`{"code":-33005,"message":"Escrow invalid","data":{"escrow_id":"esc","task_id":"ID"}}`:                                                  {"escrow_id": "esc"},
			`{"code":-33006,"message":"Proof method unsupported","data":{"proof_method":"zk","task_id":"ID"}}`:                                      {"proof_method": "zk"},
			`{"code":-33007,"message":"Feature unsupported","data":{"feature":"input_streaming","task_id":"ID"}}`:                                   {"input_stream": true},
		} {
			id := taskID()
			if more["output_type"] == "cancel" {
				c.notify(t, acmp.MethodCancel, map[string]any{"task_id": id, "reason": "enough"})
			}
			ms := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, more)).all(t)
			m := ms[len(ms)-1]
			if got, whole := strings.ReplaceAll(string(m.raw), id, "ID"), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, want); got != whole {
				t.Errorf("got  %s\nwant %s", got, whole)
			}
		}
		id := taskID()
		r := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, map[string]any{"stream": true, "output_type": "beats"}))
		wanted := map[string]bool{
			`{"jsonrpc":"2.0","method":"acmp/streamChunk","params":{"task_id":"` + id + `","seq":0,"chunk":{"type":"text","data":"a\nb"},"final":false}}`: true,
			`{"jsonrpc":"2.0","method":"acmp/heartbeat","params":{"task_id":"` + id + `","progress":0.5,"detail":"half \"way\""}}`:                        true,
		}
		for len(wanted) > 0 {
			m := r.next(t)
			if m.response() {
				t.Fatalf("not seen: %v", wanted)
			}
			delete(wanted, string(m.raw))
		}
		c.notify(t, acmp.MethodCancel, map[string]any{"task_id": id})
		r.all(t)
	})
}

// of tasks that run at the same time each stream carries its own alone.
func TestStreamsCarryTheirOwn(t *testing.T) {
	const tasks = 16
	var begun sync.WaitGroup
	begun.Add(tasks)
	h := func(ctx context.Context, task *Task) (Output, error) {
		begun.Done()
		begun.Wait()
		return stream(50)(ctx, task)
	}
	o := only(h)()
	o.HeartbeatInterval = time.Millisecond
	c := overHTTP(t, newProvider(t, o))
	var all sync.WaitGroup
	for range tasks {
		all.Go(func() {
			id := taskID()
			for _, m := range c.request(t, acmp.MethodInvoke, streamed(id)).all(t) {
				if !m.response() && m.Params.TaskID != id || m.response() && (m.Result == nil || m.Result.TaskID != id) {
					t.Errorf("on the stream of %s: %s", id, m.raw)
				}
			}
		})
	}
	all.Wait()
}

// a chunk of input for a task that is over, or that takes none, or that nobody
// knows, has no effect and no answer.
func TestInputThatBelongsNowhere(t *testing.T) {
	release, over := make(chan struct{}), make(chan int, 2)
	h := func(ctx context.Context, task *Task) (Output, error) {
		if task.Params().OutputType != "held" {
			return echoInput(ctx, task)
		}
		<-release
		n := 0
		for {
			if _, err := task.ReadInput(ctx); errors.Is(err, io.EOF) {
				break
			}
			n++
		}
		over <- n
		return stream(1)(ctx, task)
	}
	onBoth(t, only(h), func(t *testing.T, p *Provider, c peer) {
		done := taskID()
		before := stripID(c.request(t, acmp.MethodInvoke, invokeParamsOf(done, nil)).all(t))
		running := taskID()
		r := c.request(t, acmp.MethodInvoke, invokeParamsOf(running, map[string]any{"output_type": "held"}))
		eventually(t, "it runs", func() bool { return p.table.find(running) != nil })
		for _, id := range []string{done, running, taskID()} {
			c.notify(t, acmp.MethodInputChunk, inputChunk(id, 0, "nowhere", true))
		}
		if after := stripID(c.request(t, acmp.MethodInvoke, invokeParamsOf(done, nil)).all(t)); after != before {
			t.Errorf("before %s\nafter  %s", before, after)
		}
		release <- struct{}{}
		if n := <-over; n != 1 {
			t.Errorf("the handler read %d inputs", n)
		}
		if code := r.code(t); code != 0 {
			t.Errorf("code %d", code)
		}
	})
}

// what comes before its invoke is not held for ever.
func TestEarlyInputIsDroppedInTime(t *testing.T) {
	o := only(echoInput)()
	o.Limits.EarlyAge = 20 * time.Millisecond
	p := newProvider(t, o)
	c := overHTTP(t, p)
	id := taskID()
	c.notify(t, acmp.MethodInputChunk, inputChunk(id, 0, "old", true))
	held := func() int {
		p.table.mu.Lock()
		defer p.table.mu.Unlock()
		p.table.earlyOf("somebody else") // prunes all
		delete(p.table.early, "somebody else")
		return len(p.table.early)
	}
	eventually(t, "the early chunk is dropped", func() bool { return held() == 0 })
	r := c.request(t, acmp.MethodInvoke, map[string]any{"task_id": id, "capability": "work", "input_stream": true})
	eventually(t, "the task is known", func() bool { return p.table.find(id) != nil })
	c.notify(t, acmp.MethodInputChunk, inputChunk(id, 0, "new", true))
	if m := r.answer(t); m.Result == nil || string(m.Result.Output.Data) != `"new"` {
		t.Errorf("answer: %s", m.raw)
	}
}

// recorder is the sink of a caller in a bubble of fake time.
type recorder struct {
	beats, chunks []time.Duration
	begin         time.Time
}

func (r *recorder) write(b []byte) error {
	at := time.Since(r.begin)
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, acmp.MethodHeartbeat) {
			r.beats = append(r.beats, at)
		} else {
			r.chunks = append(r.chunks, at)
		}
	}
	return nil
}
func (r *recorder) flush()           {}
func (r *recorder) framing() framing { return stdioFraming }
func (r *recorder) until(time.Time)  {}

// by the clock, without the machine's own delays: beats come
// at the nominal interval exactly, the first after one, also while chunks flow and
// though the handler is deaf; a cancel is answered in the same instant.
func TestBeatsByTheClock(t *testing.T) {
	for name, every := range map[string]time.Duration{"silent": 0, "chunks flow": 7 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const interval, life = 200 * time.Millisecond, 2100 * time.Millisecond
				deaf := make(chan struct{})
				p, err := New(t.Context(), Options{HeartbeatInterval: interval, Capabilities: []Capability{capability("work", func(_ context.Context, task *Task) (Output, error) {
					for every > 0 && task.Emit(acmp.Text("x")) == nil {
						time.Sleep(every) // fake
					}
					<-deaf
					return Output{}, errNotRunning
				})}})
				if err != nil {
					t.Fatal(err)
				}
				task, place, bad := p.find(acmp.InvokeParams{TaskID: "t", Capability: "work", Stream: true, TimeoutMS: 60_000}, "somebody")
				if bad != nil {
					t.Fatal(bad)
				}
				r := &recorder{begin: time.Now()}
				p.launch(task, place)
				time.AfterFunc(life, func() { p.cancelTask("somebody", acmp.Cancel{TaskID: "t"}) })
				o, err := p.follow(t.Context(), task, true, call{sink: r})
				if err != nil || o.err == nil || o.err.Code != acmp.CodeCancelled || time.Since(r.begin) != life {
					t.Errorf("after %v: %+v %v", time.Since(r.begin), o, err)
				}
				if len(r.beats) != int(life/interval) || every > 0 && len(r.chunks) < int(life/every) {
					t.Errorf("%d beats, %d chunks", len(r.beats), len(r.chunks))
				}
				for i, at := range r.beats {
					if at != time.Duration(i+1)*interval {
						t.Errorf("beat %d came at %v", i+1, at)
					}
				}
				close(deaf)
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
