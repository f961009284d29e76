package cli

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"signalbox/model/acop"
)

// stop runs `signalbox stop` in the home of h.
func (h *homeBox) stop(args ...string) (out string, code int) {
	h.t.Helper()
	cmd := exec.Command(binary(h.t), append([]string{"stop"}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+h.dir)
	raw, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		h.t.Fatal(err)
	}
	return string(raw), cmd.ProcessState.ExitCode()
}

// What was left to go on in the background is stopped by a command that says what
// stops with it; a dashboard with somebody at it is not.
func TestStop(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if out, code := h.stop(); code != 0 || !strings.Contains(out, "Nothing to stop") {
		t.Errorf("nothing runs: %d %s", code, out)
	}
	s := h.sit()
	s.waitText("NEEDS YOU", "local")
	h.put("work:a")
	h.do(acop.Act{Verb: acop.VerbClaim, WorkItemID: "work:a", Worker: "worker-1", TTLSeconds: 600, Scope: "all"})
	if out, code := h.stop(); code != 1 || !strings.Contains(out, "the dashboard in process") || !strings.Contains(out, "--force") {
		t.Errorf("a dashboard carries the box: %d %s", code, out)
	}
	s.keys("2")
	s.waitText("worker-1")
	s.keys("q")
	s.waitText("signalbox stop ends it later")
	s.keys("b")
	s.waitText("exit code 0", "signalbox stop ends it")
	b, err := readBox(h.data())
	if err != nil {
		t.Fatal(err)
	}
	out, code := h.stop()
	for _, want := range []string{"process " + strconv.Itoa(b.PID), strings.TrimSuffix(b.URL, "acop/v1/"), "1 claim is live", "Stopped."} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%q is missing: %d %s", want, code, out)
		}
	}
	if !gone(b.PID) {
		h.wait("the process to be gone", func() bool { return gone(b.PID) })
	}
	if _, err := readBox(h.data()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the note of the box is still there: %v", err)
	}
	next := h.sit()
	next.waitText("NEEDS YOU")
	next.keys("2")
	next.waitText("work:a", "worker-1")
	if out, code := h.stop("--force", "--json"); code != 0 || !strings.Contains(out, `"event":"stopped"`) || !strings.Contains(out, `"live_claims":1`) {
		t.Errorf("with --force: %d %s", code, out)
	}
	next.waitText("exit code 143", "ended by a signal")
	if modes := next.modes(); modes != "0 1 0" {
		t.Errorf("the terminal was left as %q", modes)
	}
}

// A note that a power cut left behind names a process that is another one by now:
// it is not touched.
func TestStopTouchesNoStranger(t *testing.T) {
	t.Parallel()
	h := &homeBox{t: t, dir: t.TempDir()}
	stranger := exec.Command("sleep", "1000")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = stranger.Wait(); close(ended) }()
	t.Cleanup(func() { _ = stranger.Process.Kill(); <-ended })
	pid := strconv.Itoa(stranger.Process.Pid)
	if err := os.MkdirAll(filepath.Join(h.data(), "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{boxFile: `{"url":"http://127.0.0.1:9/acop/v1/","pid":` + pid + `}`, "log/lock": pid + "\n"} {
		if err := os.WriteFile(filepath.Join(h.data(), name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, code := h.stop("--json")
	var got stopped
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || got.Event != "not_running" || got.Data != h.data() {
		t.Errorf("%v %d %s", err, code, out)
	}
	select {
	case <-ended:
		t.Error("the stranger was ended")
	default:
	}
}

// An owner that has its folder and has not said yet what it is, as in the moment of
// opening, may have somebody at its screen: it is asked again, and stopped only with
// --force.
func TestStopWaitsForTheNote(t *testing.T) {
	t.Parallel()
	h := &homeBox{t: t, dir: t.TempDir()}
	p := startProcess(t, []string{"XDG_STATE_HOME=" + h.dir}, "serve", "--listen", "127.0.0.1:0")
	path := filepath.Join(h.data(), boxFile)
	note, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	type result struct {
		out  string
		code int
	}
	ended := make(chan result, 1)
	go func() {
		out, code := h.stop()
		ended <- result{out, code}
	}()
	said := strings.Replace(string(note), "{", `{"dashboard":true,`, 1)
	if err := writePrivate(path, []byte(said)); err != nil {
		t.Fatal(err)
	}
	if r := <-ended; r.code != exitFailed || !strings.Contains(r.out, "the dashboard in process") {
		t.Errorf("with a late note: %d %s", r.code, r.out)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if out, code := h.stop(); code != exitFailed || !strings.Contains(out, "does not say whether somebody sits at it") {
		t.Errorf("without a note: %d %s", code, out)
	}
	if gone(p.cmd.Process.Pid) {
		t.Fatal("the owner was stopped all the same")
	}
	if out, code := h.stop("--force"); code != exitOK || !strings.Contains(out, "Stopped.") {
		t.Errorf("with --force: %d %s", code, out)
	}
}
