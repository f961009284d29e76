package ui_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// output is one more line of a task.
func output(task string, seq int64, line string) fleet.Fact {
	data, _ := json.Marshal(line + "\n")
	return fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventChunk, TaskID: task, At: time.Now(), Provider: "local",
		Seq: seq, Chunk: acmp.Payload{Type: "text", Data: data}}}
}

// endsSoon fails unless the program ends within a second of the terminal's time.
func (r *rig) endsSoon(what string) {
	r.t.Helper()
	for begin := time.Now(); !r.Ended(); r.Wait(10 * time.Millisecond) {
		if d := time.Since(begin); d > time.Second {
			r.t.Fatalf("%s: it runs on after %v\n%s", what, d, r.Screen())
		}
	}
}

// B86: q ends the program within a second, whatever streams in at that moment, two
// hundred times over at sixteen phases of the frame, and whoever sends is let go. A
// sender that stayed would fail the bubble.
func TestQuitWhileEverythingStreams(t *testing.T) {
	for n := range 200 {
		bubble(t, func(t *testing.T) {
			r := open(t, ui.Options{Passing: true}, uitest.Options{W: 80, H: 24})
			var begun []fleet.Fact
			for i := range streams {
				begun = append(begun, uitest.TaskFacts(fmt.Sprint("task_", i), "x", time.Now())[0])
			}
			r.facts(begun...)
			stop := make(chan struct{})
			for i := range streams {
				go r.stream(fmt.Sprint("task_", i), stop)
			}
			r.Wait(25*time.Millisecond + time.Duration(n%16)*2*time.Millisecond)
			r.Program().Send(uitest.Key("q"))
			r.endsSoon("q under load")
			r.Wait(50 * time.Millisecond) // the senders go on against a program that has ended
			close(stop)
		})
	}
}

// streams is how many tasks stream at once.
const streams = 20

// stream sends a line of a task a hundred times a second, until stop is closed.
func (r *rig) stream(task string, stop <-chan struct{}) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for seq := int64(0); ; seq++ {
		select {
		case <-stop:
			return
		case <-tick.C:
			r.Program().Send(ui.FactsMsg{Facts: []fleet.Fact{output(task, seq, "a line")}})
		}
	}
}

// B86: q ends the program before its first frame, and while the owner owes an
// answer.
func TestQuitAtBadMoments(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := tea.NewProgram(ui.New(t.Context(), ui.Options{}), tea.WithInput(strings.NewReader("")), tea.WithOutput(io.Discard),
			tea.WithWindowSize(80, 24), tea.WithoutSignalHandler())
		done := make(chan struct{})
		go func() { defer close(done); _, _ = p.Run() }()
		p.Send(uitest.Key("q"))
		select {
		case <-done:
		case <-time.After(time.Second):
			t.Error("before the first frame: it runs on")
			p.Kill()
			<-done
		}
		time.Sleep(10 * time.Minute) // what it had begun runs out
		synctest.Wait()
	})
	bubble(t, func(t *testing.T) {
		owner := &uitest.FakeOwner{Hold: make(chan struct{})}
		r := world(t, ui.Options{Owner: owner, Passing: true}, uitest.Options{W: 120, H: 40})
		r.to("decide")
		r.Keys("d", "y")
		if len(owner.Acts()) != 1 {
			t.Fatalf("nothing is under way\n%s", r.Screen())
		}
		r.Program().Send(uitest.Key("q"))
		r.endsSoon("q while the owner owes an answer")
	})
}

// B95: one more line of output on a large screen costs a slow link less than 500
// bytes, and the screen is not cleared for it.
func TestOneLineIsFewBytes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 200, H: 60})
		r.Keys("3")
		r.facts(output("task_b1b2b3b4b5", 5, "alive again"))
		for n := range 5 {
			before := len(r.Written())
			r.facts(output("task_b1b2b3b4b5", int64(6+n), fmt.Sprint("fresh line ", n)))
			r.Must(fmt.Sprint("fresh line ", n))
			wrote := r.Written()[before:]
			if len(wrote) > 500 || strings.Contains(wrote, "\x1b[2J") || strings.Contains(wrote, "\x1b[J") {
				t.Errorf("line %d: %d bytes: %.600q", n, len(wrote), wrote)
			}
		}
	})
}
