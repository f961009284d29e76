package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signalbox/model/acop"
)

// claudeHooks is the form in which Claude Code reads hooks.
type claudeHooks struct {
	Hooks map[string][]struct {
		Matcher string
		Hooks   []struct {
			Type, Command string
			Timeout       float64
		}
	}
}

// TestHooksReportLife runs the very commands that the printed settings hold, in a
// shell as the agent does, and follows what the owner and the lead see.
func TestHooksReportLife(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	r.put("w-1", nil)
	a := r.connect("claude 1", &sdk.CommandTransport{Command: r.command("mcp", "--as", "claude 1")})
	a.must("acop_claim_work_item", `{"work_item_id":"w-1","requested_ttl_seconds":600}`)

	out, err := r.command("hook", "claude", "--as", "claude 1").Output()
	if err != nil {
		t.Fatal(err)
	}
	var settings claudeHooks
	if err := json.Unmarshal(out, &settings); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	fire := func(event, rest string) string {
		t.Helper()
		group := settings.Hooks[event]
		if len(group) != 1 || len(group[0].Hooks) != 1 || group[0].Hooks[0].Type != "command" {
			t.Fatalf("the settings have no hook for %s:\n%s", event, out)
		}
		cmd := shell(group[0].Hooks[0].Command)
		cmd.Env = r.env()
		cmd.Stdin = strings.NewReader(`{"hook_event_name":"` + event + `","session_id":"s","cwd":"/"` + rest + `}`)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", event, err, said.String())
		}
		return said.String()
	}
	if said := fire("PostToolUse", `,"tool_name":"Bash","tool_input":{"command":"cat secret.txt"}`); said != "" {
		t.Errorf("the hook says %q", said)
	}
	l := r.item("w-1").Lease
	if l.LastHeartbeat == nil || l.LastHeartbeat.ProgressStatus != "working" || l.Progress != "used Bash" || l.Renewals != 0 {
		t.Fatalf("after a tool: %+v %+v", l, l.LastHeartbeat)
	}
	fire("PostToolUse", `,"tool_name":"Edit","tool_input":{}`)
	if again := r.item("w-1").Lease; again.Progress != "used Bash" {
		t.Errorf("a second tool within the same seconds was reported: %s", again.Progress)
	}
	a.must("acop_update_claim", `{"claim_id":"`+l.Claim.ClaimID+`","action":"heartbeat","progress_summary":"half of it"}`)
	fire("StopFailure", `,"error":"rate_limit"`)
	if l = r.item("w-1").Lease; l.Contradiction() != "stopped" || l.Progress != "an error ended its turn: rate_limit" {
		t.Errorf("after an error of the model's service: %q %+v", l.Progress, l.LastHeartbeat)
	}
	fire("SessionEnd", `,"reason":"other"`)
	l = r.item("w-1").Lease
	if l.Contradiction() != acop.StatusSessionEnded {
		t.Fatalf("after the session's end: %+v", l.LastHeartbeat)
	}
	if got := a.must("acop_my_claims", `{}`); len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "session_ended") {
		t.Errorf("the holder is not told: %v", got.Warnings)
	}
	lead := "SIGNALBOX_SERVER=" + r.box.url
	s := newScreen(t, 130, 40, []string{"TERM=xterm-256color", "XDG_STATE_HOME=" + r.state, lead, "SIGNALBOX_TOKEN_FILE=" + leadTokenFile(r.box.data)}, binary(t))
	s.waitText("NEEDS YOU (1)", "session_ended")
	s.keys("5")
	s.waitText("agent says session_ended", "item says in_progress")
	s.keys("q")
}

// TestHookNeverStandsInTheWay: whatever goes wrong, the exit code is 0, for an
// agent takes 2 as "block this".
func TestHookNeverStandsInTheWay(t *testing.T) {
	t.Parallel()
	env := map[string]string{"XDG_STATE_HOME": t.TempDir()}
	for _, c := range []struct{ stdin, says string }{
		{"", "no event of a hook"},
		{"{not json", "no event of a hook"},
		{`{"hook_event_name":"PostToolUse","tool_name":"Bash"}`, "no local box is running"},
	} {
		got := runWith(t.Context(), c.stdin, env, "hook", "report", "--as", "claude-01")
		if got.code != 0 || got.stdout != "" || !strings.Contains(got.stderr, c.says) {
			t.Errorf("%q: exit %d, %q, %q", c.stdin, got.code, got.stdout, got.stderr)
		}
	}
}

// TestHookContentsOnlyWhenAsked proves that what a tool was used on stays here.
func TestHookContentsOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	e := hookEvent{Event: "PostToolUse", Tool: "Bash", ToolInput: map[string]any{"command": "cat \x1b[2Jsecret"}}
	if _, s := e.progress(false); s != "used Bash" {
		t.Errorf("without --contents: %q", s)
	}
	if _, s := e.progress(true); !strings.Contains(s, "secret") || strings.Contains(s, "\x1b") {
		t.Errorf("with --contents: %q", s)
	}
	own := hookEvent{Event: "PostToolUse", Tool: "mcp__signalbox__acop_pickup"}
	if status, _ := own.progress(true); status != "" {
		t.Errorf("a call of our own tools is reported as %q", status)
	}
}

// TestAgentConfigs holds the printed blocks to the forms of their readers.
func TestAgentConfigs(t *testing.T) {
	t.Parallel()
	env := map[string]string{"XDG_STATE_HOME": t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"claude", "generic"} {
		got := runWith(t.Context(), "", env, "mcp", "config", kind, "--as", "a-7")
		var c struct {
			MCPServers map[string]struct {
				Command string
				Args    []string
			} `json:"mcpServers"`
		}
		if err := json.Unmarshal([]byte(got.stdout), &c); err != nil || c.MCPServers["signalbox"].Command != self ||
			strings.Join(c.MCPServers["signalbox"].Args, " ") != "mcp --as a-7" {
			t.Errorf("%s: %v\n%s%s", kind, err, got.stdout, got.stderr)
		}
	}
	got := runWith(t.Context(), "", env, "mcp", "config", "codex", "--as", "a-7")
	want := "\n[mcp_servers.signalbox]\ncommand = \"" + self + "\"\nargs = [\"mcp\", \"--as\", \"a-7\"]\n"
	if got.stdout != want {
		t.Errorf("codex:\n%s\nwant\n%s", got.stdout, want)
	}
	hooks := runWith(t.Context(), "", env, "hook", "codex", "--as", "a-7").stdout
	if n := strings.Count(hooks, "[[hooks."); n != 14 || !strings.Contains(hooks, "[[hooks.SessionEnd.hooks]]\ntype = \"command\"\ncommand = ") {
		t.Errorf("codex hooks:\n%s", hooks)
	}
	// They are appended, also to a file without an end of line.
	if all := "model = 1" + got.stdout + hooks; strings.Contains(all, "\n\n\n") || strings.HasSuffix(all, "\n\n") || strings.Count(all, "\n\n[") != 7 ||
		!strings.Contains(all, "model = 1\n[mcp_servers") {
		t.Errorf("appended to each other:\n%s", all)
	}
	token := filepath.Join(t.TempDir(), "token")
	for _, c := range []string{"mcp config claude", "hook claude", "hook codex"} {
		words := append(strings.Fields(c), "--server", "http://127.0.0.1:7180", "--token-file", token)
		got := runWith(t.Context(), "", env, words...)
		if got.code != 0 || !strings.Contains(got.stdout, "http://127.0.0.1:7180") || !strings.Contains(got.stdout, token) || strings.Contains(got.stdout, "--as") {
			t.Errorf("%s for a server elsewhere: exit %d\n%s%s", c, got.code, got.stdout, got.stderr)
		}
	}
	for _, c := range [][]string{
		{"mcp", "config", "codex", "--as", "a\x7f"},
		{"mcp", "config", "codex", "--as", " "},
		{"mcp", "--as", "\u202ea"},
		{"hook", "codex", "--server", "http://127.0.0.1:1", "--token-file", "/tmp/a\x01b"},
	} {
		if got := runWith(t.Context(), "", env, c...); got.code != exitUsage || got.stdout != "" || strings.ContainsAny(got.stderr, "\x01\x7f\u202e") {
			t.Errorf("%q: exit %d, %q, %q", c, got.code, got.stdout, got.stderr)
		}
	}
	for _, c := range []struct{ args, says string }{
		{"mcp config claude --server ftp://x --token-file t", "http"},
		{"hook codex --server http://me:secret@x --token-file t", "password"},
		{"mcp config vim", "claude"},
		{"mcp config", "claude|codex|generic"},
		{"mcp config claude --role lead", "--role must be"},
		{"mcp config claude --server http://127.0.0.1:1", "--token-file is missing"},
		{"mcp config claude", "--as is missing"},
		{"mcp config generic", "--as generic-01"},
		{"hook codex", "--as is missing"},
		{"mcp config codex --as lead-01", "lead-01 is the lead"},
		{"hook claude --as lead-01", "lead-01 is the lead"},
		{"mcp --stale-after 0s --as x", "--stale-after"},
		{"mcp", "--as is missing"},
		{"mcp --as x extra", "extra"},
		{"hook vim", "vim"},
	} {
		got := runWith(t.Context(), "", env, strings.Fields(c.args)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, c.says) {
			t.Errorf("%s: exit %d, %q does not say %q", c.args, got.code, got.stderr, c.says)
		}
	}
}

// TestAgentRegistersItself shows what --as does at the local box: one token, for
// this user alone, used again by the next start, and no way to become the lead.
func TestAgentRegistersItself(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	for range 2 {
		a := r.connect("claude-01", &sdk.CommandTransport{Command: r.command("mcp", "--as", "claude-01")})
		if got := a.must("acop_my_claims", `{}`); got.You != "claude-01" {
			t.Errorf("the owner takes the agent for %q", got.You)
		}
	}
	file := filepath.Join(r.box.data, "agents", "claude-01.token")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the token: %v %v", info, err)
	}
	raw, err := os.ReadFile(filepath.Join(r.box.data, "tokens.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, bytes.TrimSpace(token)) {
		t.Error("the list holds the token itself")
	}
	var list []struct{ Identity, Role string }
	if err := yaml.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range list {
		if e.Identity == "claude-01" && e.Role == "worker" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d credentials for claude-01 in\n%s", n, raw)
	}
	var said bytes.Buffer
	cmd := r.command("mcp", "--as", "lead-01")
	cmd.Stderr = &said
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(said.String(), "lead-01 is a lead") {
		t.Errorf("an agent as lead-01: %v %s", err, said.String())
	}
}

// TestAgentDoesNotRewriteAGivenList: where somebody listed who may come in, an
// agent is told how to get a token and changes nothing.
func TestAgentDoesNotRewriteAGivenList(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "tokens.yaml")
	written := []byte("# ours\n- {identity: lead-01, role: lead, token: only-for-this-test}\n")
	if err := os.WriteFile(list, written, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newAgentRig(t, "--tokens", list)
	var said bytes.Buffer
	cmd := r.command("mcp", "--as", "claude-01")
	cmd.Stderr = &said
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(said.String(), "signalbox token add claude-01 --role worker") {
		t.Errorf("it ends with %v: %s", err, said.String())
	}
	if now, err := os.ReadFile(list); err != nil || !bytes.Equal(now, written) {
		t.Errorf("the list is now\n%s%v", now, err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("only-for-this-test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	said.Reset()
	cmd = r.command("mcp", "--as", "claude-01", "--token-file", file)
	cmd.Stderr = &said
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(said.String(), "the token speaks for lead-01, not for claude-01") {
		t.Errorf("another one's token: %v %s", err, said.String())
	}
}

// TestHooksOfAgentsWithoutANameAreToldApart: with a token of its own an agent needs no
// --as, and its report must not be held back for another's.
func TestHooksOfAgentsWithoutANameAreToldApart(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	for i, who := range []string{"worker-1", "worker-2"} {
		item := fmt.Sprintf("w-%d", i+1)
		r.put(item, nil)
		token := r.token(who, acop.RoleWorker)
		a := r.connect(who, &sdk.StreamableClientTransport{Endpoint: r.mcpURL(), HTTPClient: bearer(token)})
		a.must("acop_claim_work_item", `{"work_item_id":"`+item+`"}`)
		file := filepath.Join(t.TempDir(), who+".token")
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := r.command("hook", "report", "--server", r.box.url, "--token-file", file)
		cmd.Stdin = strings.NewReader(`{"hook_event_name":"PostToolUse","tool_name":"Bash"}`)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%s: %v %s", who, err, out)
		}
		if l := r.item(item).Lease; l.Progress != "used Bash" {
			t.Errorf("the report of %s did not arrive: %+v", who, l)
		}
	}
}
