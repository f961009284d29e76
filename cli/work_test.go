package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"signalbox/model/acop"
)

// workRig is a real owner on a real socket and the command line in front of it.
type workRig struct {
	t    *testing.T
	box  *ownerBox
	lead string // token file
}

func newWorkRig(t *testing.T) *workRig {
	t.Helper()
	box, err := openOwner(t.Context(), ownerOptions{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Errorf("close the owner: %v", err)
		}
	})
	return &workRig{t: t, box: box, lead: leadTokenFile(box.Data)}
}

// as writes a token file for another identity.
func (r *workRig) as(identity string, role acop.Role) string {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(r.box.AddToken(identity, role)+"\n"), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

type ran struct {
	code           int
	stdout, stderr string
}

func runWith(ctx context.Context, stdin string, env map[string]string, args ...string) ran {
	var out, errOut bytes.Buffer
	code := Run(ctx, args, Sys{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errOut,
		Env: func(k string) string { return env[k] },
	})
	return ran{code, out.String(), errOut.String()}
}

// work runs `signalbox work args...` as the lead.
func (r *workRig) work(stdin string, args ...string) ran {
	r.t.Helper()
	return runWith(r.t.Context(), stdin, map[string]string{"XDG_STATE_HOME": r.t.TempDir()},
		append([]string{"work", "--server", r.box.URL, "--token-file", r.lead}, args...)...)
}

// must runs and demands success.
func (r *workRig) must(stdin string, args ...string) string {
	r.t.Helper()
	got := r.work(stdin, args...)
	if got.code != exitOK || got.stderr != "" {
		r.t.Fatalf("work %v: exit %d\nstdout: %s\nstderr: %s", args, got.code, got.stdout, got.stderr)
	}
	return got.stdout
}

const workDocs = `
work_item:
  work_item_id: work:shop/checkout
  work_kind: implement
  title: "Charge cards once \e[31m"
  owned_paths: [pay/**]
validation_requirements:
  - {requirement_id: r1, kind: test, summary: pay tests pass}
---
work_item_id: work:ask
work_kind: review
status: requires_attention
title: Which currency first?
created_at_utc: 2026-05-16T19:13:02.000Z
`

// TestWorkRound goes once around an item's life: put, list, show, grant, revoke,
// resolve, post, complete, accept, cancel (H-090 to H-095).
func TestWorkRound(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	if out := r.must(workDocs, "put", "-"); strings.Count(out, "\n") != 2 || !strings.Contains(out, "created work:ask: requires_attention") {
		t.Errorf("put: %s", out)
	}
	r.must(workDocs, "put", "-") // again: no contradiction (H-046)
	list := r.must("", "list")
	if !strings.Contains(list, "work:shop/checkout") || strings.Contains(list, "\x1b") || strings.Contains(list, "BLOCKED BY") {
		t.Errorf("list:\n%s", list)
	}
	if out := r.must("", "grant", "work:shop/checkout", "--to", "agent:kite", "--ttl", "5m"); !strings.Contains(out, "claimed by agent:kite until") {
		t.Errorf("grant: %s", out)
	}
	if out := r.must("", "list", "--status", "claimed"); !strings.Contains(out, "agent:kite") || !strings.Contains(out, "left") {
		t.Errorf("list: %s", out)
	}
	show := r.must("", "show", "work:shop/checkout")
	for _, want := range []string{"held by", "agent:kite", "requires r1 [open]", "pay/**", "ready -> claimed"} {
		if !strings.Contains(show, want) {
			t.Errorf("show lacks %q:\n%s", want, show)
		}
	}
	if out := r.must("", "revoke", "work:shop/checkout", "--reason", "wrong branch"); !strings.Contains(out, "is revoked") {
		t.Errorf("revoke: %s", out)
	}
	if out := r.must("", "resolve", "work:ask", "--note", "euros first"); !strings.Contains(out, "resolved work:ask: ready") {
		t.Errorf("resolve: %s", out)
	}
	r.must("", "post", "work:ask", "--kind", "risk", "--summary", "rounding")
	if out := r.must("", "show", "work:ask"); !strings.Contains(out, "euros first") || !strings.Contains(out, "risk by lead-01: rounding") {
		t.Errorf("show:\n%s", out)
	}
	r.completeAs("agent:owl", "work:ask")
	if out := r.must("", "accept", "work:ask", "--notes", "fine"); !strings.Contains(out, "accepted work:ask: accepted") {
		t.Errorf("accept: %s", out)
	}
	if out := r.must("", "cancel", "work:shop/checkout", "--reason", "not now", "--json"); !json.Valid([]byte(out)) || !strings.Contains(out, `"cancelled"`) {
		t.Errorf("cancel: %s", out)
	}
}

// completeAs claims and completes an item as a worker of its own.
func (r *workRig) completeAs(identity, item string) {
	r.t.Helper()
	g := &globals{sys: Sys{Env: func(string) string { return "" }}, server: r.box.URL, tokenFile: r.as(identity, acop.RoleWorker)}
	c, err := g.connect(r.t.Context(), nil, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Do(r.t.Context(), acop.Act{Verb: acop.VerbClaim, WorkItemID: item, TTLSeconds: 60})
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := c.Do(r.t.Context(), acop.Act{Verb: acop.VerbComplete, ClaimID: got.Claim.ClaimID}); err != nil {
		r.t.Fatal(err)
	}
}

// TestWorkRefusals: one clear line, the right exit code, nothing half-done.
func TestWorkRefusals(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	r.must(workDocs, "put", "-")
	worker := r.as("agent:jay", acop.RoleWorker)
	dead := httptest.NewServer(nil)
	dead.Close()
	notOwner := httptest.NewServer(nil)
	t.Cleanup(notOwner.Close)
	dup := "work_item_id: a\nwork_kind: repair\n---\nwork_item_id: a\nwork_kind: repair\n"
	tests := []struct {
		name  string
		stdin string
		args  []string
		code  int
		want  string
	}{
		{"unknown item", "", []string{"show", "nope"}, exitFailed, "work_item_not_found"},
		{"accept what is not completed", "", []string{"accept", "work:ask"}, exitFailed, "work_item_not_actionable"},
		{"nobody holds it", "", []string{"revoke", "work:ask", "--reason", "x"}, exitFailed, "nobody holds it"},
		{"stale revision", "", []string{"cancel", "work:ask", "--reason", "x", "--if-revision", "1"}, exitFailed, "revision_mismatch"},
		{"a worker may not revoke", "", []string{"cancel", "work:ask", "--reason", "x", "--token-file", worker}, exitFailed, "forbidden"},
		{"no reason", "", []string{"cancel", "work:ask"}, exitUsage, "--reason is missing"},
		{"read-only", "", []string{"accept", "work:ask", "--read-only"}, exitUsage, "--read-only"},
		{"no file", "", []string{"put", "/nonexistent.yaml"}, exitUsage, "no such file"},
		{"bad JSON", "{\n\"work_item\": {,}\n}", []string{"put", "-"}, exitUsage, "standard input:2: "},
		{"bad YAML", "work_item:\n  title: [unclosed\n", []string{"put", "-"}, exitUsage, "standard input:2:"},
		{"unknown member", "{\"work_item_id\":\"b\",\"work_kind\":\"repair\",\"colour\":1}", []string{"put", "-"}, exitUsage, "colour is an unknown member"},
		{"twice", dup, []string{"put", "-"}, exitUsage, "there twice"},
		{"no document", "\n", []string{"put", "-"}, exitUsage, "no document"},
		{"unknown kind", "work_item_id: b\nwork_kind: paint\n", []string{"put", "-"}, exitUsage, "work_kind must be one of"},
		{"unknown status", "", []string{"list", "--status", "paused"}, exitUsage, "not a status"},
		{"nothing answers", "", []string{"list", "--server", dead.URL}, exitUnreachable, "does not answer"},
		{"not an owner", "", []string{"list", "--server", notOwner.URL}, exitFailed, "is this the owner's URL?"},
		{"no URL", "", []string{"list", "--server", "localhost:7180"}, exitUsage, "must be given as a URL"},
		{"no token file", "", []string{"list", "--token-file", "/nonexistent"}, exitUsage, "cannot be read"},
		{"no subcommand", "", nil, exitUsage, "say what to do"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			got := runWith(ctx, tt.stdin, map[string]string{"XDG_STATE_HOME": t.TempDir()},
				append([]string{"work", "--server", r.box.URL, "--token-file", r.lead}, tt.args...)...)
			if got.code != tt.code || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("exit %d, want %d with %q; stderr: %s", got.code, tt.code, tt.want, got.stderr)
			}
			if strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
				t.Errorf("not one line: stdout %q stderr %q", got.stdout, got.stderr)
			}
		})
	}
	t.Run("no server", func(t *testing.T) {
		got := runWith(t.Context(), "", map[string]string{"XDG_STATE_HOME": t.TempDir()}, "work", "list")
		if got.code != exitUnreachable || !strings.Contains(got.stderr, "no server given and no local box running") {
			t.Errorf("exit %d, stderr %s", got.code, got.stderr)
		}
	})
	t.Run("environment", func(t *testing.T) {
		token, err := os.ReadFile(r.lead)
		if err != nil {
			t.Fatal(err)
		}
		got := runWith(t.Context(), "", map[string]string{
			"ACOP_BACKEND_BASE_URI": r.box.URL, "ACOP_BACKEND_BEARER_TOKEN": string(token)}, "work", "list")
		if got.code != exitOK {
			t.Errorf("exit %d, stderr %s", got.code, got.stderr)
		}
	})
}

// lockedBuffer is a writer that a test may look into.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestWorkEventsFollow: NDJSON, live, until interrupted (architecture "The
// program's face").
func TestWorkEventsFollow(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out lockedBuffer
	done := make(chan int)
	go func() {
		done <- Run(ctx, []string{"work", "events", "--json", "--after", "0", "--server", r.box.URL, "--token-file", r.lead},
			Sys{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Env: func(string) string { return "" }})
	}()
	r.must(workDocs, "put", "-")
	deadline := time.Now().Add(10 * time.Second)
	for strings.Count(out.String(), "\n") < 2 {
		if time.Now().After(deadline) {
			t.Fatalf("no events: %s", out.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	if code := <-done; code != exitInterrupted {
		t.Errorf("exit %d, want %d", code, exitInterrupted)
	}
	for line := range strings.Lines(out.String()) {
		var e acop.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Revision == 0 || e.Item == nil {
			t.Errorf("not an event: %s", line)
		}
	}
}
