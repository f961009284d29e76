package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	buyer "signalbox/client/acmp"
	"signalbox/model/acmp"
	provider "signalbox/server/acmp"
)

// childVar makes the test binary the far end of a pipe; its value is NAME:SEED.
const childVar = "FAULTS_SEED"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childVar); spec != "" {
		runPipe(spec)
		os.Exit(0)
	}
	// The links wait more than they compute. A -parallel on the command line wins.
	_ = flag.Set("test.parallel", "8")
	os.Exit(m.Run())
}

// piece is one chunk of the long output; its characters have one to four bytes.
func piece(i int) string { return fmt.Sprintf("%d 東京 👍🏽 “ok”\r\n", i) }

// longOutput is what capability long gives, in pieces chunks.
func longOutput(pieces int) string {
	var b strings.Builder
	for i := range pieces {
		b.WriteString(piece(i))
	}
	return b.String()
}

const pieces = 40

// runs counts the executions of each task.
type runs struct {
	mu sync.Mutex
	n  map[string]int
}

func (r *runs) add(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == nil {
		r.n = map[string]int{}
	}
	r.n[id]++
}

func (r *runs) of(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n[id]
}

// newProvider serves "long", in chunks, "echo", which gives back its input as it comes,
// and "wait", which takes as many µs as its input says.
func newProvider(ctx context.Context, r *runs) (*provider.Provider, error) {
	return provider.New(ctx, provider.Options{
		ProviderID: "agent:faults:local", HeartbeatInterval: time.Second,
		Capabilities: []provider.Capability{
			{Info: acmp.Capability{Name: "long"}, Handler: func(_ context.Context, t *provider.Task) (provider.Output, error) {
				r.add(t.ID())
				for i := range pieces {
					if err := t.Emit(acmp.Text(piece(i))); err != nil {
						return provider.Output{}, err
					}
				}
				return provider.Output{}, t.EmitFinal(acmp.Text(""))
			}},
			{Info: acmp.Capability{Name: "echo"}, Handler: func(ctx context.Context, t *provider.Task) (provider.Output, error) {
				for {
					in, err := t.ReadInput(ctx)
					switch {
					case errors.Is(err, io.EOF):
						return provider.Output{}, t.EmitFinal(acmp.Text(""))
					case err != nil:
						return provider.Output{}, err
					}
					if err := t.Emit(in); err != nil {
						return provider.Output{}, err
					}
				}
			}},
			{Info: acmp.Capability{Name: "wait"}, Handler: func(ctx context.Context, t *provider.Task) (provider.Output, error) {
				r.add(t.ID())
				if err := t.Emit(acmp.Text("begun ")); err != nil {
					return provider.Output{}, err
				}
				var us int
				in := t.Params().Input
				_, _ = fmt.Sscan(string(in.Raw()), &us)
				select {
				case <-ctx.Done():
					return provider.Output{}, context.Cause(ctx)
				case <-time.After(time.Duration(us) * time.Microsecond):
				}
				return provider.Output{}, t.EmitFinal(acmp.Text("done"))
			}},
		},
	})
}

// serve gives the URL of a provider over HTTP.
func serve(t *testing.T, r *runs) string {
	t.Helper()
	p, err := newProvider(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(p.Handler())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		_ = p.Close(ctx)
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

// caller is a buyer that keeps what happened to each task.
type caller struct {
	*buyer.Buyer
	mu     sync.Mutex
	events map[string][]acmp.TaskEvent
	after  atomic.Int32 // events behind an outcome
	ended  chan string
}

func newCaller(t *testing.T, spec buyer.ProviderSpec) *caller {
	t.Helper()
	c := &caller{events: map[string][]acmp.TaskEvent{}, ended: make(chan string, 4096)}
	spec.Name = "p"
	b, err := buyer.New(buyer.Options{
		Providers: []buyer.ProviderSpec{spec}, Events: c.event, KeepSilent: true, ProbeEvery: time.Hour,
		CancelWait: 30 * time.Second, ConnectTimeout: 30 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Buyer = b
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

func (c *caller) event(ev acmp.TaskEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	evs := c.events[ev.TaskID]
	if len(evs) > 0 && evs[len(evs)-1].Kind.Final() {
		c.after.Add(1)
	}
	c.events[ev.TaskID] = append(evs, ev)
	if ev.Kind.Final() {
		c.ended <- ev.TaskID
	}
}

func (c *caller) of(id string) []acmp.TaskEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.events[id]
}

func (c *caller) start(t *testing.T, capability, input string, timeout time.Duration) string {
	t.Helper()
	in := acmp.Text(input)
	id, err := c.Invoke(t.Context(), acmp.Invocation{Provider: "p", Params: acmp.InvokeParams{
		Capability: capability, Input: &in, Stream: true, TimeoutMS: max(1, timeout.Milliseconds()),
	}})
	if err != nil {
		t.Fatalf("invoke: %v", err)
	}
	return id
}

// assembled is the output since the last send.
func assembled(evs []acmp.TaskEvent) string {
	var j acmp.Joiner
	var out []byte
	for _, ev := range evs {
		switch ev.Kind {
		case acmp.EventResent:
			j, out = acmp.Joiner{}, out[:0]
		case acmp.EventChunk:
			out = j.Append(out, ev.Chunk)
		}
	}
	return string(j.Flush(out))
}

// lawful holds the events of a task against its states.
func lawful(evs []acmp.TaskEvent) error {
	state := acmp.StatePending
	for i := range evs {
		next, ok := acmp.After(state, &evs[i])
		if !ok {
			return fmt.Errorf("%s in state %s", evs[i].Kind, state)
		}
		state = next
	}
	if !state.Final() {
		return fmt.Errorf("it stays %s", state)
	}
	return nil
}

func kindsOf(evs []acmp.TaskEvent) string {
	var out []string
	for _, ev := range evs {
		if n := len(out); n == 0 || out[n-1] != string(ev.Kind) {
			out = append(out, string(ev.Kind))
		}
	}
	return strings.Join(out, " ")
}
