//go:build unix

package acmp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// alive reports whether a process runs; one that is only waiting to be reaped does
// not.
func alive(pid int) bool {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil && !errors.Is(err, os.ErrNotExist)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

// familyScript prints its own pid and that of a child that ignores SIGTERM.
const familyScript = `sh -c 'trap "" TERM; echo $$; exec sleep 301' & echo $$; wait; sleep 302`

// readFamily takes the two pids from the stream.
func readFamily(t *testing.T, r *reply) []int {
	t.Helper()
	var pids []int
	for len(pids) < 2 {
		m := r.next(t)
		if m.Method != acmp.MethodStreamChunk {
			continue
		}
		s, _ := m.Params.Chunk.Text()
		for f := range strings.FieldsSeq(s) {
			pid, err := strconv.Atoi(f)
			if err != nil {
				t.Fatalf("no pid: %s", m.raw)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// A-137 for commands: one -33004, and the whole group is gone, the deaf grandchild
// too.
func TestCancelEndsTheGroup(t *testing.T) {
	t.Parallel()
	needShell(t)
	onBoth(t, shell(familyScript, nil), func(t *testing.T, p *Provider, c peer) {
		id := taskID()
		r := c.request(t, acmp.MethodInvoke, streamed(id))
		pids := readFamily(t, r)
		c.notify(t, acmp.MethodCancel, map[string]any{"task_id": id})
		if code := r.code(t); code != acmp.CodeCancelled {
			t.Errorf("code %d", code)
		}
		<-p.table.find(id).task.returned
		for _, pid := range pids {
			eventually(t, fmt.Sprintf("process %d is gone", pid), func() bool { return !alive(pid) })
		}
	})
}

// The command's end is the end of its group, also where it ended well and a
// grandchild holds its output open.
func TestBackgroundChildDoesNotOutliveItsCommand(t *testing.T) {
	t.Parallel()
	needShell(t)
	p := newProvider(t, shell(`sleep 303 & echo $!`, nil)())
	r := overHTTP(t, p).request(t, acmp.MethodInvoke, streamed(taskID()))
	ms := r.all(t)
	if ms[len(ms)-1].Result == nil {
		t.Fatalf("answer: %s", ms[len(ms)-1].raw)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(joined(t, ms)))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the child is gone", func() bool { return !alive(pid) })
}

// familyProvider starts a provider on stdio as a process of its own and a task on it
// whose command has children: their numbers.
func familyProvider(t *testing.T) (cmd *exec.Cmd, in io.Closer, peer *stdioPeer, pids []int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self, "provider", familyScript)
	stdin, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	peer = newStdioPeer(stdin, out)
	return cmd, stdin, peer, readFamily(t, peer.request(t, acmp.MethodInvoke, streamed(taskID())))
}

// B39: kill -9 of the provider leaves no child and no grandchild after 5 s.
func TestKilledProviderLeavesNoOrphan(t *testing.T) {
	needShell(t)
	cmd, _, _, pids := familyProvider(t)
	killed := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	for _, pid := range pids {
		eventually(t, fmt.Sprintf("process %d is gone", pid), func() bool { return !alive(pid) })
	}
	if d := time.Since(killed); d > 5*time.Second {
		t.Errorf("only after %v", d)
	}
}

// end of stdin is the end of the provider, and of what it runs.
func TestStdinEOFEndsTheProvider(t *testing.T) {
	t.Parallel()
	needShell(t)
	cmd, in, peer, pids := familyProvider(t)
	in.Close()
	exited := make(chan error, 1)
	<-peer.done
	go func() { exited <- cmd.Wait() }()
	select {
	case err := <-exited:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		t.Fatal("the provider lives on")
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d lives on", pid)
		}
	}
}

// A run above the command's own timeout_ms is -33003.
func TestCommandTimeout(t *testing.T) {
	needShell(t)
	p := newProvider(t, shell("sleep 304", func(c *Command) { c.Timeout = 100 * time.Millisecond })())
	m := overHTTP(t, p).request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), nil)).answer(t)
	if m.Error == nil || m.Error.Code != acmp.CodeTimeout {
		t.Errorf("answer: %s", m.raw)
	}
}
