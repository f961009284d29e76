package acmp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"signalbox/model/acmp"
)

// the end of the input ends the serving, also where the caller has stopped to
// read what is written to it and holds the pipe open.
func TestEndOfInputThoughNobodyReads(t *testing.T) {
	t.Parallel()
	running := make(chan *Task, 1)
	work := began(running, func(_ context.Context, task *Task) (Output, error) {
		for {
			if err := task.Emit(acmp.Text("x")); err != nil {
				return Output{}, err
			}
		}
	})
	invoke := encode(t, acmp.MethodInvoke, 1, withMeta(invokeParamsOf(taskID(), map[string]any{"stream": true, "timeout_ms": 10 * patience.Milliseconds()})))
	for name, input := range map[string]string{
		"a stream":                     string(invoke) + "\n",
		"a stream, and requests of it": string(invoke) + "\n" + strings.Repeat("no JSON\n", 100) + discoverBody("2") + "\n",
		"refusals":                     strings.Repeat("no JSON\n", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, only(work)())
			in, toProvider := io.Pipe()
			fromProvider, out := io.Pipe()
			defer fromProvider.Close()
			ended := make(chan error, 1)
			go func() { ended <- p.ServeStdio(t.Context(), in, out) }()
			go func() {
				_, _ = io.WriteString(toProvider, input)
				if strings.HasPrefix(input, string(invoke)) {
					<-running
				}
				toProvider.Close()
			}()
			if _, err := fromProvider.Read(make([]byte, 1)); err != nil { // it writes, and is not read on
				t.Fatal(err)
			}
			select {
			case err := <-ended:
				if err == nil {
					t.Error("nothing is said of what could not be written")
				}
			case <-time.After(patience):
				t.Error("it serves on")
			}
		})
	}
}

// an invoke that is open when the time behind the end of the input is
// over is answered: its task is cancelled, and nothing else becomes its outcome.
func TestOpenCallsAreAnsweredAtTheEnd(t *testing.T) {
	t.Parallel()
	running := make(chan *Task, 1)
	p := newProvider(t, only(began(running, func(ctx context.Context, _ *Task) (Output, error) {
		<-ctx.Done()
		return Output{}, ctx.Err()
	}))())
	id := taskID()
	in := bytes.NewReader(encode(t, acmp.MethodInvoke, 7, withMeta(invokeParamsOf(id, map[string]any{"timeout_ms": 10 * patience.Milliseconds()}))))
	var out bytes.Buffer
	if err := p.ServeStdio(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"id":7,`) ||
		!strings.Contains(got, `-33004`) || !strings.Contains(got, id) {
		t.Errorf("output:\n%s", got)
	}
	task := <-running
	task.mu.Lock()
	defer task.mu.Unlock()
	if o := task.outcome; o == nil || o.err == nil || o.err.Code != acmp.CodeCancelled {
		t.Errorf("outcome: %+v", o)
	}
}

// a caller that sends and sends, and reads none of the answers, is given up in
// the end: the end of its input would never be seen behind what waits to be written.
func TestUnreadAnswersAreNotHeldWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, err := New(t.Context(), only(stream(1))())
		if err != nil {
			t.Fatal(err)
		}
		in := strings.NewReader(strings.Repeat("no JSON\n", 100*maxOwnAnswers))
		fromProvider, out := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- p.ServeStdio(t.Context(), in, out) }()
		select {
		case err := <-ended:
			if !errors.Is(err, errNotRead) {
				t.Errorf("ended with %v", err)
			}
		case <-time.After(2 * unreadTime):
			t.Error("it serves on")
		}
		fromProvider.Close()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
