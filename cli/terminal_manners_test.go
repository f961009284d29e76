//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
)

// taken is what the terminal took from the byte at on.
func (l *link) taken(at int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.got[at:])
}

// modesOff are all the modes that the dashboard turns on, off again: alternate screen,
// paste, focus and mouse reports, keyboard protocols; and the cursor shown.
var modesOff = []string{"\x1b[?1049l", "\x1b[?2004l", "\x1b[?1004l", "\x1b[?1002l", "\x1b[?1006l", "\x1b[<1u", "\x1b[>4m", "\x1b[?25h"}

// B88: however it ends, the settings of the line are as before and every mode is off.
func TestEveryEndRestoresTheLine(t *testing.T) {
	for name, end := range map[string]func(*link){
		"q":      func(l *link) { l.keys("q") },
		"ctrl+c": func(l *link) { l.keys("\x03") },
		"TERM":   func(l *link) { l.signal(syscall.SIGTERM) },
		"INT":    func(l *link) { l.signal(syscall.SIGINT) },
		"HUP":    func(l *link) { l.signal(syscall.SIGHUP) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLink(t)
			l.shows("NEEDS YOU", "local")
			raw, err := term.GetState(l.pty.Fd())
			if err != nil {
				t.Fatal(err)
			}
			if reflect.DeepEqual(raw, l.before) {
				t.Error("the line was never raw: the test sees nothing")
			}
			end(l)
			err = l.ended()
			if well := name == "q" || name == "ctrl+c"; well != (err == nil) {
				t.Errorf("it ended with %v", err)
			}
			after, err := term.GetState(l.pty.Fd())
			if err == nil && !reflect.DeepEqual(after, l.before) {
				t.Errorf("the line was %+v and is %+v", l.before, after)
			}
			for _, off := range modesOff {
				l.h.wait(fmt.Sprintf("%q", off), func() bool { return strings.Contains(l.taken(0), off) })
			}
			out := l.taken(0)
			for _, off := range modesOff {
				if on := strings.LastIndex(out, strings.NewReplacer("l", "h", "?25h", "?25l", "<1u", ">1u", "\x1b[>4m", "\x1b[>4;2m").Replace(off)); on > strings.LastIndex(out, off) {
					t.Errorf("%q was not the last word", off)
				}
			}
		})
	}
}

// signal sends one to the dashboard.
func (l *link) signal(s syscall.Signal) {
	if err := l.cmd.Process.Signal(s); err != nil {
		l.h.t.Error(err)
	}
}

// ended waits for the end of the dashboard.
func (l *link) ended() error {
	l.h.t.Helper()
	select {
	case err := <-l.exit:
		l.exit <- err
		return err
	case <-time.After(60 * time.Second):
		l.h.t.Fatal("it runs on")
		return nil
	}
}

// B94: behind the editor the dashboard has its modes again, the size that the window
// has by now, and what happened meanwhile.
func TestBackFromTheEditor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	editor := filepath.Join(dir, "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nprintf 'the editor has it '\nread line\necho written >\"$1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	l := newLink(t, "VISUAL="+editor)
	l.shows("NEEDS YOU", "local")
	l.h.put("work:a")
	l.keys("2")
	l.shows("work:a")
	begin := len(l.taken(0))
	l.keys("e")
	l.h.wait("the editor", func() bool { return strings.Contains(l.taken(begin), "the editor has it") })
	for _, off := range modesOff {
		if !strings.Contains(l.taken(begin), off) {
			t.Errorf("the editor found %q undone", off)
		}
	}
	l.h.put("work:meanwhile")
	const narrower = linkW - 30
	l.emu.Resize(narrower, linkH)
	if err := pty.Setsize(l.pty, &pty.Winsize{Cols: narrower, Rows: linkH}); err != nil {
		t.Fatal(err)
	}
	back := len(l.taken(0))
	l.keys("\r")
	l.shows("Post on work:a", "written", "work:meanwhile")
	l.h.wait("a frame of the new width", func() bool {
		for _, row := range strings.Split(l.screen(), "\n")[:2] {
			if w := ansi.StringWidth(strings.TrimRight(row, " \r")); w > narrower || w < narrower-8 {
				return false
			}
		}
		return true
	})
	for _, on := range []string{"\x1b[?1049h", "\x1b[?2004h", "\x1b[?1004h", "\x1b[?1002h", "\x1b[?1006h"} {
		if !strings.Contains(l.taken(back), on) {
			t.Errorf("%q does not come back", on)
		}
	}
}

// B92, B93: where the output is no terminal, or one that places nothing, not a byte of
// a frame is written.
func TestNoFrameWhereNoneCanBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  []string
		pipe bool
		want string
	}{
		"output is a pipe": {[]string{"TERM=xterm-256color"}, true, "standard output is none"},
		"TERM is dumb":     {[]string{"TERM=dumb"}, false, `TERM is "dumb"`},
		"TERM is not set":  {nil, false, `TERM is ""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			far, near, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer far.Close()
			cmd := exec.CommandContext(t.Context(), binary(t))
			cmd.Env = append([]string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin"}, c.env...)
			var said bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = near, near, &said
			if c.pipe {
				cmd.Stdout = &said
			}
			read := make(chan []byte)
			go func() { b, _ := io.ReadAll(far); read <- b }()
			_ = cmd.Run()
			_ = near.Close()
			if code := cmd.ProcessState.ExitCode(); code != exitUsage || !strings.Contains(said.String(), c.want) || strings.Count(said.String(), "\n") != 1 {
				t.Errorf("exit code %d\n%s", code, said.String())
			}
			if b := <-read; len(b) > 0 || strings.Contains(said.String(), "\x1b") {
				t.Errorf("written to the terminal: %q, %q", b, said.String())
			}
		})
	}
}

// anyColour is a sequence that sets one.
var anyColour = regexp.MustCompile(`\x1b\[([0-9]+;)*(3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]`)

// B93: NO_COLOR takes the colours and nothing else; an empty one does nothing.
func TestNoColor(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]bool{"NO_COLOR=1": false, "NO_COLOR=": true} {
		t.Run(env, func(t *testing.T) {
			t.Parallel()
			l := newLink(t, env)
			l.shows("NEEDS YOU", "local")
			if got := anyColour.MatchString(l.taken(0)); got != want {
				t.Errorf("colours: %v", got)
			}
		})
	}
}

// B03: where lines and arrows are said to be two cells wide, only ASCII is drawn.
func TestWideSignsMeanASCII(t *testing.T) {
	t.Parallel()
	l := newLink(t, "RUNEWIDTH_EASTASIAN=1", "LC_ALL=ja_JP.UTF-8")
	l.shows("NEEDS YOU", "local")
	l.h.put("work:" + strings.Repeat("a-long-name-", 5))
	for _, k := range []string{"1", "2", "3", "?", "\x1b", "2", "n"} {
		l.keys(k)
		l.h.wait("only ASCII", func() bool { return strings.IndexFunc(l.screen(), func(r rune) bool { return r > 0x7e }) < 0 })
	}
	l.shows("New work item")
}
