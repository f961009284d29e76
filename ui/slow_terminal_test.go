//go:build unix

package ui_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/tty"
	"signalbox/ui/uitest"
)

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
// what was lost is made good when it goes on. As much as waits in the program would
// take a busy machine minutes, through the kernel a kilobyte at a time.
func TestStoppedTerminalIsResized(t *testing.T) {
	t.Parallel()
	const limit = 40_000
	l := newLinkOf(t, 0, limit)
	l.shows("work:db:index")
	l.stop()
	before := len(l.written())
	width := linkW
	l.until("frames to be refused", func() bool {
		width = 2*linkW - 1 - width // and back
		l.send(tea.WindowSizeMsg{Width: width, Height: linkH})
		_, err := l.w.Write(nil)
		return errors.Is(err, tty.ErrBehind)
	})
	l.send(tea.WindowSizeMsg{Width: linkW, Height: linkH}, uitest.Key("2"))
	l.goOn()
	l.shows("─ Board")
	l.settles()
	if n := len(l.written()) - before; n < limit || n > 3*limit {
		t.Errorf("%d bytes came", n)
	}
}
