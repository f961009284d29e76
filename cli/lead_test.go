package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	client "signalbox/client/acop"
	"signalbox/model/acop"
)

// process is the real binary running one of its serving subcommands.
type process struct {
	cmd *exec.Cmd
	url string
}

// startProcess runs the binary and waits for its ready line.
func startProcess(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd}
	t.Cleanup(func() { p.kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("signalbox %s did not get ready: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	var ready struct{ Event, URL string }
	if err := json.Unmarshal([]byte(line), &ready); err != nil || ready.Event != "ready" {
		t.Fatalf("signalbox %s printed %q as its ready line", strings.Join(args, " "), line)
	}
	p.url = ready.URL
	return p
}

// kill ends the process as a power cut would, and waits for it.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	_ = p.cmd.Wait()
}

// leadRig is a box of real processes with a lead at a real terminal: an owner, a
// provider whose commands stream, a worker with its own token, a dashboard.
type leadRig struct {
	t     *testing.T
	dir   string
	owner *process
	// provider serves ticker, which never ends, and echo, which repeats its input.
	provider *process
	worker   *client.Client
	lead     *client.Client
	screen   *screen
}

const (
	rigLeadToken   = "lead-token-of-the-terminal-test"
	rigWorkerToken = "worker-token-of-the-terminal-test"
)

func newLeadRig(t *testing.T, w, h int) *leadRig {
	t.Helper()
	r := newLeadBox(t)
	r.sit(w, h)
	return r
}

// newLeadBox is the box of a leadRig before the dashboard is opened.
func newLeadBox(t *testing.T) *leadRig {
	t.Helper()
	r := &leadRig{t: t, dir: t.TempDir()}
	r.file("tokens.yaml", fmt.Sprintf("- {identity: lead-01, role: lead, token: %s}\n- {identity: worker-1, role: worker, token: %s}\n",
		rigLeadToken, rigWorkerToken))
	r.file("lead.token", rigLeadToken+"\n")
	r.file("capabilities.yaml", `
provider_id: agent:workshop:test
heartbeat_interval_ms: 500
capabilities:
  - name: ticker
    command: ["sh", "-c", "i=0; while :; do i=$((i+1)); echo tick number $i; sleep 0.1; done"]
    input: none
    output: lines
  - name: echo
    command: ["cat"]
    input: stdin
    output: lines
  - name: wrong
    command: ["sh", "-c", "echo halfway; exit 7"]
    input: none
    output: lines
  - name: slow
    command: ["sh", "-c", "echo begun; until [ -e `+r.dir+`/go ]; do sleep 0.1; done; echo all done; touch `+r.dir+`/gone"]
    input: none
    output: lines
`)
	r.startOwner(steadyAddr(r.t))
	r.provider = startProcess(t, nil, "provide", "--config", filepath.Join(r.dir, "capabilities.yaml"))
	r.worker, r.lead = r.client(rigWorkerToken), r.client(rigLeadToken)
	return r
}

// sit opens the dashboard on a terminal of its own.
func (r *leadRig) sit(w, h int) {
	r.t.Helper()
	r.screen = newScreen(r.t, w, h, []string{
		"XDG_STATE_HOME=" + filepath.Join(r.dir, "state"), "XDG_CONFIG_HOME=" + filepath.Join(r.dir, "config"),
		"TERM=xterm-256color",
	}, shellJoin([]string{"sh", "-c", `cd "$0"; stty -g >before; "$@"; code=$?; stty -g >after; echo "exit code $code"; exec cat`,
		r.dir, binary(r.t), "--server", r.owner.url, "--token-file", filepath.Join(r.dir, "lead.token"),
		"--provider", "workshop=" + r.provider.url}))
}

func (r *leadRig) file(name, content string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *leadRig) read(name string) string {
	r.t.Helper()
	raw, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(raw)
}

func (r *leadRig) startOwner(listen string) {
	r.t.Helper()
	r.owner = startProcess(r.t, nil, "serve", "--data", filepath.Join(r.dir, "box"),
		"--tokens", filepath.Join(r.dir, "tokens.yaml"), "--listen", listen)
}

func (r *leadRig) client(token string) *client.Client {
	r.t.Helper()
	c, err := client.New(client.Options{BaseURL: r.owner.url, Token: client.Token(token)})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

func (r *leadRig) do(c *client.Client, act acop.Act) *acop.Receipt {
	r.t.Helper()
	rc, err := c.Do(r.t.Context(), act)
	if err != nil {
		r.t.Fatalf("%s %s%s: %v", act.Verb, act.WorkItemID, act.ClaimID, err)
	}
	return rc
}

func (r *leadRig) put(id, title string, status acop.Status) {
	r.t.Helper()
	r.do(r.lead, acop.Act{Verb: acop.VerbPut, WorkItemID: id, Document: &acop.Document{
		ProtocolVersion: acop.ProtocolVersion,
		WorkItem: acop.WorkItem{
			WorkItemID: id, ProtocolVersion: acop.ProtocolVersion, WorkKind: acop.KindImplement,
			CreatedAtUTC: acop.NewTime(time.Now()), Producer: "lead-01", Status: status,
			Priority: acop.PriorityHigh, ActionabilityScore: 0.9, Title: title,
		},
	}})
}

// claim makes worker-1 hold the item and returns the claim's id.
func (r *leadRig) claim(id string) string {
	r.t.Helper()
	return r.do(r.worker, acop.Act{Verb: acop.VerbClaim, WorkItemID: id, Worker: "worker-1", TTLSeconds: 600, Scope: "all"}).Claim.ClaimID
}

// waitStatus polls the owner until the item has the status.
func (r *leadRig) waitStatus(id string, want acop.Status) {
	r.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		d, err := r.lead.Detail(r.t.Context(), id)
		if err == nil && d.Item.Status() == want {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s is not %s after 20 s (%v); the terminal shows\n%s", id, want, err, r.screen.text())
		}
		time.Sleep(20 * time.Millisecond) // polling the owner, with a deadline
	}
}

// step is one thing the lead does, as a test of its own; the ones after a failed
// step make no sense and are left out.
func (r *leadRig) step(name string, do func()) {
	r.t.Helper()
	whole := r.t
	ok := whole.Run(name, func(t *testing.T) {
		r.t, r.screen.t = t, t
		do()
	})
	r.t, r.screen.t = whole, whole
	if !ok {
		whole.FailNow()
	}
}

// filter narrows the present screen to one item and leaves the cursor on it.
func (r *leadRig) filter(word string) {
	r.t.Helper()
	r.screen.typed("/")
	r.screen.keys("C-u") // away with an earlier filter
	r.screen.typed(word)
	r.screen.keys("Enter")
}

// TestLeadAtARealTerminal is one sitting of a lead at the real binary on a real
// terminal, with real processes behind it: see
// a task stream, cancel it, revoke a claim, accept an item, decide one, live
// through the loss of the owner, leave with the terminal as it was.
func TestLeadAtARealTerminal(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	r := newLeadRig(t, 120, 36)
	s := r.screen
	r.put("work:auth:rotate", "Rotate the signing keys", acop.StatusRequiresAttention)
	r.put("work:db:index", "Index the audit table", acop.StatusReady)
	r.put("work:ui:table", "Columns that line up", acop.StatusReady)
	claim := r.claim("work:db:index")
	r.do(r.worker, acop.Act{Verb: acop.VerbComplete, ClaimID: claim, Evidence: &acop.CompletionEvidence{ArtifactIDs: []string{"artifact:index"}}})
	r.claim("work:ui:table")
	s.waitText("NEEDS YOU (2)", "lead-01", "decide", "accept")

	r.step("see a task stream, then cancel it", func() {
		s.keys("i")
		s.waitText("Invoke", "ticker")
		s.keys("Enter", "Enter")
		s.keys("3")
		s.waitText("ticker", "running", "tick number 3")
		s.keys("x")
		s.waitText("Cancel")
		s.typed("seen enough")
		s.keys("Enter", "y")
		s.waitText("cancelled")
	})
	r.step("revoke a claim", func() {
		s.keys("2")
		r.filter("table")
		s.keys("r")
		s.waitText("Revoke work:ui:table", "worker-1")
		s.typed("needed elsewhere")
		s.keys("Enter")
		r.waitStatus("work:ui:table", acop.StatusReady)
	})
	r.step("accept on evidence", func() {
		r.filter("index")
		s.keys("a")
		s.waitText("Accept work:db:index", "artifact:index", "worker-1")
		s.keys("y")
		r.waitStatus("work:db:index", acop.StatusAccepted)
	})
	r.step("decide what requires attention", func() {
		r.filter("rotate")
		s.keys("d")
		s.waitText("Decide work:auth:rotate")
		s.keys("Enter")
		r.waitStatus("work:auth:rotate", acop.StatusReady)
	})
	r.step("live through the loss of the owner", func() {
		listen := strings.TrimSuffix(strings.TrimPrefix(r.owner.url, "http://"), "/acop/v1/")
		r.owner.kill()
		s.waitText("as of")
		r.startOwner(listen)
		s.waitFor("the link to be well again", func(shown string) bool { return !strings.Contains(shown, "as of") })
		r.put("work:after:restart", "Put after the restart", acop.StatusReady)
		r.filter("restart")
		s.waitText("Put after the restart")
	})
	r.step("leave with the terminal as it was", func() {
		s.keys("q")
		s.waitText("exit code 0")
		if modes := s.modes(); modes != "0 1 0" {
			r.t.Errorf("the terminal was left as %q (alternate screen, cursor, mouse), want \"0 1 0\"", modes)
		}
		before, after := r.read("before"), r.read("after")
		if before == "" || before != after {
			r.t.Errorf("the line settings were %q before and are %q after", before, after)
		}
	})
}
