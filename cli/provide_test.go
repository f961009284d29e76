package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// provided is a running `signalbox provide`.
type provided struct {
	cmd    *exec.Cmd
	url    string
	log    lockedBuffer
	client *http.Client
	rest   chan string // what stdout holds behind the ready line, once it ended
}

const capabilitiesYAML = `provider_id: agent:test:here
heartbeat_interval_ms: 200
capabilities:
  - name: cat
    command: [cat]
  - name: family
    command: [sh, -c, "sh -c 'echo $$; exec sleep 311' & echo $$; wait"]
  - name: short
    command: [sh, -c, "echo begun; sleep 0.5; echo done"]
`

func provideFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func startProvide(t *testing.T, args ...string) *provided {
	t.Helper()
	return startProvideWith(t, provideFile(t, "caps.yaml", capabilitiesYAML), args...)
}

func startProvideWith(t *testing.T, config string, args ...string) *provided {
	t.Helper()
	p := &provided{rest: make(chan string, 1), client: http.DefaultClient}
	args = append([]string{"provide", "--config", config}, args...)
	p.cmd = exec.Command(binary(t), args...)
	p.cmd.Stderr = &p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() }) // it may have ended long ago
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	if err != nil {
		_ = p.cmd.Wait()
		t.Fatalf("no ready line: %v: %s", err, p.log.String())
	}
	var ready struct{ Event, URL string }
	if err := json.Unmarshal([]byte(line), &ready); err != nil || ready.Event != "ready" || !strings.HasSuffix(ready.URL, "/mcp") {
		t.Fatalf("ready line %q", line)
	}
	p.url = ready.URL
	go func() {
		rest, _ := io.ReadAll(r)
		p.rest <- string(rest)
	}()
	return p
}

func (p *provided) post(t *testing.T, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", "2026-07-28")
	req.Header.Set("Mcp-Method", "acmp/invoke")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := p.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func rawInvoke(task, capability string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"acmp/invoke","params":{"task_id":"` + task + `","capability":"` + capability +
		`","input":{"type":"text","data":"hello"},"stream":true,"timeout_ms":60000,` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
}

// chunkTexts reads text chunks from an SSE body until n have come or it ends.
func chunkTexts(t *testing.T, body io.Reader, n int) (texts []string, rest *bufio.Reader) {
	t.Helper()
	r := bufio.NewReader(body)
	for len(texts) < n {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream ended after %q", texts)
		}
		var m struct {
			Params struct{ Chunk struct{ Data string } }
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if ok && json.Unmarshal([]byte(data), &m) == nil && m.Params.Chunk.Data != "" {
			texts = append(texts, m.Params.Chunk.Data)
		}
	}
	return texts, r
}

// SIGTERM lets what runs finish, and exits 0 with nothing but the ready line on
// stdout. Where nothing is said, only this machine can reach it.
func TestProvideEndsInGoodOrder(t *testing.T) {
	p := startProvide(t)
	if !strings.HasPrefix(p.url, "http://127.0.0.1:") {
		t.Errorf("it listens on %s", p.url)
	}
	res := p.post(t, rawInvoke("task_short", "short"))
	_, r := chunkTexts(t, res.Body, 1)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	end, err := io.ReadAll(r)
	if err != nil || !strings.Contains(string(end), `"done\n"`) || !strings.Contains(string(end), `"output_streamed":true`) {
		t.Errorf("the running task did not finish: %v: %s", err, end)
	}
	if rest := <-p.rest; rest != "" {
		t.Errorf("on stdout behind the ready line: %q", rest)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, p.log.String())
	}
}

// B105: --tokens, opaque, on HTTP and on stdio.
func TestProvideTokens(t *testing.T) {
	tokens := provideFile(t, "tokens.yaml", "- identity: alice\n  role: worker\n  token: SECRET123-SECRET123\n")
	p := startProvide(t, "--tokens", tokens)
	for header, status := range map[string]int{"": 401, "Bearer nope": 401, "Bearer SECRET123-SECRET123": 200} {
		if res := p.post(t, rawInvoke("task_"+strconv.Itoa(len(header)), "cat"), "Authorization", header); res.StatusCode != status {
			t.Errorf("%q: status %d", header, res.StatusCode)
		}
	}
	if strings.Contains(p.log.String(), "SECRET") {
		t.Error("a token is in the log")
	}
	// D-20: on stdio the environment must hold one of them.
	cmd := exec.Command(binary(t), "provide", "--stdio", "--tokens", tokens, "--config", provideFile(t, "caps.yaml", capabilitiesYAML))
	cmd.Env = append(os.Environ(), "ACMP_BEARER_TOKEN=wrong")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), "ACMP_BEARER_TOKEN") {
		t.Errorf("wrong token: %v: %s", err, out)
	}
	cmd = exec.Command(binary(t), "provide", "--stdio", "--tokens", tokens, "--config", provideFile(t, "caps.yaml", capabilitiesYAML))
	cmd.Env = append(os.Environ(), "ACMP_BEARER_TOKEN=SECRET123-SECRET123")
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 { // empty stdin: its end
		t.Errorf("right token: %v: %s", err, out)
	}
}

// B39: after kill -9 nothing of the command is left within 5 s.
func TestProvideKilledLeavesNoOrphan(t *testing.T) {
	p := startProvide(t)
	res := p.post(t, rawInvoke("task_family", "family"))
	texts, _ := chunkTexts(t, res.Body, 2)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait() // killed
	end := time.Now().Add(5 * time.Second)
	for _, s := range texts {
		pid, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil {
			t.Fatalf("no pid: %q", s)
		}
		for processRuns(pid) {
			if time.Now().After(end) {
				t.Fatalf("process %d lives on", pid)
			}
			<-time.After(10 * time.Millisecond)
		}
	}
}

// processRuns reports whether pid is a process that is not just waiting to be
// reaped.
func processRuns(pid int) bool {
	if gone(pid) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// Every wrong start is one line and exit code 2.
func TestProvideRefusals(t *testing.T) {
	good := provideFile(t, "caps.yaml", capabilitiesYAML)
	bad := provideFile(t, "bad.yaml", "capabilities:\n  - name: x\n    comand: [cat]\n")
	badTokens := provideFile(t, "tokens.yaml", "- identity: alice\n  role: worker\n  tokn: SECRET123\n")
	goodTokens := provideFile(t, "good.yaml", "- identity: alice\n  role: worker\n  token: SECRET123-SECRET123\n")
	deep := provideFile(t, "deep.yaml", strings.Repeat("[", 100_000))
	missing := provideFile(t, "missing.yaml", "capabilities:\n  - name: x\n    command: [/nonexistent/cmd]\n")
	numbers := provideFile(t, "numbers.yaml", "capabilities:\n  - name: x\n    command: [\"echo\", 5, null]\n")
	control := provideFile(t, "control.yaml", "capabilities:\n  - name: \"a\\eb\"\n    command: [cat]\n")
	for _, tc := range []struct {
		args []string
		says string
	}{
		{[]string{}, "--config"},
		{[]string{"--config", "/no/such/file"}, "/no/such/file"},
		{[]string{"--config", bad}, bad + `:3: a capability has no key "comand"; did you mean "command"?`},
		{[]string{"--config", good, "--listen", "0.0.0.0:0"}, "tokens"},
		{[]string{"--config", good, "--listen", "nowhere"}, "nowhere"},
		{[]string{"--config", good, "--listen", "0.0.0.0:0", "--tokens", goodTokens}, "--tls-cert"},
		{[]string{"--config", good, "--tls-cert", "/no/such/cert.pem"}, "key"},
		{[]string{"--config", good, "--client-ca", "/no/such/ca.pem"}, "certificate"},
		{[]string{"--config", good, "--tls-cert", "/no/such/cert.pem", "--tls-key", "/no/such/key.pem"}, "/no/such/cert.pem"},
		{[]string{"--config", good, "--tokens", badTokens}, badTokens + ":"},
		{[]string{"--config", good, "--tokens", deep}, deep + ":1: this is nested deeper"},
		{[]string{"--config", deep}, deep + ":1: this is nested deeper"},
		{[]string{"--config", missing}, missing + ":3: the program"},
		{[]string{"--config", numbers}, numbers + ":3: word 2 of command is 5"},
		{[]string{"--config", control}, control + `:2: name "a\x1bb" is not a name`},
		{[]string{"--config", good, "--nope"}, "--nope"},
		{[]string{"--config", good, "extra"}, "extra"},
	} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), append([]string{"provide"}, tc.args...), Sys{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Env: func(string) string { return "" }})
		text := errs.String()
		if code != exitUsage || strings.Count(text, "\n") != 1 || !strings.Contains(text, tc.says) || out.Len() > 0 || strings.Contains(text, "SECRET") || strings.Contains(text, "\x1b") {
			t.Errorf("%v: code %d, stdout %q, stderr %q", tc.args, code, out.String(), text)
		}
	}
}

// The address is checked, and taken, before anything is on disk; what is wrong with
// it is told in words, with what to do.
func TestProvideTakesTheAddressFirst(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	config := provideFile(t, "caps.yaml", capabilitiesYAML)
	for _, tc := range []struct {
		args []string
		says string
	}{
		{[]string{"--listen", "nowhere"}, "nowhere is no address to listen on; give HOST:PORT"},
		{[]string{"--listen", "127.0.0.1:99999"}, "the port must be a number from 0 to 65535"},
		{[]string{"--listen", "\x1b[2J"}, "is no address to listen on"},
		{[]string{"--listen", "203.0.113.7:7190", "--insecure-http", "--tokens", provideFile(t, "tokens.yaml", "- {identity: a, role: worker, token: SECRET123-SECRET123}\n")}, "this machine does not have that address"},
		{[]string{"--listen", "0.0.0.0:0"}, "can be reached from other machines, and no --tokens are given"},
		{[]string{"--listen", taken.Addr().String()}, "another program does; give another --listen"},
		{[]string{"--listen", "127.0.0.1:99999", "--print-descriptor"}, "the port must be a number from 0 to 65535"},
	} {
		data := filepath.Join(t.TempDir(), "outcomes")
		got := runWith(t.Context(), "", map[string]string{}, append([]string{"provide", "--config", config, "--data", data}, tc.args...)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, tc.says) || strings.Count(got.stderr, "\n") != 1 || strings.ContainsRune(got.stderr, '\x1b') || got.stdout != "" {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", tc.args, got.code, got.stdout, got.stderr)
		}
		if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q left %s behind", tc.args, data)
		}
	}
}

// the descriptor is the declaration that server/discover shows, byte for byte
// what a running provider with the same flags says; nothing is made on disk.
func TestProvideDescriptor(t *testing.T) {
	config, data := provideFile(t, "caps.yaml", capabilitiesYAML), filepath.Join(t.TempDir(), "outcomes")
	type descriptor struct {
		Endpoint   string
		ProviderID string `json:"provider_id"`
		ACMP       json.RawMessage
	}
	describe := func(args ...string) (d descriptor) {
		t.Helper()
		got := runWith(t.Context(), "", map[string]string{}, append([]string{"provide", "--config", config, "--data", data, "--print-descriptor"}, args...)...)
		if err := json.Unmarshal([]byte(got.stdout), &d); err != nil || got.code != 0 || got.stderr != "" || d.ProviderID != "agent:test:here" {
			t.Errorf("%v: code %d: %v: %s%s", args, got.code, err, got.stdout, got.stderr)
		}
		return d
	}
	for endpoint, args := range map[string][]string{
		"http://127.0.0.1:4000/mcp": {"--listen", "127.0.0.1:4000"},
		"stdio":                     {"--stdio"},
	} {
		if d := describe(args...); d.Endpoint != endpoint {
			t.Errorf("%v: endpoint %q", args, d.Endpoint)
		}
	}
	for _, unknown := range []string{"127.0.0.1:0", ":7190", "0.0.0.0:7190"} { // no address that a buyer could call
		if d := describe("--listen", unknown); d.Endpoint != "" {
			t.Errorf("%s: endpoint %q", unknown, d.Endpoint)
		}
	}
	told := describe()
	if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s was made", data)
	}
	p := startProvideWith(t, config, "--data", data)
	body := bodyOf(t, p.post(t, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, "Mcp-Method", "server/discover"))
	var want bytes.Buffer
	if err := json.Compact(&want, told.ACMP); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(body, want.String()) || !strings.Contains(body, `"task_memory":true`) {
		t.Errorf("described %s\nserved %s", want.String(), body)
	}
}
