//go:build unix

package ui_test

import (
	"bytes"
	"fmt"
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

	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/tty"
	"signalbox/ui/uitest"
)

// patient is longer than any machine needs for what is waited for.
const patient = 30 * time.Second

// link is a dashboard on a real terminal that can stop taking anything, as after
// ctrl+s. It needs a real clock: what the kernel holds no bubble sees.
type link struct {
	t     *testing.T
	m     *ui.Model
	prog  *tea.Program
	w     *tty.Writer
	owner *uitest.FakeOwner
	emu   *vt.SafeEmulator
	near  *os.File
	done  chan struct{}

	mu      sync.Mutex
	free    *sync.Cond
	stopped bool
	got     []byte
	pace    time.Duration // the baud rate: how long a kilobyte takes
}

const linkW, linkH = 200, 60

func newLink(t *testing.T, pace time.Duration) *link {
	t.Helper()
	far, near, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(near, &pty.Winsize{Cols: linkW, Rows: linkH}); err != nil {
		t.Fatal(err)
	}
	l := &link{t: t, owner: &uitest.FakeOwner{}, emu: vt.NewSafeEmulator(linkW, linkH), near: near, done: make(chan struct{}), pace: pace}
	l.free = sync.NewCond(&l.mu)
	l.w = tty.New(near, func(lost bool) {
		if lost {
			l.prog.Send(tea.ClearScreen())
		}
		l.prog.Send(ui.TerminalReadyMsg{})
	})
	now := time.Now() // no clock moves: two drawings of one state are equal
	l.m = ui.New(t.Context(), ui.Options{Passing: true, Owner: l.owner, TerminalBehind: l.w.Behind, Now: func() time.Time { return now }})
	l.prog = tea.NewProgram(looking{l.m}, tea.WithInput(nil), tea.WithOutput(l.w), tea.WithColorProfile(colorprofile.TrueColor),
		tea.WithEnvironment([]string{"TERM=xterm-256color"}), tea.WithoutSignalHandler(), tea.WithFPS(ui.FrameRate))
	go func() { defer close(l.done); _, _ = l.prog.Run() }()
	read := make(chan struct{})
	go func() { defer close(read); l.read(far) }()
	t.Cleanup(func() {
		l.goOn()
		l.prog.Quit()
		<-l.done
		l.w.Drain(patient, patient)
		_ = near.Close()
		<-read
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
	for end := time.Now().Add(patient); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			l.t.Fatalf("waited for %s\n%s", what, strings.Join(l.screen(), "\n"))
		}
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

// looking is a dashboard that can be asked so.
type looking struct{ *ui.Model }

func (m looking) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if l, ok := msg.(look); ok {
		l.drawn <- m.View().Content
		return m, nil
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

// B95: while the terminal takes nothing, keys act and facts are taken in; what is
// drawn meanwhile is skipped and not queued, and once the terminal goes on it shows
// what a fresh drawing would, without having been cleared.
func TestStoppedTerminal(t *testing.T) {
	t.Parallel()
	l := newLink(t, 0)
	l.shows("work:db:index")
	l.stop()
	before := len(l.written())
	for n := range 1000 {
		l.send(ui.FactsMsg{Facts: []fleet.Fact{output("task_b1b2b3b4b5", int64(5+n), fmt.Sprint("fresh line ", n))}})
	}
	for range 50 { // each is worth a frame of its own
		l.send(uitest.Key("3"))
		time.Sleep(time.Second / ui.FrameRate)
		l.send(uitest.Key("1"))
		time.Sleep(time.Second / ui.FrameRate)
	}
	for _, k := range []string{"home", "d", "y"} {
		l.send(uitest.Key(k))
	}
	l.until("the act to arrive", func() bool { return len(l.owner.Acts()) == 1 })
	if !l.w.Behind() || len(l.written()) != before {
		t.Fatal("the terminal has taken something meanwhile")
	}
	l.send(uitest.Key("3"))
	l.goOn()
	l.shows("fresh line 999")
	l.settles()
	wrote := l.written()[before:]
	if bytes.Contains(wrote, []byte("\x1b[2J")) || bytes.Contains(wrote, []byte("\x1b[J")) {
		t.Error("the screen was cleared")
	}
	if len(wrote) > 100_000 {
		t.Errorf("%d bytes came: the frames were queued", len(wrote))
	}
}

// B95: over a slow link twelve busy tasks are shown as they are now; it never falls
// behind by more than what the kernel holds and a frame or two.
func TestSlowLink(t *testing.T) {
	t.Parallel()
	l := newLink(t, 50*time.Millisecond)
	l.shows("work:db:index")
	for n := range 12 {
		l.send(ui.FactsMsg{Facts: uitest.TaskFacts(fmt.Sprint("task_busy_", n), "busy", time.Now())})
	}
	l.send(uitest.Key("3"))
	for seq := range 60 {
		for n := range 12 {
			l.send(ui.FactsMsg{Facts: []fleet.Fact{output(fmt.Sprint("task_busy_", n), int64(5+seq), strings.Repeat(fmt.Sprint(seq, " "), 60))}})
		}
		time.Sleep(time.Second / ui.FrameRate)
	}
	before := len(l.written())
	l.send(uitest.Key("2"))
	l.shows("─ Board")
	if n := len(l.written()) - before; n > 100_000 {
		t.Errorf("%d bytes came before what was asked for", n)
	}
	l.settles()
}

// A stopped terminal whose window changes all the time is not drawn for without end;
// what was lost is made good when it goes on.
func TestStoppedTerminalIsResized(t *testing.T) {
	t.Parallel()
	l := newLink(t, 0)
	l.shows("work:db:index")
	l.stop()
	before := len(l.written())
	for n := range 200 {
		l.send(tea.WindowSizeMsg{Width: linkW - n%2, Height: linkH})
		time.Sleep(time.Second / ui.FrameRate)
		if _, err := l.w.Write(nil); err != nil {
			break
		}
	}
	l.send(tea.WindowSizeMsg{Width: linkW, Height: linkH}, uitest.Key("2"))
	l.goOn()
	l.shows("─ Board")
	l.settles()
	if n := len(l.written()) - before; n < tty.Limit || n > tty.Limit+300_000 {
		t.Errorf("%d bytes came", n)
	}
}
