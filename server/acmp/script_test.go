package acmp

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"signalbox/model/acmp"
)

func needShell(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs sh")
	}
}

// shell is a capability that runs a script; the script is ours, input never is.
func shell(script string, change func(*Command)) func() Options {
	return func() Options {
		cmd := &Command{Argv: []string{"sh", "-c", script}, StopGrace: 500 * time.Millisecond}
		if change != nil {
			change(cmd)
		}
		return Options{Capabilities: []Capability{{Info: acmp.Capability{Name: "work"}, Command: cmd}}}
	}
}

// untilGo waits in a script until [letGo] is called for its folder.
const untilGo = `while [ ! -e go ]; do sleep 0.02; done`

func letGo(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// until gives the messages up to the first that is; the test fails at the response.
func (r *reply) until(t *testing.T, is func(message) bool) (ms []message) {
	t.Helper()
	for {
		m := r.next(t)
		ms = append(ms, m)
		if is(m) {
			return ms
		}
		if m.response() {
			t.Fatalf("it did not come before %s", m.raw)
		}
	}
}

// progressAt is a heartbeat with that progress.
func progressAt(f float64) func(message) bool {
	return func(m message) bool {
		return m.Method == acmp.MethodHeartbeat && m.Params.Progress != nil && *m.Params.Progress == f
	}
}

// joined is what the chunks of a stream make together.
func joined(t *testing.T, ms []message) string {
	t.Helper()
	var a acmp.Assembler
	for _, m := range ms {
		if m.Method == acmp.MethodStreamChunk {
			_ = a.Add(m.Params.Chunk)
		}
	}
	return string(a.Payload().Raw())
}

// chunks are what the chunks of a stream hold.
func chunks(ms []message) (out []string) {
	for _, m := range ms {
		if m.Method == acmp.MethodStreamChunk {
			out = append(out, string(m.Params.Chunk.Data))
		}
	}
	return out
}

// providerProcess is a provider on stdio that serves one script; see TestMain.
func providerProcess(script string) int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	o := shell(script, nil)()
	o.Watchdog = []string{self, "watchdog"}
	p, err := New(context.Background(), o)
	if err != nil {
		return 1
	}
	if err := p.ServeStdio(context.Background(), os.Stdin, os.Stdout); err != nil {
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if p.Close(ctx) != nil {
		return 1
	}
	return 0
}
