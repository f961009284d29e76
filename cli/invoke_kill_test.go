package cli

import (
	"bufio"
	"context"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	buyer "signalbox/client/acmp"
	"signalbox/model/acmp"
	provider "signalbox/server/acmp"
)

// B46: the program is killed in the middle of a task. What was
// printed is in its transcript already; the next program finds the task in the
// journal, attaches to the run that goes on, and has the output whole.
func TestInvokeSurvivesKill(t *testing.T) {
	var runs atomic.Int32
	gate := make(chan struct{})
	p, err := provider.New(t.Context(), provider.Options{
		ProviderID: "agent:test:local",
		Capabilities: []provider.Capability{{Info: acmp.Capability{Name: "long"}, Handler: func(ctx context.Context, task *provider.Task) (provider.Output, error) {
			runs.Add(1)
			if err := task.Emit(acmp.Text("begun\n")); err != nil {
				return provider.Output{}, err
			}
			select {
			case <-gate:
			case <-ctx.Done():
				return provider.Output{}, context.Cause(ctx)
			}
			return provider.Output{}, task.EmitFinal(acmp.Text("done\n"))
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(p.Handler())
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	state := t.TempDir()
	cmd := exec.Command(binary(t), "invoke", "long", "--provider", "p="+srv.URL, "--timeout", "5m")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state, "XDG_CONFIG_HOME="+t.TempDir())
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil || line != "begun\n" {
		t.Fatalf("stdout %q, %v", line, err)
	}
	dir := filepath.Join(state, "signalbox", "buyer")
	outs, _ := filepath.Glob(filepath.Join(dir, "tasks", "*.out"))
	if len(outs) != 1 {
		t.Fatalf("transcripts: %v", outs)
	}
	if raw, err := os.ReadFile(outs[0]); err != nil || string(raw) != "begun\n" {
		t.Errorf("transcript after the kill: %q, %v", raw, err)
	}
	ended := make(chan acmp.TaskEvent, 1)
	b, err := buyer.New(buyer.Options{
		Providers: []buyer.ProviderSpec{{Name: "p", URL: srv.URL}}, StateDir: dir,
		Events: func(ev acmp.TaskEvent) {
			if ev.Kind == acmp.EventChunk && ev.Seq == 0 {
				close(gate)
			}
			if ev.Kind.Final() {
				ended <- ev
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(t.Context())
	var end acmp.TaskEvent
	select {
	case end = <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the task was not taken up")
	}
	if end.Kind != acmp.EventResult || runs.Load() != 1 {
		t.Fatalf("outcome %+v after %d runs", end.Err, runs.Load())
	}
	r, err := b.Transcript(t.Context(), end.TaskID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if raw, _ := io.ReadAll(r); string(raw) != "begun\ndone\n" {
		t.Errorf("transcript %q", raw)
	}
	ledger, err := os.ReadFile(filepath.Join(dir, "ledger.jsonl"))
	for deadline := time.Now().Add(10 * time.Second); strings.Count(string(ledger), end.TaskID) != 1; {
		if time.Now().After(deadline) {
			t.Fatalf("ledger %q, %v", ledger, err)
		}
		<-time.After(5 * time.Millisecond)
		ledger, err = os.ReadFile(filepath.Join(dir, "ledger.jsonl"))
	}
}
