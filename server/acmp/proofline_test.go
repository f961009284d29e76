package acmp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"signalbox/model/acmp"
)

// what no proof can be made of is refused when it comes, not behind the stream.
func TestNoProofOfALineIsToldAtTheLine(t *testing.T) {
	for name, data := range map[string]string{"number": `{"a":[1e400]}`, "half a pair": `"\ud800"`, "member twice": `{"a":1,"a":2}`} {
		t.Run(name, func(t *testing.T) {
			refused := make(chan error, 1)
			p := newProvider(t, only(func(ctx context.Context, task *Task) (Output, error) {
				_ = task.Emit(acmp.Payload{Type: "json", Data: json.RawMessage(`1`)})
				err := task.Emit(acmp.Payload{Type: "json", Data: json.RawMessage(data)})
				if ctx.Err() == nil {
					t.Error("the work goes on")
				}
				refused <- err
				return Output{}, err
			})())
			m := overStdio(t, p).request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"stream": true, "proof_method": acmp.ProofResultHash})).all(t)
			last := m[len(m)-1]
			if last.Error == nil || last.Error.Code != acmp.CodeInternal || !strings.Contains(string(last.raw), "proof") {
				t.Errorf("answer: %s", last.raw)
			}
			if err := <-refused; err == nil {
				t.Error("the line is taken")
			}
		})
	}
	t.Run("without proof", func(t *testing.T) {
		p := newProvider(t, only(func(_ context.Context, task *Task) (Output, error) {
			return Output{}, task.EmitFinal(acmp.Payload{Type: "json", Data: json.RawMessage(`1e400`)})
		})())
		if code := overStdio(t, p).request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"stream": true})).code(t); code != 0 {
			t.Errorf("code %d", code)
		}
	})
}
