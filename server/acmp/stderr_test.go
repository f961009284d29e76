//go:build unix

package acmp

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// vetModule is a module in which `go vet ./...` finds one thing and nothing has to
// be compiled for it.
func vetModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.test/vetted\n\ngo 1.24\n",
		"a.go":   "package vetted\n\n// F does nothing.\nfunc F(x int) int {\n\tx = x\n\treturn x\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// go vet prints what it finds on standard error: it is streamed as it stands, and
// the failure repeats the end of it.
func TestVetStreamsItsFindings(t *testing.T) {
	t.Parallel()
	const finding = "a.go:5:2: self-assignment of x\n"
	var dir string
	opts := func() Options {
		dir = vetModule(t)
		return Options{Capabilities: []Capability{{Info: acmp.Capability{Name: "work"},
			Command: &Command{Argv: []string{"go", "vet", "./..."}, Dir: dir, Input: InputNone}}}}
	}
	onBoth(t, opts, func(t *testing.T, _ *Provider, c peer) {
		ms := c.request(t, acmp.MethodInvoke, streamed(taskID())).all(t)
		if got := joined(t, ms); !strings.HasSuffix(got, finding) {
			t.Errorf("streamed %q", got)
		}
		last := ms[len(ms)-1]
		if last.Error == nil || last.Error.Code != acmp.CodeInternal || last.Error.Data["exit_code"] != float64(1) {
			t.Fatalf("answer: %s", last.raw)
		}
		if detail, _ := last.Error.Data["detail"].(string); !strings.HasSuffix(detail, strings.TrimSpace(finding)) {
			t.Errorf("detail %q", detail)
		}
	})
}

// Where the two outputs go, by stderr and output, and what a failure tells of them.
func TestStderrModes(t *testing.T) {
	needShell(t)
	const script = `echo 1; echo 2 >&2; echo 3; echo 4 >&2; echo 5; exit 7`
	const merged, alone = "1\n2\n3\n4\n5\n", "1\n3\n5\n"
	for _, tc := range []struct {
		output         OutputMode
		stderr         StderrMode
		stream, detail string
	}{
		{OutputLines, "", merged, merged},
		{OutputLines, StderrMerge, merged, merged},
		{OutputLines, StderrTail, alone, "2\n4\n"},
		{OutputText, "", alone, "2\n4\n"},
		{OutputText, StderrMerge, merged, merged},
		{OutputBytes, "", alone, "2\n4\n"},
		{OutputBytes, StderrMerge, merged, merged},
		{OutputNDJSON, "", "[1,3,5]", "2\n4\n"},
		{OutputNDJSON, StderrMerge, "[1,2,3,4,5]", merged},
	} {
		t.Run(fmt.Sprintf("%s/%s", tc.output, tc.stderr), func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, shell(script, func(c *Command) { c.Output, c.Stderr = tc.output, tc.stderr })())
			ms := overHTTP(t, p).request(t, acmp.MethodInvoke, streamed(taskID())).all(t)
			if got := joined(t, ms); got != tc.stream {
				t.Errorf("streamed %q, want %q", got, tc.stream)
			}
			last := ms[len(ms)-1]
			if last.Error == nil {
				t.Fatalf("answer: %s", last.raw)
			}
			if got, want := last.Error.Data["detail"], "exit status 7\n"+strings.TrimSpace(tc.detail); got != want {
				t.Errorf("detail %q, want %q", got, want)
			}
		})
	}
	c := &Command{Argv: []string{"sh"}, Stderr: "drop"}
	if err := c.validate(); err == nil || !strings.Contains(err.Error(), "merge, tail") {
		t.Errorf("stderr drop: %v", err)
	}
}

// Progress is found in standard error wherever it goes.
func TestProgressOnStderr(t *testing.T) {
	needShell(t)
	for _, output := range []OutputMode{OutputLines, OutputNDJSON, OutputBytes} {
		for _, stderr := range []StderrMode{StderrMerge, StderrTail} {
			t.Run(fmt.Sprintf("%s/%s", output, stderr), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				o := shell(`echo 'at 40%' >&2; `+untilGo, func(c *Command) {
					c.Dir, c.Output, c.Stderr, c.Progress = dir, output, stderr, regexp.MustCompile(`(\d+)%`)
				})()
				o.HeartbeatInterval = 20 * time.Millisecond
				r := overHTTP(t, newProvider(t, o)).request(t, acmp.MethodInvoke, streamed(taskID()))
				r.until(t, progressAt(0.4))
				letGo(t, dir)
				r.all(t)
			})
		}
	}
}

// All that a command put out before it failed is sent, however fast it failed, and
// again to a caller that asks a second time.
func TestFailureFollowsItsOutput(t *testing.T) {
	needShell(t)
	const lines = 2000
	onBoth(t, shell(fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo $i; i=$((i+1)); done; exit 1`, lines), nil), func(t *testing.T, _ *Provider, c peer) {
		id := taskID()
		for range 2 {
			ms := c.request(t, acmp.MethodInvoke, streamed(id)).all(t)
			if last := ms[len(ms)-1]; last.Error == nil || len(ms) != lines+1 {
				t.Errorf("%d messages, last %s", len(ms), last.raw)
			}
		}
	})
}
