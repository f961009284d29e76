package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acmp"
	provider "signalbox/server/acmp"
)

// capabilities are served by the provider of these tests.
func capabilities() []provider.Capability {
	handler := func(name string, h provider.Handler) provider.Capability {
		return provider.Capability{Info: acmp.Capability{Name: name, PriceCU: "0.002"}, Handler: h}
	}
	return []provider.Capability{
		handler("lines", func(_ context.Context, t *provider.Task) (provider.Output, error) {
			t.Progress(0.5, "half\x1b[2J")
			<-time.After(500 * time.Millisecond) // one heartbeat
			for i := range 3 {
				if err := t.Emit(acmp.Text(fmt.Sprintf("line %d\n", i))); err != nil {
					return provider.Output{}, err
				}
			}
			return provider.Output{}, t.EmitFinal(acmp.Text(""))
		}),
		handler("json", func(context.Context, *provider.Task) (provider.Output, error) {
			return provider.Output{Payload: &acmp.Payload{Type: "json", Data: json.RawMessage(`{"a":"\u009b[2J"}`)}}, nil
		}),
		handler("echo", func(ctx context.Context, t *provider.Task) (provider.Output, error) {
			var all []acmp.Payload
			for {
				p, err := t.ReadInput(ctx)
				if errors.Is(err, io.EOF) {
					out := acmp.Assemble(all)
					return provider.Output{Payload: &out}, nil
				}
				if err != nil {
					return provider.Output{}, err
				}
				all = append(all, p)
			}
		}),
		handler("fails", func(context.Context, *provider.Task) (provider.Output, error) {
			return provider.Output{}, &acmp.Error{Code: -33099, Message: "no\x1b[2J", Data: map[string]any{"detail": "why"}}
		}),
		handler("waits", func(ctx context.Context, t *provider.Task) (provider.Output, error) {
			_ = t.Emit(acmp.Text("started\n"))
			<-ctx.Done()
			return provider.Output{}, context.Cause(ctx)
		}),
	}
}

// servedProvider starts a provider of ours over HTTP and gives its URL.
func servedProvider(t *testing.T) string {
	t.Helper()
	p, err := provider.New(t.Context(), provider.Options{
		ProviderID: "agent:test:local", HeartbeatInterval: 400 * time.Millisecond, Capabilities: capabilities(),
		Authenticate: func(token string) (string, bool) { return "me", token == "SECRET123" },
	})
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

func invokeEnv(t *testing.T) map[string]string {
	return map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir(), envBearerToken: "SECRET123"}
}

// The face of `invoke`: output alone on stdout, exit codes 0, 1, 2 and 3.
func TestInvoke(t *testing.T) {
	url := servedProvider(t)
	file := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(file, []byte("from file"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		args   string
		stdin  string
		code   int
		stdout string
		stderr string // part
	}{
		{"lines", "", 0, "line 0\nline 1\nline 2\n", "heartbeat 50% half"},
		{"lines --stream=false", "", 0, "line 0\nline 1\nline 2\n", ""},
		{"json", "", 0, `{"a":"\u009b[2J"}` + "\n", ""},
		{"echo --input hello", "", 0, "hello", ""},
		{"echo --input -", "piped", 0, "piped", ""},
		{"echo --input @" + file, "", 0, "from file", ""},
		{"echo --input-stream", "a\nb\u00e9\n", 0, "a\nb\u00e9\n", ""},
		{"echo --input-stream --input pre", "fix", 0, "prefix", ""},
		{"echo --type json --input-stream", "1 {\"a\":2}", 0, `[1,{"a":2}]` + "\n", ""},
		{"lines --max-price 0.002 --proof result-hash", "", 0, "line 0\nline 1\nline 2\n", ""},
		{"lines --max-price 0.001", "", 1, "", "budget_exceeded (-33001)"},
		{"fails", "", 1, "", "why"},
		{"nobody", "", 1, "", "capability_not_found (-33002)"},
		{"waits --timeout 100ms", "", 1, "started\n", "timeout (-33003)"},
		{"", "", 2, "", "invoke needs CAPABILITY"},
		{"lines --timeout 0s", "", 2, "", "--timeout"},
		{"lines --max-price cheap", "", 2, "", "--max-price"},
		{"lines --max-price -1", "", 2, "", "--max-price"},
		{"lines --input @/nonexistent", "", 2, "", "no such file"},
		{"echo --type json --input {", "", 2, "", "not JSON"},
		{"lines --on other", "", 2, "", "--on other"},
		{"lines --input - --input-stream", "", 2, "", "use one"},
		{"lines --nosuch", "", 2, "", "no flag --nosuch"},
		{"lines --read-only", "", 2, "", "--read-only"},
		{"lines --provider q=http://example.com/x", "", 2, "", "https://"},
		{"lines --provider q=stdio:", "", 2, "", "empty"},
		{"lines --provider nonsense", "", 2, "", "NAME=URL"},
		{"lines --provider q=http://me:SECRET123@127.0.0.1/", "", 2, "", "token file"},
	}
	for _, c := range cases {
		t.Run(c.args, func(t *testing.T) {
			args := append([]string{"invoke", "--provider", "p=" + url}, strings.Fields(c.args)...)
			got := runWith(t.Context(), c.stdin, invokeEnv(t), args...)
			if got.code != c.code || got.stdout != c.stdout || !strings.Contains(got.stderr, c.stderr) {
				t.Errorf("code %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
			}
			for _, not := range []string{"SECRET123", "\x1b", "goroutine"} {
				if strings.Contains(got.stdout+got.stderr, not) {
					t.Errorf("output holds %q: %s", not, got.stderr)
				}
			}
			if c.code != 0 && strings.Count(got.stderr, "signalbox: ") != 1 {
				t.Errorf("stderr %q", got.stderr)
			}
		})
	}
}

// Exit 3: nobody there, no ACMP, a refused token; also with --json.
func TestInvokeUnreachable(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&req)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}`, req.ID)
	}))
	defer plain.Close()
	for target, want := range map[string]string{
		"p=http://127.0.0.1:1/mcp":         "connection refused",
		"p=" + plain.URL:                   "no ACMP extension",
		"p=" + servedProvider(t):           "refused the bearer token",
		"p=stdio:/nonexistent/agent --now": "no such file",
	} {
		env := invokeEnv(t)
		env[envBearerToken] = "wrong"
		got := runWith(t.Context(), "", env, "invoke", "lines", "--json", "--provider", target)
		var line struct {
			Event string `json:"event"`
			Local bool   `json:"local"`
		}
		if err := json.Unmarshal([]byte(got.stdout), &line); err != nil || line.Event != "error" || !line.Local {
			t.Errorf("%s: stdout %q", target, got.stdout)
		}
		if got.code != exitUnreachable || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: code %d, stderr %q", target, got.code, got.stderr)
		}
	}
}

// --json: one object a line, each with event, task_id and at_utc, in order.
func TestInvokeJSON(t *testing.T) {
	url := servedProvider(t)
	got := runWith(t.Context(), "", invokeEnv(t), "invoke", "lines", "--json", "--provider", "p="+url, "--max-price", "0.0020")
	if got.code != 0 || got.stderr != "" {
		t.Fatalf("code %d, stderr %q", got.code, got.stderr)
	}
	var kinds, ids []string
	for line := range strings.Lines(got.stdout) {
		var ev map[string]any
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if _, err := time.Parse("2006-01-02T15:04:05.000Z", fmt.Sprint(ev["at_utc"])); err != nil {
			t.Error(err)
		}
		if ev["event"] != "heartbeat" {
			kinds = append(kinds, fmt.Sprint(ev["event"]))
		}
		ids = append(ids, fmt.Sprint(ev["task_id"]))
		switch ev["event"] {
		case "chunk":
			if ev["chunk"].(map[string]any)["type"] != "text" || ev["seq"] == nil || ev["final"] == nil {
				t.Errorf("chunk %s", line)
			}
		case "result":
			if ev["output_streamed"] != true || ev["cost_cu"] != 0.002 || ev["provider_id"] != "agent:test:local" {
				t.Errorf("result %s", line)
			}
		}
		if ids[0] != ids[len(ids)-1] || ids[0] == "" {
			t.Errorf("task ids %v", ids)
		}
	}
	if diff := cmp.Diff([]string{"sent", "chunk", "chunk", "chunk", "chunk", "result"}, kinds); diff != "" {
		t.Error(diff)
	}
	failed := runWith(t.Context(), "", invokeEnv(t), "invoke", "fails", "--json", "--provider", "p="+url)
	lines := strings.Split(strings.TrimSpace(failed.stdout), "\n")
	for _, want := range []string{`"event":"error"`, `"code":-33099`, `"name":"internal"`, `"message":"no\u001b[2J"`, `"local":false`, `"detail":"why"`} {
		if !strings.Contains(lines[len(lines)-1], want) {
			t.Errorf("error lacks %s: %s", want, lines[len(lines)-1])
		}
	}
}

// Several providers: the one that lists the capability, else --on.
func TestInvokeChoosesProvider(t *testing.T) {
	url := servedProvider(t)
	other, err := provider.New(t.Context(), provider.Options{ProviderID: "agent:other:local", Capabilities: capabilities()[1:2]})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(other.Handler())
	defer srv.Close()
	two := []string{"invoke", "--provider", "a=" + url, "--provider", "b=" + srv.URL}
	for args, want := range map[string]ran{
		"lines":       {code: 0, stdout: "line 0"},
		"json":        {code: 2, stderr: "several providers offer"},
		"json --on b": {code: 0, stdout: "{"},
		"nobody":      {code: 2, stderr: "no provider lists"},
	} {
		got := runWith(t.Context(), "", invokeEnv(t), append(two, strings.Fields(args)...)...)
		if got.code != want.code || !strings.Contains(got.stdout, want.stdout) || !strings.Contains(got.stderr, want.stderr) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// Exit 130: the task is cancelled at the provider first.
func TestInvokeInterrupted(t *testing.T) {
	url := servedProvider(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, errOut := &lockedBuffer{}, &lockedBuffer{}
	env := invokeEnv(t)
	done := make(chan int, 1)
	go func() {
		done <- Run(ctx, []string{"invoke", "waits", "--provider", "p=" + url}, Sys{
			Stdin: strings.NewReader(""), Stdout: out, Stderr: errOut, Env: func(k string) string { return env[k] },
		})
	}()
	within10s(t, "the output", func() bool { return out.String() == "started\n" })
	cancel()
	if code := <-done; code != exitInterrupted {
		t.Errorf("code %d", code)
	}
	for _, want := range []string{"cancel requested: interrupted", "cancelled (-33004)"} {
		if !strings.Contains(errOut.String(), want) {
			t.Errorf("stderr lacks %q: %s", want, errOut.String())
		}
	}
}

// B39: kill -9 of the program ends a provider on stdio and its children.
func TestInvokeKilledLeavesNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	pidFile := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(binary(t), "invoke", "x", "--provider", fmt.Sprintf("p=stdio:sh -c 'sleep 1000 & echo $! > %s; wait'", pidFile))
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	within10s(t, "the child to start", func() bool {
		raw, err := os.ReadFile(pidFile)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
		return err == nil && pid > 0
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	within10s(t, "the grandchild to be gone", func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return gone(pid) || strings.Contains(string(stat), ") Z ")
	})
}

// within10s polls until ok.
func within10s(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// The real program on a real signal, with our own provider on stdio; a reader
// that goes away ends the task too.
func TestInvokeBinarySignals(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Parallel()
	bin := binary(t)
	conf := filepath.Join(t.TempDir(), "c.yaml")
	yaml := "provider_id: agent:t:local\ncapabilities:\n  - name: waits\n    command: [sh, -c, 'echo started; sleep 100']\n    input: none\n" +
		"  - name: floods\n    command: [sh, -c, 'while :; do echo line; done']\n    input: none\n"
	if err := os.WriteFile(conf, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(args ...string) (*exec.Cmd, io.ReadCloser, *bytes.Buffer) {
		cmd := exec.CommandContext(t.Context(), bin, append([]string{"invoke", "--timeout", "60s",
			"--provider", fmt.Sprintf("p=stdio:'%s' provide --stdio --config '%s'", bin, conf)}, args...)...)
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
		errOut := &bytes.Buffer{}
		cmd.Stderr = errOut
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, out, errOut
	}
	cmd, out, errOut := start("waits")
	buf := make([]byte, len("started\n"))
	if _, err := io.ReadFull(out, buf); err != nil {
		t.Fatalf("%v: %s", err, errOut)
	}
	_ = cmd.Process.Signal(syscall.SIGINT)
	if code := exitCode(cmd.Wait()); code != exitInterrupted || !strings.Contains(errOut.String(), "cancelled (-33004)") {
		t.Errorf("code %d, stderr %s", code, errOut)
	}
	cmd, out, errOut = start("floods")
	if _, err := io.ReadFull(out, buf); err != nil {
		t.Fatalf("%v: %s", err, errOut)
	}
	out.Close()
	if code := exitCode(cmd.Wait()); code != exitReaderGone || errOut.Len() > 0 {
		t.Errorf("code %d, stderr %s", code, errOut)
	}
}
