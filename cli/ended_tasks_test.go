package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The trouble a task ended in waits for a person beyond a restart, until somebody
// has seen it; then it does not come back.
func TestTroubleIsThereUntilItIsSeen(t *testing.T) {
	t.Parallel()
	r := newLeadRig(t, 160, 40)
	again := func() {
		r.screen.keys("q")
		r.screen.waitText("exit code 0")
		r.sit(160, 40)
		r.screen.waitText("NEEDS YOU", "lead-01", "1/1 providers")
	}
	r.screen.waitText("NEEDS YOU (0)", "lead-01")
	r.screen.keys("i")
	r.screen.waitText("Invoke", "wrong")
	r.screen.keys("Down", "Down", "Enter", "Enter")
	r.screen.waitText("─ Tasks", "✗ failed")
	r.screen.keys("1")
	r.screen.waitText("NEEDS YOU (1)", "wrong", "exit status 7: halfway", "it stays undone")
	again()
	r.screen.waitText("NEEDS YOU (1)", "wrong", "exit status 7: halfway", "it stays undone")
	r.screen.keys("V")
	r.screen.waitText("NEEDS YOU (0)", "it stays on the Tasks screen")
	r.screen.keys("6")
	r.screen.waitText("seen: task:")
	again()
	r.screen.keys("3")
	r.screen.waitText("wrong", "✗ failed", "ended", "internal (-33099)")
	r.screen.keys("o")
	r.screen.waitText("halfway")
	r.screen.keys("1")
	r.screen.waitText("NEEDS YOU (0)")
	r.screen.keys("q")
	r.screen.waitText("exit code 0")
}

// What failed in a shell was told there: the dashboard lists it with who ran it, and
// asks nobody about it.
func TestAFailureInAShellAsksNobody(t *testing.T) {
	t.Parallel()
	r := newLeadBox(t)
	for _, args := range [][]string{{"wrong"}, {"no-such-capability"}} {
		cmd := exec.Command(binary(t), append([]string{"invoke", "--on", "workshop", "--provider", "workshop=" + r.provider.url}, args...)...)
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(r.dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(r.dir, "config"))
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Fatalf("invoke %v did not fail:\n%s", args, out)
		}
	}
	r.sit(160, 40)
	r.screen.waitText("NEEDS YOU (0)", "lead-01", "1/1 providers")
	r.screen.keys("3")
	r.screen.waitText("wrong", "✗ failed", "exit status 7: halfway", "signalbox invoke, process")
	r.screen.keys("1")
	r.screen.waitText("NEEDS YOU (0)")
	r.screen.keys("q")
	r.screen.waitText("exit code 0")
}

// A task that ends while nobody looks is taken up by the next dashboard, with all of
// its output and its outcome: nothing of it runs twice.
func TestATaskEndsWhileNobodyLooks(t *testing.T) {
	t.Parallel()
	r := newLeadRig(t, 160, 40)
	r.screen.waitText("NEEDS YOU", "lead-01")
	r.screen.keys("i")
	r.screen.waitText("Invoke", "slow")
	r.screen.keys("Down", "Down", "Down", "Enter", "Enter")
	r.screen.waitText("─ Tasks", "running", "begun")
	r.screen.keys("q")
	r.screen.waitText("1 task is running", "attached again")
	r.screen.keys("y")
	r.screen.waitText("exit code 0")
	r.file("go", "")
	waitUntil(t, "the task to end", func() bool { _, err := os.Stat(filepath.Join(r.dir, "gone")); return err == nil })
	r.sit(160, 40)
	r.screen.waitText("NEEDS YOU", "lead-01")
	r.screen.keys("3")
	shown := r.screen.waitText("completed", "begun", "all done")
	if n := strings.Count(shown, "begun"); n != 1 {
		t.Errorf("it begins %d times:\n%s", n, shown)
	}
	r.screen.keys("q")
	r.screen.waitText("exit code 0")
}

// Who comes back after a task has ended reads its output: it is listed as one of
// an earlier run, and its transcript is on the disk.
func TestEarlierTasksAreThereAfterARestart(t *testing.T) {
	t.Parallel()
	r := newLeadRig(t, 160, 40)
	s := r.screen
	s.waitText("NEEDS YOU", "lead-01")
	s.keys("i")
	s.waitText("Invoke", "echo")
	s.keys("Down", "Enter")
	s.typed("kept for the morning")
	s.keys("Enter")
	s.keys("3")
	s.waitText("completed", "kept for the morning", "took")
	s.keys("q")
	s.waitText("exit code 0")
	r.sit(160, 40)
	s = r.screen
	s.waitText("NEEDS YOU", "lead-01")
	s.keys("3")
	s.waitText("completed", "echo", "run by signalbox, process", "It ended before this program began")
	s.keys("o")
	s.waitText("kept for the morning", "WHOLE OUTPUT")
	s.keys("q")
	s.waitText("exit code 0")
}
