//go:build linux

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// familyScript notes in $1 the pid of the program that started it, and of a family
// that is hard to get rid of: a leader and a child deaf to SIGTERM, one that floods
// standard error, one that has left the group, one that was forked twice. Then it
// becomes the program in the other arguments.
const familyScript = `trap "" TERM
file=$1; shift
note() { echo "$1 $2" >>"$file"; }
note program $PPID; note leader $$
sleep 411 & note child $!
yes "noise on standard error" >&2 & note flood $!
export file
setsid sh -c 'echo "session $$" >>"$file"; exec sleep 412 >/dev/null 2>&1 </dev/null' &
( setsid sh -c 'echo "daemon $$" >>"$file"; exec sleep 413 >/dev/null 2>&1 </dev/null' & )
exec "$@"
`

// family is what one run of familyScript has noted.
type family struct{ file string }

// members waits until all of the family have noted themselves.
func (f family) members(t *testing.T) map[string]int {
	t.Helper()
	pids := map[string]int{}
	for end := time.Now().Add(30 * time.Second); len(pids) < 6; {
		raw, _ := os.ReadFile(f.file)
		lines := strings.Split(string(raw), "\n")
		for _, line := range lines[:len(lines)-1] {
			who, number, _ := strings.Cut(line, " ")
			if pids[who], _ = strconv.Atoi(number); pids[who] <= 1 {
				t.Fatalf("the family notes %q", raw)
			}
		}
		if time.Now().After(end) {
			t.Fatalf("the family is not whole: %q", raw)
		}
		<-time.After(5 * time.Millisecond)
	}
	return pids
}

// B39: kill -9 of the program, whichever it is, leaves nothing of what it started
// after 5 s, however that behaves.
func TestKilledProgramLeavesNoOrphan(t *testing.T) {
	for _, need := range []string{"setsid", "yes"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("%s is not installed: a family that escapes cannot be made", need)
		}
	}
	bin, dir := binary(t), t.TempDir()
	script := filepath.Join(dir, "family.sh")
	if err := os.WriteFile(script, []byte(familyScript), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"XDG_STATE_HOME=" + t.TempDir(), "XDG_CONFIG_HOME=" + t.TempDir(), "TERM=xterm-256color"}
	onStdio := func(f family) string { // a provider that brings a family of its own
		return fmt.Sprintf("p=stdio:sh %s %s %s provide --stdio --config %s", script, f.file, bin, provideFile(t, "caps.yaml", capabilitiesYAML))
	}
	starts := map[string]func(t *testing.T, f family){
		"provide": func(t *testing.T, f family) {
			p := startProvideWith(t, provideFile(t, "caps.yaml", fmt.Sprintf("capabilities:\n  - {name: work, command: [sh, %s, %s, sleep, \"414\"], stderr: tail}\n", script, f.file)))
			p.post(t, rawInvoke("task_family", "work"))
		},
		"invoke": func(t *testing.T, f family) {
			cmd := exec.Command(bin, "invoke", "family", "--provider", onStdio(f))
			cmd.Env = append(os.Environ(), env...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			go func() { _ = cmd.Wait() }() // killed
		},
		"dashboard": func(t *testing.T, f family) {
			newScreen(t, 100, 30, env, shellJoin([]string{bin, "--provider", onStdio(f)}))
		},
	}
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			f := family{filepath.Join(t.TempDir(), "pids")}
			start(t, f)
			pids := f.members(t)
			t.Cleanup(func() {
				for _, pid := range pids {
					_ = syscall.Kill(pid, syscall.SIGKILL) // they may be gone
				}
			})
			if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pids["program"])); err != nil || exe != bin {
				t.Fatalf("the program is %s, %v", exe, err)
			}
			if err := syscall.Kill(pids["program"], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			end := time.Now().Add(5 * time.Second)
			for who, pid := range pids {
				for processRuns(pid) {
					if time.Now().After(end) {
						t.Errorf("%s (process %d) lives on", who, pid)
						break
					}
					<-time.After(10 * time.Millisecond)
				}
			}
		})
	}
}
