//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// D-12, A-078: a provider on stdio that dies in the middle of a task. With --data it
// says that it remembers, so the task is sent again to its next life, which answers
// that it is over; without, it is not sent again. In no case does it run twice.
func TestProviderDiesInTheMiddle(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"with data": "it is not run again", "without": "the task is not sent again"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			runs := filepath.Join(dir, "runs")
			config := provideFile(t, "caps.yaml", "capabilities:\n  - name: work\n    command: [sh, -c, 'echo x >>"+runs+"; echo begun; sleep 0.3; kill -9 $PPID; sleep 60']\n")
			provider := "p=stdio:" + binary(t) + " provide --stdio --config " + config
			if name == "with data" {
				provider += " --data " + filepath.Join(dir, "data")
			}
			got := runWith(t.Context(), "", invokeEnv(t), "invoke", "work", "--timeout", "1m", "--provider", provider)
			if got.code != exitFailed || got.stdout != "begun\n" || !strings.Contains(got.stderr, want) {
				t.Errorf("exit %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
			}
			if strings.Contains(got.stderr, "sent again (2)") != (name == "with data") {
				t.Errorf("stderr %q", got.stderr)
			}
			if raw, err := os.ReadFile(runs); err != nil || string(raw) != "x\n" {
				t.Errorf("it ran as %q, %v", raw, err)
			}
		})
	}
}
