package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	buyer "signalbox/client/acmp"
	"signalbox/model/acmp"
)

// end to end: the connections break under the input
// and under the output, the buyer is closed and another goes on in the middle; the
// command runs once and gets every line once and in order.
func TestInputOverBreakingLink(t *testing.T) {
	t.Parallel()
	runs := filepath.Join(t.TempDir(), "runs")
	p := startProvideWith(t, provideFile(t, "cat.yaml", strings.ReplaceAll(`provider_id: agent:test:here
heartbeat_interval_ms: 500
capabilities:
  - {name: cat, command: [sh, -c, 'echo x >> "RUNS"; exec cat'], output: text}
`, "RUNS", runs)))
	link := newBreaker(t, strings.TrimSuffix(p.url, "/mcp"), 8, 7000)
	dir := t.TempDir()
	var mu sync.Mutex
	var out strings.Builder
	ended := make(chan acmp.TaskEvent, 2)
	start := func() *buyer.Buyer {
		b, err := buyer.New(buyer.Options{
			Providers: []buyer.ProviderSpec{{Name: "p", URL: "http://" + link.Addr().String() + "/mcp"}}, StateDir: dir, KeepSilent: true,
			Events: func(ev acmp.TaskEvent) {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case ev.Kind == acmp.EventResent:
					out.Reset()
				case ev.Kind == acmp.EventChunk:
					out.Write(ev.Chunk.Raw())
				case ev.Kind.Final():
					ended <- ev
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := start()
	id, err := b.Invoke(t.Context(), acmp.Invocation{Provider: "p", Params: acmp.InvokeParams{Capability: "cat", Stream: true, InputStream: true, TimeoutMS: 300_000}})
	if err != nil {
		t.Fatal(err)
	}
	const lines = 300
	var want strings.Builder
	for i := range lines {
		if i == lines/2 {
			if err := b.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			b = start()
		}
		line := fmt.Sprintf("line %d\n", i)
		want.WriteString(line)
		if err := b.Input(t.Context(), id, acmp.Text(line), i == lines-1); err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
	}
	defer b.Close(t.Context())
	var end acmp.TaskEvent
	select {
	case end = <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("no outcome")
	}
	mu.Lock()
	defer mu.Unlock()
	if end.Kind != acmp.EventResult || out.String() != want.String() {
		t.Errorf("%+v; %d bytes of %d: %q", end.Err, out.Len(), want.Len(), out.String())
	}
	if link.cut.Load() >= 0 {
		t.Errorf("%d cuts were not made", link.cut.Load())
	}
	if raw, err := os.ReadFile(runs); err != nil || string(raw) != "x\n" {
		t.Errorf("runs %q, %v", raw, err)
	}
}
