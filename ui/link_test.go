//go:build unix

package ui_test

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"signalbox/ui"
	"signalbox/ui/input"
	"signalbox/ui/tty"
	"signalbox/ui/uitest"
)

// patient is longer than any machine needs for what is waited for.
const patient = 30 * time.Second

// link is a dashboard on a real terminal, behind the reader and the writer that it has
// in the program. The terminal can stop taking anything, as after ctrl+s, and what is
// typed can come in pieces. It needs a real clock: what the kernel holds no bubble sees.
type link struct {
	t     *testing.T
	m     *ui.Model
	prog  *tea.Program
	w     *tty.Writer
	owner *uitest.FakeOwner
	emu   *vt.SafeEmulator
	far   *os.File
	done  chan struct{}

	mu      sync.Mutex
	free    *sync.Cond
	stopped bool
	got     []byte
	pressed []string      // the keys that reached the model
	pace    time.Duration // the baud rate: how long a kilobyte takes
}

const linkW, linkH = 200, 60

func newLink(t *testing.T, pace time.Duration) *link {
	t.Helper()
	return newLinkOf(t, pace, tty.Limit)
}

// newLinkOf is a link behind which at most limit bytes and a frame wait.
func newLinkOf(t *testing.T, pace time.Duration, limit int) *link {
	t.Helper()
	far, near, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(near, &pty.Winsize{Cols: linkW, Rows: linkH}); err != nil {
		t.Fatal(err)
	}
	l := &link{t: t, owner: &uitest.FakeOwner{}, emu: vt.NewSafeEmulator(linkW, linkH), far: far, done: make(chan struct{}), pace: pace}
	l.free = sync.NewCond(&l.mu)
	l.w = tty.New(near, limit, func(lost bool) {
		if lost {
			l.prog.Send(tea.ClearScreen())
		}
		l.prog.Send(ui.TerminalReadyMsg{})
	})
	now := time.Now() // no clock moves: two drawings of one state are equal
	l.m = ui.New(t.Context(), ui.Options{Passing: true, Owner: l.owner, TerminalBehind: l.w.Behind, Now: func() time.Time { return now }})
	l.prog = tea.NewProgram(looking{l.m, l}, tea.WithInput(input.New(near)), tea.WithOutput(l.w), tea.WithColorProfile(colorprofile.TrueColor),
		tea.WithEnvironment([]string{"TERM=xterm-256color"}), tea.WithoutSignalHandler(), tea.WithFPS(ui.FrameRate))
	go func() { defer close(l.done); _, _ = l.prog.Run() }()
	read := make(chan struct{})
	go func() { defer close(read); l.read(far) }()
	answered := make(chan struct{})
	go func() { defer close(answered); _, _ = io.Copy(far, l.emu) }() // its answers to queries
	t.Cleanup(func() {
		l.goOn()
		l.prog.Quit()
		<-l.done
		l.w.Drain(patient, patient)
		_ = near.Close()
		<-read
		_ = l.emu.InputPipe().(io.Closer).Close()
		<-answered
		_ = far.Close()
	})
	l.send(ui.FactsMsg{Facts: uitest.Facts(now)})
	return l
}

// read is the terminal.
func (l *link) read(far *os.File) {
	b := make([]byte, 1<<10)
	for {
		n, err := far.Read(b)
		l.mu.Lock()
		for l.stopped {
			l.free.Wait()
		}
		l.got = append(l.got, b[:n]...)
		_, _ = l.emu.Write(b[:n])
		l.mu.Unlock()
		if err != nil {
			return
		}
		time.Sleep(l.pace)
	}
}

// send fails the test where the event loop stands.
func (l *link) send(msgs ...tea.Msg) {
	l.t.Helper()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for _, m := range msgs {
			l.prog.Send(m)
		}
	}()
	select {
	case <-sent:
	case <-time.After(patient):
		l.t.Fatal("the event loop waits for the terminal")
	}
}

// screen is what the terminal shows, without styles.
func (l *link) screen() []string {
	rows := strings.Split(ansi.Strip(l.emu.Render()), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " \r")
	}
	return rows
}

func (l *link) until(what string, ok func() bool) {
	l.t.Helper()
	pause := 5 * time.Millisecond
	for end := time.Now().Add(patient); !ok(); time.Sleep(pause) {
		if time.Now().After(end) {
			l.t.Fatalf("waited for %s\n%s", what, strings.Join(l.screen(), "\n"))
		}
		pause = min(2*pause, 80*time.Millisecond) // to look costs what the terminal needs
	}
}

func (l *link) shows(needle string) {
	l.t.Helper()
	l.until(fmt.Sprintf("%q", needle), func() bool { return strings.Contains(strings.Join(l.screen(), "\n"), needle) })
}

// stop makes the terminal take nothing, and presses keys until the dashboard stands
// before it with more than the kernel holds.
func (l *link) stop() {
	l.t.Helper()
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.until("the terminal to be stuck", func() bool {
		l.send(uitest.Key("3"), uitest.Key("1"))
		return !l.w.Drain(200*time.Millisecond, 200*time.Millisecond)
	})
}

// goOn lets the terminal take what there is.
func (l *link) goOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = false
	l.free.Broadcast()
}

// written is how much the terminal has taken so far.
func (l *link) written() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.got)
}

// look asks the event loop for a fresh drawing.
type look struct{ drawn chan<- string }

// looking is a dashboard that can be asked so, and whose keys are written down.
type looking struct {
	*ui.Model
	l *link
}

func (m looking) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case look:
		msg.drawn <- m.View().Content
		return m, nil
	case tea.KeyPressMsg:
		m.l.mu.Lock()
		m.l.pressed = append(m.l.pressed, msg.String())
		m.l.mu.Unlock()
	}
	_, cmd := m.Model.Update(msg)
	return m, cmd
}

// settles waits until nothing waits for the terminal, and fails unless the terminal
// then shows what a fresh drawing gives.
func (l *link) settles() {
	l.t.Helper()
	l.until("the terminal to have caught up", func() bool { return !l.w.Behind() })
	fresh := make(chan string, 1)
	l.send(look{fresh})
	want := strings.Split(ansi.Strip(<-fresh), "\n")
	for i := range want {
		want[i] = strings.TrimRight(want[i], " ")
	}
	l.until("the screen of a fresh drawing:\n"+strings.Join(want, "\n")+"\nto replace", func() bool { return slices.Equal(l.screen(), want) })
}

// types writes pieces to the program's input, with pause between them.
func (l *link) types(pause time.Duration, pieces ...string) {
	l.t.Helper()
	for i, p := range pieces {
		if i > 0 {
			time.Sleep(pause) // the link that tears them apart
		}
		if _, err := l.far.WriteString(p); err != nil {
			l.t.Fatal(err)
		}
	}
}

// keysUntil waits for key, which is typed last, and gives those that came before it
// since the last call.
func (l *link) keysUntil(key string) []string {
	l.t.Helper()
	var before []string
	l.until("the key "+key, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		n := len(l.pressed) - 1
		if n < 0 || l.pressed[n] != key {
			return false
		}
		before, l.pressed = l.pressed[:n], nil
		return true
	})
	return before
}
