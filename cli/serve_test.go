package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"signalbox/model/acop"
)

// served is a running `signalbox serve`.
type served struct {
	t     *testing.T
	cmd   *exec.Cmd
	url   string
	data  string
	token string
	log   lockedBuffer
	done  chan struct{}
}

// startServe runs the real binary on a folder and waits for its ready line.
func startServe(t *testing.T, data string, args ...string) *served {
	t.Helper()
	s := &served{t: t, data: data, done: make(chan struct{})}
	s.cmd = exec.Command(binary(t), append([]string{"serve", "--data", data, "--listen", steadyAddr(t)}, args...)...)
	s.cmd.Stderr = &s.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop(syscall.SIGKILL) })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = s.cmd.Wait()
		t.Fatalf("no ready line: %v\n%s", err, s.log.String())
	}
	go func() {
		rest, _ := io.ReadAll(out)
		_ = s.cmd.Wait()
		if len(rest) > 0 {
			t.Errorf("more than the ready line on stdout: %q", rest)
		}
		close(s.done)
	}()
	var ready struct{ Event, URL, Data string }
	if err := json.Unmarshal([]byte(line), &ready); err != nil || ready.Event != "ready" || ready.Data != data {
		t.Fatalf("ready line %q: %v", line, err)
	}
	s.url = ready.URL
	if raw, err := os.ReadFile(leadTokenFile(data)); err == nil {
		s.token = strings.TrimSpace(string(raw))
	}
	return s
}

// stop ends the process and returns its exit code.
func (s *served) stop(sig os.Signal) int {
	_ = s.cmd.Process.Signal(sig)
	select {
	case <-s.done:
	case <-time.After(15 * time.Second):
		s.t.Errorf("serve did not end within 15 s of %v", sig)
		_ = s.cmd.Process.Kill()
		<-s.done
	}
	return s.cmd.ProcessState.ExitCode()
}

func (s *served) call(method, path string, body any) (int, []byte, error) {
	var rd io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		rd = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, s.url+path, rd)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, raw, err
}

func itemDocument(id string) map[string]any {
	return map[string]any{"protocol_version": "acop/1.0", "work_item": map[string]any{
		"work_item_id": id, "protocol_version": "acop/1.0", "work_kind": "implement", "created_at_utc": "2026-05-16T19:10:00Z",
		"producer": "p", "status": "ready", "priority": "low", "actionability_score": 0.5}}
}

// TestServeSurvivesKill kills the real owner in a loop of acknowledged writes,
// several times: none of them is lost, live claims included (H-085).
func TestServeSurvivesKill(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	type ack struct{ item, claim string }
	var mu sync.Mutex
	var acks []ack
	for round := range 3 {
		s := startServe(t, data)
		enough := make(chan struct{})
		var once sync.Once
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for n := 0; ; n++ {
					id := fmt.Sprintf("r%d w%d n%d", round, w, n)
					if code, _, err := s.call("PUT", "work-items", itemDocument(id)); err != nil || code != 201 {
						return
					}
					mu.Lock()
					acks = append(acks, ack{item: id})
					mu.Unlock()
					code, raw, err := s.call("POST", "claims", map[string]any{"protocol_version": "acop/1.0", "work_item_id": id,
						"worker_agent_uid": "worker", "requested_ttl_seconds": 3600, "scope": "s"})
					if err != nil || code != 201 {
						return
					}
					var a struct{ Claim acop.Claim }
					if json.Unmarshal(raw, &a) != nil {
						return
					}
					mu.Lock()
					acks = append(acks, ack{item: id, claim: a.Claim.ClaimID})
					full := len(acks) > 150*(round+1)
					mu.Unlock()
					if full {
						once.Do(func() { close(enough) })
					}
				}
			})
		}
		select {
		case <-enough:
		case <-time.After(30 * time.Second):
			t.Fatal("too few acknowledged writes in 30 s")
		}
		s.stop(syscall.SIGKILL)
		wg.Wait()
	}
	s := startServe(t, data)
	_, raw, err := s.call("GET", "snapshot", nil)
	if err != nil {
		t.Fatal(err)
	}
	var snap acop.Snapshot
	if err := json.Unmarshal(raw, &snap); err != nil {
		t.Fatal(err)
	}
	have := make(map[string]*acop.Item)
	for _, it := range snap.Items {
		have[it.ID()] = it
	}
	for _, a := range acks {
		it := have[a.item]
		if it == nil {
			t.Fatalf("item %q was acknowledged and is gone; %d of %d are there", a.item, len(have), len(acks))
		}
		if a.claim != "" && (it.Lease == nil || it.Lease.Claim.ClaimID != a.claim) {
			t.Fatalf("the claim on %q was acknowledged and is gone", a.item)
		}
	}
	t.Logf("%d acknowledged writes over 3 kills, all there", len(acks))
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("SIGTERM ended with %d: %s", code, s.log.String())
	}
	if strings.Contains(s.log.String(), s.token) {
		t.Error("the log shows a token")
	}
}

// TestServeKeepsItsCredentials makes the lead once, for this user alone.
func TestServeKeepsItsCredentials(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := startServe(t, data)
	for _, f := range []string{"lead.token", "tokens.yaml", "box.json"} {
		info, err := os.Stat(filepath.Join(data, f))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f, info, err)
		}
	}
	if code, raw, err := s.call("GET", "snapshot", nil); err != nil || code != 200 {
		t.Fatalf("with the lead's token: %d %s %v", code, raw, err)
	}
	first := s.token
	// A second owner of the same folder says who has it.
	out, err := exec.Command(binary(t), "serve", "--data", data, "--listen", "127.0.0.1:0").CombinedOutput()
	if code := exitCode(err); code != 1 || !strings.Contains(string(out), fmt.Sprint(s.cmd.Process.Pid)) || bytes.Count(out, []byte("\n")) != 1 {
		t.Errorf("second owner: exit %d, %q", code, out)
	}
	if code := s.stop(os.Interrupt); code != 0 {
		t.Errorf("SIGINT ended with %d", code)
	}
	if _, err := os.Stat(filepath.Join(data, "box.json")); err == nil {
		t.Error("box.json is left behind")
	}
	if s = startServe(t, data); s.token != first {
		t.Error("the lead's token changed over a restart")
	}
}

func exitCode(err error) int {
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		return ee.ExitCode()
	}
	return 0
}

// TestServeRefuses says in one line what is wrong and where (B103, B105).
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	good := "- {identity: a, role: lead, token: SECRET123}\n"
	cases := []struct {
		name string
		args []string
		want string
	}{
		{"beyond loopback", []string{"--listen", "0.0.0.0:0"}, "--tokens"},
		{"no tokens file", []string{"--tokens", filepath.Join(dir, "none")}, "none"},
		{"bad role", []string{"--tokens", file("role", good+"- {identity: b, role: boss, token: SECRET123x}\n")}, "role:2: "},
		{"unknown member", []string{"--tokens", file("member", good+"- {identity: b, role: lead, tokn: SECRET123}\n")}, "member:2: "},
		{"duplicate token", []string{"--tokens", file("dup", good+good)}, "dup:2: "},
		{"broken yaml", []string{"--tokens", file("yaml", good+"- {identity: b\n  SECRET123: [\n")}, "yaml:"},
		{"no tokens", []string{"--tokens", file("empty", "[]\n")}, "holds no tokens"},
		{"bad hash", []string{"--tokens", file("hash", "- {identity: a, role: lead, token_sha256: SECRET123}\n")}, "hash:1: "},
		{"bad config", []string{"--config", file("conf", "grant_mode: auto\nmax_ttl: 4\n")}, "conf:2: "},
		{"bad mode", []string{"--config", file("mode", "grant_mode: manual\n")}, "grant_mode"},
		{"bad address", []string{"--listen", "127.0.0.1:99999999"}, "listen"},
		{"unknown flag", []string{"--nonsense"}, "nonsense"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, err := exec.Command(binary(t), append([]string{"serve", "--data", t.TempDir()}, c.args...)...).CombinedOutput()
			if code := exitCode(err); code != 2 {
				t.Errorf("exit %d: %s", code, out)
			}
			if !bytes.Contains(out, []byte(c.want)) || bytes.Contains(out, []byte("SECRET123")) || bytes.Contains(out, []byte("goroutine")) {
				t.Errorf("says %q, want %q in it and no secret", out, c.want)
			}
			if bytes.Count(out, []byte("\n")) != 1 {
				t.Errorf("not one line: %q", out)
			}
		})
	}
}
