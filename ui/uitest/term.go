package uitest

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// settle is over one tick of the renderer, of fake time.
const settle = 100 * time.Millisecond

// Options change how a program is started.
type Options struct {
	W, H    int // 0: 80×24
	Profile colorprofile.Profile
	Env     []string
	Filter  func(tea.Model, tea.Msg) tea.Msg
	// Light makes the terminal report a white background.
	Light bool
	// Mute makes the terminal answer no query at all.
	Mute bool
}

// Term is a running program on an emulated terminal.
type Term struct {
	t    testing.TB
	emu  *vt.SafeEmulator
	prog *tea.Program
	in   *pipe
	done chan struct{}

	mu    sync.Mutex
	title string
	bells int
	raw   bytes.Buffer

	// Err and Final are what Run returned; they hold after Done.
	Err   error
	Final tea.Model
}

// Start runs m until the test ends. It must be called in a synctest bubble.
func Start(t testing.TB, m tea.Model, o Options) *Term {
	t.Helper()
	if o.W == 0 {
		o.W, o.H = 80, 24
	}
	if o.Profile == colorprofile.Unknown {
		o.Profile = colorprofile.TrueColor
	}
	tm := &Term{t: t, emu: vt.NewSafeEmulator(o.W, o.H), in: newPipe(), done: make(chan struct{})}
	if o.Light {
		tm.emu.SetDefaultBackgroundColor(ansi.HexColor("#ffffff"))
	}
	tm.emu.SetCallbacks(vt.Callbacks{
		Title: func(s string) { tm.title = s },
		Bell:  func() { tm.bells++ },
	})
	replies := io.Writer(tm.in)
	if o.Mute {
		replies = io.Discard
	}
	go func() { _, _ = io.Copy(replies, tm.emu) }()
	env := append([]string{"TERM=xterm-256color"}, o.Env...)
	opts := []tea.ProgramOption{
		tea.WithInput(tm.in), tea.WithOutput(out{tm}), tea.WithWindowSize(o.W, o.H),
		tea.WithEnvironment(env), tea.WithColorProfile(o.Profile), tea.WithoutSignalHandler(),
	}
	if o.Filter != nil {
		opts = append(opts, tea.WithFilter(o.Filter))
	}
	tm.prog = tea.NewProgram(m, opts...)
	go func() {
		defer close(tm.done)
		tm.Final, tm.Err = tm.prog.Run()
	}()
	t.Cleanup(tm.stop)
	tm.Settle()
	return tm
}

// stop ends the program and the goroutines of the emulator.
func (tm *Term) stop() {
	tm.prog.Quit()
	<-tm.done
	tm.in.close()
	// Emulator.Close races with Read; closing its pipe does not.
	if c, ok := tm.emu.InputPipe().(io.Closer); ok {
		_ = c.Close()
	}
	// A bubble's clock stops with its test: let every timer under way run out.
	time.Sleep(leftovers)
	synctest.Wait()
}

// leftovers is longer than any timer of the program, of fake time.
const leftovers = 10 * time.Minute

// Settle waits until what was sent is on the screen.
func (tm *Term) Settle() { tm.Wait(settle) }

// Wait lets d of fake time pass.
func (tm *Term) Wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Send gives the program a message and waits for the screen.
func (tm *Term) Send(msgs ...tea.Msg) {
	for _, m := range msgs {
		tm.prog.Send(m)
	}
	tm.Settle()
}

// Keys presses keys by their names ("a", "enter", "ctrl+c", "space"), one after
// the other, and waits for the screen after each.
func (tm *Term) Keys(names ...string) {
	for _, n := range names {
		tm.Send(Key(n))
	}
}

// Type types text key by key.
func (tm *Term) Type(text string) {
	for _, r := range text {
		tm.prog.Send(Key(string(r)))
	}
	tm.Settle()
}

// Raw puts bytes on the program's input as the terminal would.
func (tm *Term) Raw(s string) {
	_, _ = tm.in.Write([]byte(s))
	tm.Settle()
}

// Click presses and releases the left button at column x, row y.
func (tm *Term) Click(x, y int) {
	tm.Send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}, tea.MouseReleaseMsg{X: x, Y: y, Button: tea.MouseLeft})
}

// Wheel turns the wheel at column x, row y by n notches, down if positive.
func (tm *Term) Wheel(x, y, n int) {
	b := tea.MouseWheelDown
	if n < 0 {
		b, n = tea.MouseWheelUp, -n
	}
	for range n {
		tm.prog.Send(tea.MouseWheelMsg{X: x, Y: y, Button: b})
	}
	tm.Settle()
}

// Resize changes the terminal's size.
func (tm *Term) Resize(w, h int) {
	if w > 0 && h > 0 {
		tm.emu.Resize(w, h)
	}
	tm.Send(tea.WindowSizeMsg{Width: w, Height: h})
}

// Screen is the text on the screen without styles, one line per row.
func (tm *Term) Screen() string {
	lines := strings.Split(ansi.Strip(tm.emu.Render()), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \r")
	}
	return strings.Join(lines, "\n")
}

// Styled is the screen with its styles as escape sequences.
func (tm *Term) Styled() string { return tm.emu.Render() }

// Row is one row of the screen, from 0.
func (tm *Term) Row(y int) string {
	lines := strings.Split(tm.Screen(), "\n")
	if y < 0 || y >= len(lines) {
		return ""
	}
	return lines[y]
}

// Find gives column and row of needle, or -1, -1.
func (tm *Term) Find(needle string) (x, y int) {
	for i, l := range strings.Split(tm.Screen(), "\n") {
		if at := strings.Index(l, needle); at >= 0 {
			return ansi.StringWidth(l[:at]), i
		}
	}
	return -1, -1
}

// Has reports whether needle is on the screen.
func (tm *Term) Has(needle string) bool { return strings.Contains(tm.Screen(), needle) }

// Must fails the test with the screen unless every needle is on it.
func (tm *Term) Must(needles ...string) {
	tm.t.Helper()
	for _, n := range needles {
		if !tm.Has(n) {
			tm.t.Fatalf("not on the screen: %q\n%s", n, tm.Screen())
		}
	}
}

// MustNot fails the test with the screen if a needle is on it.
func (tm *Term) MustNot(needles ...string) {
	tm.t.Helper()
	for _, n := range needles {
		if tm.Has(n) {
			tm.t.Fatalf("on the screen: %q\n%s", n, tm.Screen())
		}
	}
}

// Cell is the cell at column x, row y.
func (tm *Term) Cell(x, y int) *uv.Cell { return tm.emu.CellAt(x, y) }

// Title is the window title.
func (tm *Term) Title() string { return tm.title }

// Bells counts the bells rung.
func (tm *Term) Bells() int { return tm.bells }

// AltScreen reports whether the alternate screen is up.
func (tm *Term) AltScreen() bool { return tm.emu.IsAltScreen() }

// CursorHidden reports whether the terminal's cursor is hidden.
func (tm *Term) CursorHidden() bool { return tm.emu.CursorHidden() }

// Written is everything the program wrote to the terminal so far, as bytes.
func (tm *Term) Written() string {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	return tm.raw.String()
}

// Ended reports whether the program has ended.
func (tm *Term) Ended() bool {
	select {
	case <-tm.done:
		return true
	default:
		return false
	}
}

// Program is the running program.
func (tm *Term) Program() *tea.Program { return tm.prog }

// out is the program's side of the terminal: the kernel would turn line feeds
// into CR LF.
type out struct{ tm *Term }

func (o out) Write(p []byte) (int, error) {
	o.tm.mu.Lock()
	o.tm.raw.Write(p)
	o.tm.mu.Unlock()
	if _, err := o.tm.emu.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// pipe is an unbounded byte queue: the emulator answers queries while the
// program writes, and must never wait for the program to read.
type pipe struct {
	mu     sync.Mutex
	wake   *sync.Cond
	buf    bytes.Buffer
	closed bool
}

func newPipe() *pipe {
	p := &pipe{}
	p.wake = sync.NewCond(&p.mu)
	return p
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.buf.Write(b)
	p.wake.Broadcast()
	return len(b), nil
}

func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.buf.Len() == 0 && !p.closed {
		p.wake.Wait()
	}
	if p.buf.Len() == 0 {
		return 0, io.EOF
	}
	return p.buf.Read(b)
}

func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.wake.Broadcast()
}
