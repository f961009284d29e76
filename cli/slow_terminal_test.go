//go:build unix

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// link is the dashboard behind a terminal that can stop taking anything, which tmux
// never does.
type link struct {
	h      *homeBox
	emu    *vt.SafeEmulator
	pty    *os.File
	cmd    *exec.Cmd
	exit   chan error
	before *term.State // of the line

	mu      sync.Mutex
	free    *sync.Cond
	stopped bool
	got     []byte
}

const linkW, linkH = 160, 50

func newLink(t *testing.T, env ...string) *link {
	t.Helper()
	l := &link{h: newHome(t), emu: vt.NewSafeEmulator(linkW, linkH), exit: make(chan error, 1)}
	l.free = sync.NewCond(&l.mu)
	cmd := exec.CommandContext(t.Context(), binary(t))
	l.cmd = cmd
	cmd.Env = []string{"XDG_STATE_HOME=" + l.h.dir, "XDG_CONFIG_HOME=" + l.h.dir, "HOME=" + l.h.dir, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color"}
	cmd.Env = append(cmd.Env, env...)
	near := l.openLine()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = near, near, near
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read, answered := make(chan struct{}), make(chan struct{})
	go func() { defer close(read); l.read() }()
	go func() {
		defer close(answered)
		b := make([]byte, 256)
		for {
			n, err := l.emu.Read(b)
			if err != nil {
				return
			}
			_, _ = l.pty.Write(b[:n])
		}
	}()
	go func() { l.exit <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = near.Close()
		l.hold(false)
		_ = cmd.Process.Signal(os.Interrupt)
		<-l.exit
		_ = l.pty.Close()
		<-read
		_ = l.emu.InputPipe().(interface{ Close() error }).Close()
		<-answered
	})
	return l
}

// openLine opens the terminal and gives the program's side of it, which stays open so
// that the settings of the line can be read beyond the program's end.
func (l *link) openLine() *os.File {
	l.h.t.Helper()
	far, near, err := pty.Open()
	if err != nil {
		l.h.t.Fatal(err)
	}
	l.pty = far
	if err := pty.Setsize(far, &pty.Winsize{Cols: linkW, Rows: linkH}); err != nil {
		l.h.t.Fatal(err)
	}
	if l.before, err = term.GetState(far.Fd()); err != nil {
		l.h.t.Fatal(err)
	}
	return near
}

// read is the terminal.
func (l *link) read() {
	b := make([]byte, 1<<10)
	for {
		n, err := l.pty.Read(b)
		l.mu.Lock()
		for l.stopped {
			l.free.Wait()
		}
		l.got = append(l.got, b[:n]...)
		l.mu.Unlock()
		_, _ = l.emu.Write(b[:n])
		if err != nil {
			return
		}
	}
}

// hold makes the terminal take nothing, or lets it go on.
func (l *link) hold(stopped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = stopped
	l.free.Broadcast()
}

// stop makes the terminal take nothing, and draws far more than the kernel holds.
func (l *link) stop() {
	l.hold(true)
	for range 60 {
		l.keys("3")
		l.keys("2")
	}
}

// keys presses keys, each for a frame of its own.
func (l *link) keys(each ...string) {
	for _, k := range each {
		_, _ = l.pty.WriteString(k)
		time.Sleep(30 * time.Millisecond) // a person's pace, not a synchronisation
	}
}

func (l *link) screen() string { return ansi.Strip(l.emu.Render()) }

func (l *link) shows(needles ...string) {
	l.h.t.Helper()
	for _, n := range needles {
		l.h.wait("the screen to show "+n, func() bool { return strings.Contains(l.screen(), n) })
	}
}

// moving are the signs of the screen that another second changes.
var moving = regexp.MustCompile(`\bnow\b|[\d.]+[smh]?|\s+`)

// still is the screen without what time changes.
func (l *link) still() string { return moving.ReplaceAllString(l.screen(), " ") }

// B95: while the terminal takes nothing, what the lead presses reaches the owner; then
// the terminal shows what a fresh drawing would, and got none of the frames between.
func TestActsBehindAStoppedTerminal(t *testing.T) {
	t.Parallel()
	l := newLink(t)
	l.shows("NEEDS YOU", "local")
	l.h.put("work:a")
	l.keys("2")
	l.shows("work:a")
	l.stop()
	before := len(l.got)
	l.keys("p", "\r")
	l.keys(strings.Split("unseen", "")...)
	l.keys("\x13")
	l.h.wait("the entry to arrive", func() bool {
		d, err := l.h.lead().Detail(t.Context(), "work:a")
		return err == nil && len(d.Entries) == 1 && d.Entries[0].Entry.Summary == "unseen"
	})
	l.hold(false)
	l.shows("─ Board")
	l.h.wait("the form to close", func() bool { return !strings.Contains(l.screen(), "Post on") })
	l.keys("4")
	l.shows("─ Feed", "unseen")
	l.h.wait("the toasts to go", func() bool { return !strings.Contains(l.screen(), "post work:a: done") })
	l.mu.Lock()
	got := slices.Clone(l.got[before:])
	l.mu.Unlock()
	if bytes.Contains(got, []byte("\x1b[2J")) || len(got) > 150_000 {
		t.Errorf("%d bytes came, the screen cleared: %v", len(got), bytes.Contains(got, []byte("\x1b[2J")))
	}
	// A frame comes in pieces: what stands is what has not changed for a while.
	drawn, since := l.still(), time.Now()
	l.h.wait("the screen to stand still", func() bool {
		if now := l.still(); now != drawn {
			drawn, since = now, time.Now()
		}
		return time.Since(since) > time.Second
	})
	for _, w := range []uint16{linkW - 1, linkW} { // each draws everything anew
		l.emu.Resize(int(w), linkH)
		if err := pty.Setsize(l.pty, &pty.Winsize{Cols: w, Rows: linkH}); err != nil {
			t.Fatal(err)
		}
		l.h.wait("a whole frame", func() bool {
			top, _, _ := strings.Cut(l.screen(), "\n")
			return ansi.StringWidth(strings.TrimRight(top, "\r")) == int(w) && strings.Contains(l.screen(), "─ Feed")
		})
	}
	for end := time.Now().Add(20 * time.Second); l.still() != drawn; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("what was drawn over the stop is not what is drawn anew:\n%s\n%s", drawn, l.still())
		}
	}
}

// A terminal that takes nothing is left all the same.
func TestQuitBehindAStoppedTerminal(t *testing.T) {
	t.Parallel()
	l := newLink(t)
	l.shows("NEEDS YOU", "local")
	l.stop()
	l.keys("q")
	if err := l.ended(); err != nil {
		t.Error(err)
	}
}
