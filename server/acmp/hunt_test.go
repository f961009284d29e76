//go:build linux

package acmp

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// daemonScript prints the pids of a child in a session of its own and of one that
// was forked twice, both deaf to SIGTERM and holding no pipe of ours.
const daemonScript = `trap "" TERM
setsid sh -c 'echo $$; exec sleep 401 >/dev/null 2>&1 </dev/null' &
( setsid sh -c 'echo $$; exec sleep 402 >/dev/null 2>&1 </dev/null' & )
%s`

func needSetsid(t *testing.T) {
	t.Helper()
	needShell(t)
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid here")
	}
}

func awaitGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		eventually(t, fmt.Sprintf("process %d is gone", pid), func() bool { return !alive(pid) })
	}
}

// A-137, B39: cancel finds what has left the process group.
func TestCancelEndsDaemons(t *testing.T) {
	t.Parallel()
	needSetsid(t)
	onBoth(t, shell(fmt.Sprintf(daemonScript, "sleep 403"), nil), func(t *testing.T, _ *Provider, c peer) {
		id := taskID()
		r := c.request(t, acmp.MethodInvoke, streamed(id))
		pids := readFamily(t, r)
		c.notify(t, acmp.MethodCancel, map[string]any{"task_id": id})
		if code := r.code(t); code != acmp.CodeCancelled {
			t.Errorf("code %d", code)
		}
		awaitGone(t, pids)
	})
}

// B39: a command that ended well leaves no daemon behind either, and one task's
// daemons are not another's.
func TestCommandEndEndsItsDaemonsOnly(t *testing.T) {
	t.Parallel()
	needSetsid(t)
	dir := t.TempDir()
	p := newProvider(t, Options{Capabilities: []Capability{
		{Info: acmp.Capability{Name: "work"}, Command: &Command{Argv: []string{"sh", "-c", fmt.Sprintf(daemonScript, untilGo)}, Dir: dir}},
		{Info: acmp.Capability{Name: "other"}, Command: &Command{Argv: []string{"sh", "-c", fmt.Sprintf(daemonScript, "sleep 403")}}},
	}})
	c := overHTTP(t, p)
	params := streamed(taskID())
	params["capability"] = "other"
	others := readFamily(t, c.request(t, acmp.MethodInvoke, params))
	r := c.request(t, acmp.MethodInvoke, streamed(taskID()))
	pids := readFamily(t, r)
	letGo(t, dir)
	if m := r.answer(t); m.Result == nil {
		t.Errorf("answer: %s", m.raw)
	}
	awaitGone(t, pids)
	for _, pid := range others {
		if !alive(pid) {
			t.Errorf("process %d of another task is gone", pid)
		}
	}
}

// B39: kill -9 of the provider leaves no daemon after 5 s.
func TestKilledProviderLeavesNoDaemon(t *testing.T) {
	needSetsid(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "provider", fmt.Sprintf(daemonScript, "sleep 403"))
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := readFamily(t, newStdioPeer(in, out).request(t, acmp.MethodInvoke, streamed(taskID())))
	killed := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	awaitGone(t, pids)
	if d := time.Since(killed); d > 5*time.Second {
		t.Errorf("only after %v", d)
	}
}

// A program can be killed before it has named a process that it just started: the
// mark was told before, and is enough (B39).
func TestWatchdogFindsWhatWasBeingStarted(t *testing.T) {
	for lines, dies := range map[string]bool{"?%s\n": true, "?%[1]s\n!%[1]s\n": false} {
		mark := rand.Text()
		cmd := exec.Command("sleep", "1000")
		cmd.Env = append(os.Environ(), markName+"="+mark)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		Watchdog(strings.NewReader(fmt.Sprintf(lines, mark)))
		if !dies {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
		_ = cmd.Wait()
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if killed := status.Signal() == syscall.SIGKILL; killed != dies {
			t.Errorf("after %q: %v", lines, cmd.ProcessState)
		}
	}
}
