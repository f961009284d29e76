package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"

	"signalbox/ui/input"
	"signalbox/ui/tty"
)

// bombEnv makes this test binary a dashboard that panics in the place it names,
// at the key b.
const bombEnv = "SIGNALBOX_TEST_BOMB"

// bomb is a model that panics where it is told to.
type bomb struct {
	where string
	lit   bool
	bang  func() // in a goroutine of ours
}

func (b *bomb) Init() tea.Cmd { return nil }

func (b *bomb) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok || k.String() != "b" {
		return b, nil
	}
	fire := func() tea.Msg { panic("bomb in a command") }
	switch b.where {
	case "update":
		panic("bomb in update")
	case "view":
		b.lit = true
	case "command":
		return b, fire
	case "batch":
		return b, tea.Batch(func() tea.Msg { return nil }, tea.Batch(fire, fire))
	case "goroutine":
		b.bang()
	}
	return b, nil
}

func (b *bomb) View() tea.View {
	if b.lit {
		panic("bomb in view")
	}
	v := tea.NewView("waiting for the bomb")
	v.AltScreen, v.MouseMode = true, tea.MouseModeCellMotion
	return v
}

// runBomb is the dashboard's own way to run a program, with the bomb as model.
func runBomb(where string) int {
	g := &globals{sys: OS()}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	guard := &crash{stop: cancel}
	var work sync.WaitGroup
	m := &bomb{where: where, bang: func() {
		work.Go(func() { defer guard.catch(); panic("bomb in a goroutine") })
	}}
	keyboard := input.New(os.Stdin)
	p := g.newProgram(&guarded{model: m, crash: guard}, keyboard, tty.New(os.Stdout, tty.Limit, func(bool) {}))
	caught := g.quitOnSignal(ctx, p)
	_, err := p.Run()
	cancel()
	work.Wait()
	if err = errors.Join(guard.report(g.stateDir()), dashboardError(err, caught())); err != nil {
		fmt.Fprintln(os.Stderr, "signalbox: "+err.Error())
		return exitFailed
	}
	return exitOK
}

// B88: wherever it panics, the terminal is as it was, the person reads one line,
// and the stack is in a file.
func TestPanicLeavesTheTerminal(t *testing.T) {
	for _, where := range []string{"update", "view", "command", "batch", "goroutine"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			s := newScreen(t, 100, 20, []string{"XDG_STATE_HOME=" + dir, "TERM=xterm-256color", bombEnv + "=" + where},
				shellJoin([]string{"sh", "-c", `cd "$0"; stty -g >before; "$@"; code=$?; stty -g >after; echo "exit code $code"; exec cat`, dir, self}))
			s.waitText("waiting for the bomb")
			s.keys("b")
			shown := s.waitText("exit code 1", "the program crashed; the report is in")
			if strings.Contains(shown, "goroutine ") || strings.Contains(shown, "panic") {
				t.Errorf("a stack trace reached the user:\n%s", shown)
			}
			if modes := s.modes(); modes != "0 1 0" {
				t.Errorf("the terminal was left as %q", modes)
			}
			before, _ := os.ReadFile(filepath.Join(dir, "before"))
			after, _ := os.ReadFile(filepath.Join(dir, "after"))
			if string(before) != string(after) || len(before) == 0 {
				t.Errorf("the line settings were %q and are %q", before, after)
			}
			reports, _ := filepath.Glob(filepath.Join(dir, "signalbox", "crash-*.txt"))
			if len(reports) != 1 {
				t.Fatalf("%d reports", len(reports))
			}
			if raw, _ := os.ReadFile(reports[0]); !strings.Contains(string(raw), "bomb in") || !strings.Contains(string(raw), "crash_test.go") {
				t.Errorf("the report does not hold the stack:\n%s", raw)
			}
		})
	}
}

// A panic may come while another one, or the leaving, is being looked at: nobody waits
// for the commands under way.
func TestCrashIsSafeToAskAbout(t *testing.T) {
	dir := t.TempDir()
	c := &crash{stop: func() {}}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			defer c.catch()
			panic(fmt.Sprint("bomb ", i))
		})
		_ = c.report(dir)
	}
	all.Wait()
	if err := c.report(dir); err == nil || !strings.Contains(err.Error(), "the report is in ") {
		t.Fatal(err)
	}
}
