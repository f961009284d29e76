package cli

import (
	"os/exec"
	"strings"
	"testing"
)

// B92: without a terminal the dashboard says in one line what works there instead
// and exits 2; help and version need none.
func TestNoTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		shell string
		code  int
		want  string
	}{
		"no input":      {"$0 </dev/null", 2, "use `signalbox serve`, `signalbox work list` or `signalbox invoke`"},
		"piped input":   {"echo x | $0", 2, "standard input is none"},
		"of no session": {"setsid -w $0 </dev/null", 2, "needs a terminal"},
		"demo":          {"$0 demo </dev/null", 2, "needs a terminal"},
		"help":          {"$0 --help </dev/null", 0, "Usage:"},
		"version":       {"$0 --version </dev/null", 0, "signalbox"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", c.shell, binary(t))
			cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin", "TERM=xterm-256color"}
			out, _ := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != c.code || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "\x1b") {
				t.Errorf("exit code %d, want %d\n%s", got, c.code, out)
			}
			if c.code != 0 && strings.Count(strings.TrimSpace(string(out)), "\n") > 0 {
				t.Errorf("more than one line:\n%s", out)
			}
		})
	}
}
