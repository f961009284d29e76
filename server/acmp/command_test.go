//go:build unix

package acmp

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"signalbox/model/acmp"
)

// Each line is one chunk with its end; a line without one goes out after 100 ms.
func TestLines(t *testing.T) {
	t.Parallel()
	needShell(t)
	var dir string
	opts := func() Options {
		dir = t.TempDir()
		return shell(`printf 'one\ntwo\r\n'; printf 'par'; `+untilGo+`; printf 'tial\n'; printf 'last'`,
			func(c *Command) { c.Dir = dir })()
	}
	onBoth(t, opts, func(t *testing.T, _ *Provider, c peer) {
		r := c.request(t, acmp.MethodInvoke, streamed(taskID()))
		ms := []message{r.next(t), r.next(t), r.next(t)}
		letGo(t, dir)
		ms = append(ms, r.all(t)...)
		if got := joined(t, ms); got != "one\ntwo\r\npartial\nlast" {
			t.Errorf("joined %q", got)
		}
		want := `["one\n" "two\r\n" "par" "tial\n" "last" ""]`
		if got := fmt.Sprint(chunks(ms)); got != want {
			t.Errorf("chunks %s, want %s", got, want)
		}
		if last := ms[len(ms)-1]; last.Result == nil || !last.Result.OutputStreamed {
			t.Errorf("last: %s", last.raw)
		}
	})
}

// B24: no character is cut, wherever the writes are; a bad byte is one U+FFFD.
func TestNoCharacterIsCut(t *testing.T) {
	t.Parallel()
	needShell(t)
	const s = "東京 👍🏽 “ok”"
	var script strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&script, "printf '\\%03o'; ", s[i])
		if i%5 == 2 {
			script.WriteString("sleep 0.12; ")
		}
	}
	for _, mode := range []OutputMode{OutputLines, OutputText} {
		p := newProvider(t, shell(script.String(), func(c *Command) { c.Output = mode })())
		ms := overHTTP(t, p).request(t, acmp.MethodInvoke, streamed(taskID())).all(t)
		if got := joined(t, ms); got != s {
			t.Errorf("%s: %q", mode, got)
		}
		for _, c := range chunks(ms) {
			if strings.ContainsRune(c, utf8.RuneError) {
				t.Errorf("%s: chunk %q", mode, c)
			}
		}
	}
	p := newProvider(t, shell(`printf 'a\377b\n'`, nil)())
	if got := joined(t, overHTTP(t, p).request(t, acmp.MethodInvoke, streamed(taskID())).all(t)); got != "a\uFFFDb\n" {
		t.Errorf("bad byte: %q", got)
	}
}

func TestNDJSON(t *testing.T) {
	t.Parallel()
	needShell(t)
	dir := t.TempDir()
	o := shell(`echo '{"a":1}'; echo '{"acmp":"heartbeat","progress":0.4,"detail":"half"}'; echo; echo 'stray warning'; `+untilGo+`; printf '[2]'`,
		func(c *Command) { c.Output, c.Dir = OutputNDJSON, dir })()
	o.HeartbeatInterval = 50 * time.Millisecond
	p := newProvider(t, o)
	c := overHTTP(t, p)
	id := taskID()
	r := c.request(t, acmp.MethodInvoke, streamed(id))
	ms := r.until(t, progressAt(0.4)) // the control line became a heartbeat
	if d := ms[len(ms)-1].Params.Detail; d != "half" {
		t.Errorf("detail %q", d)
	}
	letGo(t, dir)
	ms = append(ms, r.all(t)...)
	if got, want := fmt.Sprint(chunks(ms)), `[{"a":1} "stray warning" [2] ""]`; got != want {
		t.Errorf("chunks %s, want %s", got, want)
	}
	m := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, nil)).answer(t)
	if m.Result == nil || string(m.Result.Output.Data) != `[{"a":1},"stray warning",[2]]` {
		t.Errorf("whole: %s", m.raw)
	}
}

func TestBytesAndEmptyOutput(t *testing.T) {
	t.Parallel()
	needShell(t)
	p := newProvider(t, shell(`printf '\000\377\n'`, func(c *Command) { c.Output = OutputBytes })())
	if got := joined(t, overHTTP(t, p).request(t, acmp.MethodInvoke, streamed(taskID())).all(t)); got != "\x00\xff\n" {
		t.Errorf("bytes %q", got)
	}
	for _, mode := range []OutputMode{OutputLines, OutputText, OutputNDJSON, OutputBytes} {
		p := newProvider(t, shell(`true`, func(c *Command) { c.Output = mode })())
		m := overHTTP(t, p).request(t, acmp.MethodInvoke, streamed(taskID())).answer(t)
		if m.Result == nil || m.Result.Output == nil || m.Result.OutputStreamed {
			t.Errorf("%s: %s", mode, m.raw)
		}
	}
}

// Input reaches the command on stdin, streamed or not, or as one argument, and
// never through a shell.
func TestInputModes(t *testing.T) {
	t.Parallel()
	needShell(t)
	const hostile = "$(touch pwned); `id` \"quoted\" 'too' -n\n"
	t.Run("stdin", func(t *testing.T) {
		onBoth(t, shell("cat", nil), func(t *testing.T, _ *Provider, c peer) {
			m := c.request(t, acmp.MethodInvoke, map[string]any{"task_id": taskID(), "capability": "work", "input": text(hostile)}).answer(t)
			if m.Result == nil {
				t.Fatalf("answer: %s", m.raw)
			}
			if got := string(m.Result.Output.Raw()); got != hostile {
				t.Errorf("got %q", got)
			}
		})
	})
	t.Run("arg", func(t *testing.T) {
		o := func() Options {
			return Options{Capabilities: []Capability{{Info: acmp.Capability{Name: "work"},
				Command: &Command{Argv: []string{"printf", "%s|"}, Input: InputArg, Output: OutputText}}}}
		}
		onBoth(t, o, func(t *testing.T, _ *Provider, c peer) {
			m := c.request(t, acmp.MethodInvoke, map[string]any{"task_id": taskID(), "capability": "work", "input": text(hostile)}).answer(t)
			if m.Result == nil {
				t.Fatalf("answer: %s", m.raw)
			}
			if got := string(m.Result.Output.Raw()); got != hostile+"|" {
				t.Errorf("got %q", got)
			}
		})
	})
	t.Run("streamed", func(t *testing.T) {
		onBoth(t, shell("while read l; do echo got $l; done", nil), func(t *testing.T, _ *Provider, c peer) {
			id := taskID()
			r := c.request(t, acmp.MethodInvoke, map[string]any{"task_id": id, "capability": "work", "input_stream": true, "stream": true})
			for i := range 3 {
				c.notify(t, acmp.MethodInputChunk, inputChunk(id, i, fmt.Sprintf("line%d\n", i), i == 2))
				if m := r.next(t); string(m.Params.Chunk.Data) != fmt.Sprintf(`"got line%d\n"`, i) {
					t.Fatalf("chunk: %s", m.raw)
				}
			}
			if m := r.all(t); m[len(m)-1].Result == nil {
				t.Errorf("answer: %s", m[len(m)-1].raw)
			}
		})
	})
	t.Run("none", func(t *testing.T) {
		p := newProvider(t, shell("cat", func(c *Command) { c.Input = InputNone })())
		c := overHTTP(t, p)
		m := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"input": text("ignored")})).answer(t)
		if m.Result == nil || string(m.Result.Output.Data) != `""` {
			t.Errorf("answer: %s", m.raw)
		}
		if code := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"input_stream": true})).code(t); code != acmp.CodeFeatureUnsupported {
			t.Errorf("input_stream: %d", code)
		}
	})
}

// B38: a flood on stderr does not block; the exit code and the tail are told.
func TestExitCodeAndStderr(t *testing.T) {
	t.Parallel()
	needShell(t)
	script := `i=0; while [ $i -lt 3000 ]; do echo "noise noise noise noise noise noise noise noise noise $i" >&2; i=$((i+1)); done; echo out; echo 'the reason' >&2; exit 3`
	onBoth(t, shell(script, nil), func(t *testing.T, _ *Provider, c peer) {
		m := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), nil)).answer(t)
		if m.Error == nil || m.Error.Code != acmp.CodeInternal {
			t.Fatalf("answer: %s", m.raw)
		}
		detail, _ := m.Error.Data["detail"].(string)
		if !strings.HasPrefix(detail, "exit status 3\n") || !strings.HasSuffix(detail, "the reason") || len(detail) > 5000 {
			t.Errorf("detail %q", detail)
		}
		if m.Error.Data["exit_code"] != float64(3) {
			t.Errorf("exit_code %v", m.Error.Data["exit_code"])
		}
	})
	p := newProvider(t, Options{Capabilities: []Capability{{Info: acmp.Capability{Name: "work"}, Command: &Command{Argv: []string{"/no/such/program"}}}}})
	m := overHTTP(t, p).request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), nil)).answer(t)
	if m.Error == nil || m.Error.Code != acmp.CodeInternal || strings.Contains(string(m.raw), "/no/such") {
		t.Errorf("missing program: %s", m.raw)
	}
}

// Children get no token and nothing of the owner's address.
func TestChildEnvironment(t *testing.T) {
	needShell(t)
	for _, name := range []string{"ACMP_BEARER_TOKEN", "SIGNALBOX_TOKEN_FILE", "ACOP_BACKEND_BEARER_TOKEN", "ACOP_BACKEND_BASE_URI"} {
		t.Setenv(name, "SECRET123")
	}
	t.Setenv("HARMLESS", "kept")
	p := newProvider(t, shell("env", nil)())
	got := joined(t, overHTTP(t, p).request(t, acmp.MethodInvoke, streamed(taskID())).all(t))
	if strings.Contains(got, "SECRET123") || !strings.Contains(got, "HARMLESS=kept") {
		t.Errorf("environment:\n%s", got)
	}
}

// max_parallel: the third waits, within its deadline.
func TestMaxParallel(t *testing.T) {
	t.Parallel()
	needShell(t)
	dir := t.TempDir()
	o := shell(`echo started; `+untilGo, func(c *Command) { c.Dir = dir })()
	o.Capabilities[0].MaxParallel = 2
	p := newProvider(t, o)
	c := overHTTP(t, p)
	var rs []*reply
	for range 2 {
		r := c.request(t, acmp.MethodInvoke, streamed(taskID()))
		r.next(t)
		rs = append(rs, r)
	}
	if code := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"timeout_ms": 100})).code(t); code != acmp.CodeTimeout {
		t.Errorf("queued beyond its deadline: %d", code)
	}
	third := c.request(t, acmp.MethodInvoke, streamed(taskID()))
	letGo(t, dir)
	for _, r := range append(rs, third) {
		ms := r.all(t)
		if ms[len(ms)-1].Result == nil {
			t.Errorf("answer: %s", ms[len(ms)-1].raw)
		}
	}
}

func TestProgressPattern(t *testing.T) {
	t.Parallel()
	needShell(t)
	dir := t.TempDir()
	o := shell(`printf 'at 40%%\r' >&2; `+untilGo, func(c *Command) { c.Dir, c.Progress = dir, regexp.MustCompile(`(\d+)%`) })()
	o.HeartbeatInterval = 40 * time.Millisecond
	p := newProvider(t, o)
	r := overHTTP(t, p).request(t, acmp.MethodInvoke, streamed(taskID()))
	r.until(t, progressAt(0.4))
	letGo(t, dir)
	r.all(t)
}
