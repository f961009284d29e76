package store

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A compaction that is killed at any step leaves the old or the new log, whole;
// the next start clears the rest away, and the next compaction goes through.
func TestCompactKilled(t *testing.T) {
	dir := t.TempDir()
	tail := agedLog(t, dir)
	state, events := shown(t, dir, tail-1)
	for _, step := range []string{"pick", "begin", "write", "sync", "compare", "swap", "clear", "done"} {
		t.Run(step, func(t *testing.T) {
			cut := copyDir(t, dir)
			killAt(t, cut, step)
			gotState, gotEvents := shown(t, cut, tail-1)
			if d := cmp.Diff(state, gotState); d != "" {
				t.Errorf("the state changed:\n%s", d)
			}
			if d := cmp.Diff(events, gotEvents); d != "" {
				t.Errorf("the young history changed:\n%s", d)
			}
			if left, err := generations(cut); err != nil || len(left) != 1 {
				t.Errorf("folders that are left after a start: %v, %v", left, err)
			}
			done := compact(t, cut, keepMonth)
			if swapped := step == "clear" || step == "done"; done.Nothing != swapped || done.Tail != tail {
				t.Errorf("the next compaction: %+v", done)
			}
			if gotState, _ = shown(t, cut, tail-1); cmp.Diff(state, gotState) != "" {
				t.Error("the next compaction changed the state")
			}
		})
	}
}

// killAt runs a compaction in a child and kills it at a step.
func killAt(t *testing.T, dir, step string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), childEnv+"="+dir, childEnv+"_STEP="+step)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "at "+step {
		t.Errorf("the child says %q instead of its step", lines.Text())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
}
