package mcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` +
	"\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// keptOutput is an output that is read at the end.
type keptOutput struct{ bytes.Buffer }

func (*keptOutput) Close() error { return nil }

// TestAskedBeforeTheEndIsAnswered: a script writes its requests and closes its end.
func TestAskedBeforeTheEndIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var in strings.Builder
		in.WriteString(hello)
		for i := 1; i <= 20; i++ {
			fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", i)
		}
		in.WriteString(`{"jsonrpc":"2.0","id":"\u0061","method":"ping"}`) // without a line end
		out := &keptOutput{}
		began := time.Now()
		if err := New(Options{Owner: nobodysOwner{t: t}}).ServeStdio(t.Context(), io.NopCloser(strings.NewReader(in.String())), out); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), `"result"`); got != 22 {
			t.Errorf("%d of 22 requests are answered", got)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the end came %v after the last answer", took)
		}
	})
}

// stuckOutput is the pipe to an agent that reads nothing.
type stuckOutput struct{ full chan struct{} }

func (o stuckOutput) Write([]byte) (int, error) { <-o.full; return 0, io.ErrClosedPipe }
func (stuckOutput) Close() error                { return nil }

// TestAgentThatReadsNothingHoldsNobody (B35): neither a signal nor the end of its
// messages waits for an agent that takes no answer.
func TestAgentThatReadsNothingHoldsNobody(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"a signal", "the end of the messages"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				in, agent := io.Pipe()
				out := stuckOutput{make(chan struct{})}
				ended := make(chan error, 1)
				go func() { ended <- New(Options{Owner: nobodysOwner{t: t}}).ServeStdio(ctx, in, out) }()
				if _, err := io.WriteString(agent, hello); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if end == "a signal" {
					cancel()
				} else {
					_ = agent.Close()
				}
				select {
				case err := <-ended:
					if err != nil {
						t.Error(err)
					}
				case <-time.After(5 * time.Second):
					t.Error("it still waits for the agent to read")
				}
				close(out.full)
				cancel()
				_ = agent.Close()
			})
		})
	}
}
