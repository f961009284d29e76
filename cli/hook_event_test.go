package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signalbox/model/acop"
)

// The events below have the fields, and their order, of Claude Code 2.1.197 and Codex
// 0.171.0; <event> stands for what both have before them.
func TestEventsOfTheAgents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, event, rest, status, summary string }{
		{"start", "SessionStart", `"source":"startup"`, "session_started", ""},
		{"start of codex", "SessionStart", `"model":"gpt-5","permission_mode":"default","source":"startup"`, "session_started", ""},
		{"after a compaction the session goes on", "SessionStart", `"source":"compact"`, "working", ""},
		{"prompt", "UserPromptSubmit", `"prompt":"the password is hunter2"`, "working", ""},
		{"tool", "PostToolUse", `"tool_name":"Bash","tool_input":{"command":"cat hunter2"},"tool_response":{"stdout":"hi","stderr":"","interrupted":false},"duration_ms":121`, "working", "used Bash"},
		{"tool of codex", "PostToolUse", `"tool_name":"Bash","tool_input":{"command":"cat hunter2"},"tool_response":"hi\n","tool_use_id":"call_2_0"`, "working", "used Bash"},
		{"tool that failed", "PostToolUseFailure", `"tool_name":"Bash","tool_input":{"command":"exit 3"},"error":"Exit code 3 hunter2","is_interrupt":false`, "working", "used Bash"},
		{"tool that the user stopped", "PostToolUseFailure", `"tool_name":"Bash","tool_input":{},"error":"interrupted","is_interrupt":true`, "waiting for its user", ""},
		{"our own tool", "PostToolUse", `"tool_name":"mcp__signalbox__acop_pickup","tool_input":{}`, "", ""},
		{"permission", "PermissionRequest", `"tool_name":"Bash","tool_input":{"command":"cat hunter2"}`, "waiting for its user", ""},
		{"notification", "Notification", `"message":"hunter2","notification_type":"permission_prompt"`, "waiting for its user", ""},
		{"notification of a login", "Notification", `"message":"hunter2","notification_type":"auth_success"`, "", ""},
		{"interrupt", "Interrupt", `"turn_id":"1"`, "waiting for its user", ""},
		{"stop", "Stop", `"stop_hook_active":false,"last_assistant_message":"hunter2","background_tasks":[]`, "idle", ""},
		{"stop with a command that runs on", "Stop", `"stop_hook_active":false,"background_tasks":[{"id":"b","type":"shell","status":"running","command":"cat hunter2"}]`, "working", ""},
		{"stop by an error", "StopFailure", `"error":"rate_limit","error_details":"hunter2"`, "stopped", "an error ended its turn: rate_limit"},
		{"stop by an error in words", "StopFailure", `"error":"key hunter2 is not valid"`, "stopped", "an error ended its turn"},
		{"end", "SessionEnd", `"reason":"other"`, "session_ended", ""},
		{"an event of tomorrow", "Tomorrow", `"tool_name":{"not":"a string"},"error":7`, "", ""},
	} {
		raw := `{"session_id":"s","transcript_path":"/home/me/t.jsonl","cwd":"/","hook_event_name":"` + c.event + `",` + c.rest + `}`
		e, err := readHookEvent(strings.NewReader(raw))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if status, summary := e.progress(false); status != c.status || summary != c.summary {
			t.Errorf("%s: %q %q, want %q %q", c.name, status, summary, c.status, c.summary)
		}
	}
}

// TestHookReadsLongEvents: what a tool was given and what it answered may be of any
// length, and the name of the event comes before it.
func TestHookReadsLongEvents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*maxHookEvent)
	answered := strings.NewReader(`{"hook_event_name":"PostToolUse","tool_name":"Read","tool_input":{"file_path":"/a"},"tool_response":"` + long + `"}`)
	e, err := readHookEvent(answered)
	if err != nil || e.Tool != "Read" || e.used() != "/a" || answered.Len() != 0 {
		t.Errorf("a long answer: %v %q %q, %d bytes are left to its sender", err, e.Tool, e.used(), answered.Len())
	}
	given := strings.NewReader(`{"hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{"content":"` + long + `"}}`)
	if e, err = readHookEvent(given); err != nil || e.Tool != "Write" || e.used() != "" || given.Len() != 0 {
		t.Errorf("a long input: %v %+v", err, e)
	}
	if _, err = readHookEvent(strings.NewReader(`{"tool_response":"` + long + `","hook_event_name":"Stop"}`)); err == nil || !strings.Contains(err.Error(), "longer than 4 MiB") {
		t.Errorf("a long head: %v", err)
	}
	for _, none := range []string{`{"hook_event_name":"Stop"`, `["Stop"]`, `{"cwd":"/"}`, `{"hook_event_name":7}`, "\x00"} {
		if _, err := readHookEvent(strings.NewReader(none)); err == nil {
			t.Errorf("%q is taken for an event", none)
		}
	}
}

// TestHookWaitsForNobody leaves stdin open, without an event and with half of one: the
// hook ends by itself, with exit code 0 and one line.
func TestHookWaitsForNobody(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	r := &agentRig{t: t, state: t.TempDir()}
	for _, half := range []string{"", `{"hook_event_name":"Stop",`} {
		cmd := r.command("hook", "report", "--as", "claude-01")
		in, err := cmd.StdinPipe() // stays open
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(in, half); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		if err := cmd.Wait(); err != nil || !strings.Contains(said.String(), "did not come whole") || strings.Count(said.String(), "\n") != 1 {
			t.Errorf("with %q on an open stdin: %v %q", half, err, said.String())
		}
	}
}

// TestHookBlocksNothing: an agent takes exit code 2 as "block this", so that not even a
// command line that this program does not know may end with it.
func TestHookBlocksNothing(t *testing.T) {
	t.Parallel()
	env := map[string]string{"XDG_STATE_HOME": t.TempDir()}
	for _, args := range []string{
		"hook report --flag-of-tomorrow", "hook report --as", "hook report --as lead\u202e", "hook report extra", "hook report --read-only",
		"hook report --role lead --as x", "hook report --contents=perhaps", "hook report --server ftp://x --token-file t", "hook report --server http://127.0.0.1:1",
		"hook report --server http://127.0.0.1:1 --token-file /nowhere", "hook report",
	} {
		got := runWith(t.Context(), `{"hook_event_name":"Stop"}`, env, strings.Fields(args)...)
		if got.code != 0 || got.stdout != "" || !strings.HasPrefix(got.stderr, "signalbox: not reported: ") || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q, %q", args, got.code, got.stdout, got.stderr)
		}
	}
}

// TestHookWithoutAHome reports where nothing can be written: without its memory of the
// last report it reports each time.
func TestHookWithoutAHome(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	r.put("w-1", nil)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(r.token("claude-01", acop.RoleWorker)), 0o600); err != nil {
		t.Fatal(err)
	}
	a := r.connect("claude-01", &sdk.CommandTransport{Command: r.command("mcp", "--as", "claude-01", "--server", r.box.url, "--token-file", token)})
	a.must("acop_claim_work_item", `{"work_item_id":"w-1"}`)
	for _, tool := range []string{"Bash", "Edit"} {
		cmd := r.command("hook", "report", "--server", r.box.url, "--token-file", token)
		cmd.Env = append(cmd.Env, "XDG_STATE_HOME=/dev/null/none", "HOME=/dev/null/none") // no user can write there, not even root
		cmd.Stdin = strings.NewReader(`{"hook_event_name":"PostToolUse","tool_name":"` + tool + `"}`)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v %s", tool, err, out)
		}
		if l := r.item("w-1").Lease; l.Progress != "used "+tool {
			t.Errorf("%s is not reported: %+v", tool, l)
		}
	}
}

// TestHooksOfManyToolsAtOnce: twenty tools that end together, as of an agent that asks
// for them in one turn, are one heartbeat in the log.
func TestHooksOfManyToolsAtOnce(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	r := newAgentRig(t)
	r.put("w-1", nil)
	a := r.connect("claude-01", &sdk.CommandTransport{Command: r.command("mcp", "--as", "claude-01")})
	a.must("acop_claim_work_item", `{"work_item_id":"w-1"}`)
	before := r.item("w-1").Revision
	began := time.Now()
	var all sync.WaitGroup
	for i := range 20 {
		event := []string{"PostToolUse", "PostToolUseFailure"}[i%2]
		all.Go(func() {
			cmd := r.command("hook", "report", "--as", "claude-01")
			cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"hook_event_name":%q,"tool_name":"Tool%d"}`, event, i))
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("hook %d: %v %s", i, err, out)
			}
		})
	}
	all.Wait()
	beats := r.item("w-1").Revision - before
	if took := time.Since(began); took > hookEvery-time.Second {
		t.Skipf("the machine is too busy: 20 hooks took %s", took)
	}
	if beats != 1 {
		t.Errorf("20 hooks made %d heartbeats", beats)
	}
}

// TestHookOfACancelledItem: an item that the lead takes away under its holder is no
// fault of the hook, which says nothing.
func TestHookOfACancelledItem(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	r.put("w-1", nil)
	a := r.connect("claude-01", &sdk.CommandTransport{Command: r.command("mcp", "--as", "claude-01")})
	a.must("acop_claim_work_item", `{"work_item_id":"w-1"}`)
	r.asLead("POST", "work-items/w-1/cancel", map[string]any{"reason": "not needed"})
	cmd := r.command("hook", "report", "--as", "claude-01")
	cmd.Stdin = strings.NewReader(`{"hook_event_name":"PostToolUse","tool_name":"Bash"}`)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v %s", err, out)
	}
	if got := a.must("acop_my_claims", `{}`); len(got.Claims) != 0 || len(got.Lost) != 1 || !strings.Contains(got.Lost[0].Reason, "not needed") {
		t.Errorf("the agent reads: %s", got.text)
	}
}

// TestConfigTellsBeforehand: a block that would be refused at the agent's first use is
// not printed, and one that works there holds all that it needs.
func TestConfigTellsBeforehand(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	r.token("watcher", acop.RoleReader)
	for _, words := range []string{"mcp config claude --as watcher", "mcp config codex --as lead-01", "hook codex --as watcher", "mcp config generic --as lead-01 --role reader"} {
		var said bytes.Buffer
		cmd := r.command(strings.Fields(words)...)
		cmd.Stderr = &said
		if out, _ := cmd.Output(); cmd.ProcessState.ExitCode() != exitUsage || len(out) > 0 || !strings.Contains(said.String(), "another name") {
			t.Errorf("%s: exit %d %s %s", words, cmd.ProcessState.ExitCode(), out, said.String())
		}
	}
	if out, err := r.command("mcp", "config", "codex", "--as", "watcher", "--role", "reader").Output(); err != nil || !bytes.Contains(out, []byte(`"--role", "reader"`)) {
		t.Errorf("the role that it has: %v %s", err, out)
	}
	others := filepath.Join(t.TempDir(), "owl.token")
	if err := os.WriteFile(others, []byte(r.token("owl", acop.RoleWorker)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"mcp config claude --as jay", "hook codex --as jay"} {
		got := runWith(t.Context(), "", map[string]string{"XDG_STATE_HOME": t.TempDir()}, append(strings.Fields(words), "--server", r.box.url, "--token-file", others)...)
		if got.code != exitUsage || got.stdout != "" || !strings.Contains(got.stderr, "speaks for owl, not for jay") {
			t.Errorf("%s with the token of owl: exit %d %s%s", words, got.code, got.stdout, got.stderr)
		}
	}
	token := filepath.Join(t.TempDir(), "token")
	env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "ACOP_BACKEND_BASE_URI": "http://127.0.0.1:7180", "SIGNALBOX_TOKEN_FILE": token}
	for _, words := range []string{"mcp config claude", "hook codex"} {
		got := runWith(t.Context(), "", env, strings.Fields(words)...)
		if got.code != 0 || !strings.Contains(got.stdout, "http://127.0.0.1:7180") || !strings.Contains(got.stdout, token) {
			t.Errorf("%s with ACOP_BACKEND_BASE_URI: exit %d %s%s", words, got.code, got.stdout, got.stderr)
		}
	}
	// The local box with a token of one's own.
	delete(env, "ACOP_BACKEND_BASE_URI")
	if got := runWith(t.Context(), "", env, "mcp", "config", "codex"); got.code != 0 || !strings.Contains(got.stdout, token) || strings.Contains(got.stdout, "--server") {
		t.Errorf("with a token file alone: exit %d %s%s", got.code, got.stdout, got.stderr)
	}
}

// TestConfigOfABoxWithAGivenList: the box lets in only whom its list names, and the
// block says so beforehand.
func TestConfigOfABoxWithAGivenList(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(list, []byte("- {identity: lead-01, role: lead, token: only-for-this-test}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newAgentRig(t, "--tokens", list)
	var said bytes.Buffer
	cmd := r.command("mcp", "config", "claude", "--as", "claude-01")
	cmd.Stderr = &said
	if out, _ := cmd.Output(); cmd.ProcessState.ExitCode() != exitUsage || len(out) > 0 || !strings.Contains(said.String(), "signalbox token add claude-01") {
		t.Errorf("exit %d %s %s", cmd.ProcessState.ExitCode(), out, said.String())
	}
}

// TestConfigNamesTheProgramInPATH: a path of one version would end with its update.
func TestConfigNamesTheProgramInPATH(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	linked := filepath.Join(dir, "signalbox")
	if err := os.Symlink(binary(t), linked); err != nil {
		t.Fatal(err)
	}
	r := &agentRig{t: t, state: t.TempDir()}
	cmd := shell("signalbox mcp config generic --as a-1")
	cmd.Env = append(r.env(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.Output(); err != nil || !bytes.Contains(out, []byte(`"command": "`+linked+`"`)) {
		t.Errorf("%v %s", err, out)
	}
}

// TestAgentLosesItsToken takes the token of an agent away in the midst of its session:
// its calls are refused with a remedy, and the hook says one line.
func TestAgentLosesItsToken(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	r := newAgentRig(t)
	r.put("w-1", nil)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(r.token("claude-01", acop.RoleWorker)), 0o600); err != nil {
		t.Fatal(err)
	}
	given := []string{"--server", r.box.url, "--token-file", token}
	a := r.connect("claude-01", &sdk.CommandTransport{Command: r.command(append([]string{"mcp"}, given...)...)})
	a.must("acop_claim_work_item", `{"work_item_id":"w-1"}`)
	if out, err := r.command("token", "revoke", "claude-01").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	waitFor(t, "the owner to take it over", func() bool { return a.try("acop_my_claims", `{}`).isError })
	if got := a.try("acop_pickup", `{}`); got.Error == nil || got.Error.Code != acop.CodeUnauthenticated || got.Error.Next == "" {
		t.Errorf("the agent reads: %s", got.text)
	}
	cmd := r.command(append([]string{"hook", "report"}, given...)...)
	cmd.Stdin = strings.NewReader(`{"hook_event_name":"Stop"}`)
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.HasPrefix(out, []byte("signalbox: not reported: ")) || bytes.Count(out, []byte("\n")) != 1 {
		t.Errorf("the hook: %v %s", err, out)
	}
}

// TestRevokedAgentStaysOut takes the token away of an agent that registered itself: in
// its session and by a new start it does not come in again before somebody who may
// lets it, and a crash in the midst of a registration is not taken for that.
func TestRevokedAgentStaysOut(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	a := r.connect("claude-01", &sdk.CommandTransport{Command: r.command("mcp", "--as", "claude-01")})
	a.must("acop_my_claims", `{}`)
	if out, err := r.command("token", "revoke", "claude-01").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	waitFor(t, "the owner to take it over", func() bool { return a.try("acop_my_claims", `{}`).isError })
	file := filepath.Join(r.box.data, "agents", "claude-01.token")
	if got := a.try("acop_pickup", `{}`); got.Error == nil || got.Error.Code != acop.CodeUnauthenticated || !strings.Contains(got.text, file) {
		t.Errorf("the agent reads: %s", got.text)
	}
	says := func(words ...string) (int, string) {
		cmd := r.command(words...)
		cmd.Stdin = strings.NewReader(`{"hook_event_name":"Stop"}`)
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	if code, said := says("hook", "report", "--as", "claude-01"); code != 0 || !strings.Contains(said, "was taken away") || strings.Count(said, "\n") != 1 {
		t.Errorf("the hook: exit %d %s", code, said)
	}
	if code, said := says("mcp", "--as", "claude-01"); code != exitUsage || !strings.Contains(said, file) {
		t.Errorf("a new start: exit %d %s", code, said)
	}
	if err := os.Rename(file, file+".new"); err != nil { // as a crash leaves it
		t.Fatal(err)
	}
	if got := a.must("acop_my_claims", `{}`); got.You != "claude-01" {
		t.Errorf("let in again: %s", got.text)
	}
	if _, err := os.Lstat(file + ".new"); err == nil {
		t.Error("the token's first name is left behind")
	}
}

// TestTwoAgentsOfOneName share their claims, as the documentation says: neither fails,
// and each sees what the other took.
func TestTwoAgentsOfOneName(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	r.put("w-1", nil)
	r.put("w-2", nil)
	one := r.connect("claude-01", &sdk.CommandTransport{Command: r.command("mcp", "--as", "claude-01")})
	two := r.connect("claude-01", &sdk.CommandTransport{Command: r.command("mcp", "--as", "claude-01")})
	one.must("acop_claim_work_item", `{"work_item_id":"w-1"}`)
	two.must("acop_claim_work_item", `{"work_item_id":"w-2"}`)
	for _, a := range []*agent{one, two} {
		if got := a.must("acop_my_claims", `{}`); len(got.Claims) != 2 {
			t.Errorf("one of the two sees %s", got.text)
		}
	}
	if got := two.try("acop_claim_work_item", `{"work_item_id":"w-1"}`); !got.isError || !strings.Contains(got.text, "claim_conflict") {
		t.Errorf("what the other one has: %s", got.text)
	}
}
