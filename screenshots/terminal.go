package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// terminal is the real program on a pseudo-terminal, with an emulator behind it
// that keeps the cells.
type terminal struct {
	emu  *vt.SafeEmulator
	pty  *os.File
	cmd  *exec.Cmd
	done chan struct{}
	seen atomic.Int64 // bytes the program wrote
}

// start runs the program as the sitting asks.
func start(ctx context.Context, s sitting, bin string) (*terminal, error) {
	cmd := exec.CommandContext(ctx, bin, s.args...)
	cmd.Env = append(os.Environ(), s.env...)
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(s.h), Cols: uint16(s.w)})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", bin, err)
	}
	t := &terminal{emu: vt.NewSafeEmulator(s.w, s.h), pty: f, cmd: cmd, done: make(chan struct{})}
	// The program asks the terminal for its ground and chooses the theme by it.
	t.emu.SetDefaultForegroundColor(s.look.fg)
	t.emu.SetDefaultBackgroundColor(s.look.bg)
	go func() { _, _ = io.Copy(f, t.emu) }() // the terminal's replies to queries
	go func() {
		_, _ = io.Copy(t, f)
		close(t.done)
	}()
	return t, nil
}

// Write takes what the program draws.
func (t *terminal) Write(p []byte) (int, error) {
	t.seen.Add(int64(len(p)))
	return t.emu.Write(p)
}

// quiet waits for a pause between two frames, so that no picture shows half of
// one.
func (t *terminal) quiet() {
	for range 100 {
		n := t.seen.Load()
		time.Sleep(40 * time.Millisecond)
		if t.seen.Load() == n {
			return
		}
	}
}

// text is what the terminal shows, without styles.
func (t *terminal) text() string { return ansi.Strip(t.emu.Render()) }

// waitFor polls until every needle is shown.
func (t *terminal) waitFor(needles ...string) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		shown, missing := t.text(), ""
		for _, n := range needles {
			if !strings.Contains(shown, n) {
				missing = n
			}
		}
		if missing == "" {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%q never appeared; the terminal shows\n%s", missing, shown)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// typeKeys sends raw bytes as a keyboard would.
func (t *terminal) typeKeys(keys string) error {
	_, err := io.WriteString(t.pty, keys)
	return err
}

// close ends the program as a person would and waits for it.
func (t *terminal) close() {
	_ = t.cmd.Process.Signal(os.Interrupt)
	select {
	case <-t.done:
	case <-time.After(5 * time.Second):
		_ = t.cmd.Process.Kill()
	}
	_ = t.cmd.Wait()
	_ = t.pty.Close()
}
