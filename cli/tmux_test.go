package cli

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// screen is a real terminal of its own: one tmux server with one pane.
type screen struct {
	t      *testing.T
	socket string
}

// newScreen runs command, given as a shell line, in a terminal of w x h cells.
// It skips the test where tmux is missing.
func newScreen(t *testing.T, w, h int, env []string, command string) *screen {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed: the test on a real terminal is left out")
	}
	s := &screen{t: t, socket: fmt.Sprintf("signalbox-test-%d-%d", os.Getpid(), time.Now().UnixNano())}
	t.Cleanup(func() { _ = exec.Command("tmux", "-L", s.socket, "kill-server").Run() })
	line := "env " + shellJoin(env) + " " + command
	s.tmux("-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h),
		"exec sleep 1000000") // holds the server until the options stand
	// A test program that is killed or runs out of time cleans up nothing: the server
	// sees to its own end.
	s.tmux("run-shell", "-b", fmt.Sprintf("while kill -0 %d 2>/dev/null; do sleep 1; done; tmux -L %s kill-server", os.Getpid(), s.socket))
	s.tmux("set-option", "-g", "remain-on-exit", "on")
	s.tmux("set-option", "-g", "default-terminal", "tmux-256color")
	s.tmux("respawn-pane", "-k", "-t", "t", line)
	return s
}

func shellJoin(words []string) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString("'" + strings.ReplaceAll(w, "'", `'\''`) + "' ")
	}
	return b.String()
}

func (s *screen) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-L", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// text is what the terminal shows now.
func (s *screen) text() string {
	s.t.Helper()
	return s.tmux("capture-pane", "-p", "-t", "t")
}

// keys types: names like Enter and Escape are keys, all else is text.
func (s *screen) keys(keys ...string) {
	s.t.Helper()
	s.tmux(append([]string{"send-keys", "-t", "t"}, keys...)...)
}

// typed sends text letter by letter, none of it taken as the name of a key.
func (s *screen) typed(text string) {
	s.t.Helper()
	s.tmux("send-keys", "-t", "t", "-l", text)
}

// waitFor polls until ok holds for what is shown and returns it.
func (s *screen) waitFor(what string, ok func(string) bool) string {
	s.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		shown := s.text()
		if ok(shown) {
			return shown
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("waited 20 s for %s; the terminal shows\n%s", what, shown)
		}
		time.Sleep(20 * time.Millisecond) // polling a terminal, with a deadline
	}
}

// waitText waits until every needle is shown.
func (s *screen) waitText(needles ...string) string {
	s.t.Helper()
	return s.waitFor(fmt.Sprintf("%q", needles), func(shown string) bool {
		for _, n := range needles {
			if !strings.Contains(shown, n) {
				return false
			}
		}
		return true
	})
}

// modes reports whether the alternate screen, the cursor and the mouse are on.
func (s *screen) modes() string {
	s.t.Helper()
	return strings.TrimSpace(s.tmux("display-message", "-p", "-t", "t", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"))
}
