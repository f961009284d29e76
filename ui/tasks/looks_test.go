package tasks_test

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
	"signalbox/ui/pane/worlds"
	"signalbox/ui/queue"
	"signalbox/ui/screen"
	"signalbox/ui/tasks"
	"signalbox/ui/theme"
)

// troubled is the canonical world with one task more, in one of four troubles
// that its events tell.
func troubled(events func(tell func(age time.Duration, kind acmp.EventKind, change func(*acmp.TaskEvent)))) *fleet.State {
	st := worlds.One()
	tell := func(age time.Duration, kind acmp.EventKind, change func(*acmp.TaskEvent)) {
		ev := acmp.TaskEvent{Kind: kind, TaskID: "task_look", Provider: "local", At: worlds.Now.Add(-age)}
		if change != nil {
			change(&ev)
		}
		st.Apply(fleet.TaskHappened{Event: ev})
	}
	tell(10*time.Minute, acmp.EventSent, func(ev *acmp.TaskEvent) {
		ev.HeartbeatInterval, ev.Deadline, ev.Attempt = 5*time.Second, worlds.Now.Add(time.Hour), 1
		ev.Params = &acmp.InvokeParams{TaskID: "task_look", Capability: "looks", Stream: true}
	})
	events(tell)
	return st
}

// Promise 3, A-135, B93: hung but beating, silent but working, dead and cut off
// from its link are told apart by words and glyphs alone, under NO_COLOR, on the
// row of the Tasks screen, in the facts beside it and on the row of the queue.
func TestFourTroublesUnderNoColor(t *testing.T) {
	type tell = func(time.Duration, acmp.EventKind, func(*acmp.TaskEvent))
	beat := func(ev *acmp.TaskEvent) { ev.Detail = "linting" }
	cases := []struct {
		word   string
		events func(tell)
	}{
		{"running", func(tell tell) {
			tell(time.Second, acmp.EventChunk, func(ev *acmp.TaskEvent) { ev.Chunk = acmp.Text("a line\n") })
		}},
		{"hung", func(tell tell) {
			tell(5*time.Minute, acmp.EventHeartbeat, beat)
			tell(time.Second, acmp.EventHeartbeat, beat)
		}},
		{"stalled", func(tell tell) {
			tell(12*time.Second, acmp.EventChunk, func(ev *acmp.TaskEvent) { ev.Chunk = acmp.Text("a line\n") })
			tell(2*time.Second, acmp.EventStalled, nil)
		}},
		{"dead", func(tell tell) {
			tell(16*time.Second, acmp.EventHeartbeat, beat)
			tell(6*time.Second, acmp.EventStalled, nil)
		}},
		{"link lost", func(tell tell) {
			tell(2*time.Second, acmp.EventHeartbeat, beat)
			tell(time.Second, acmp.EventStreamBroken, nil)
		}},
	}
	for _, where := range []struct {
		name string
		make func() screen.Screen
		find string
	}{
		{"row of tasks", func() screen.Screen { return tasks.New() }, "task_look"},
		{"facts of tasks", func() screen.Screen { return tasks.New() }, "│ life "},
		{"row of queue", func() screen.Screen { return queue.New() }, "▌ task_look"},
		{"context of queue", func() screen.Screen { return queue.New() }, "life "},
	} {
		seen := map[string]string{}
		for _, cs := range cases {
			c := worlds.Ctx(troubled(cs.events), 178, 46)
			c.Styles = theme.New(theme.Options{Depth: theme.NoColor})
			s := where.make()
			if !s.Select(c, screen.Task("task_look")) {
				t.Fatalf("%s: the task is not there", where.name)
			}
			view := s.View(c)
			if strings.Contains(view, "[3") || strings.Contains(view, "8;") {
				t.Errorf("%s: a colour under NO_COLOR", where.name)
			}
			look := lineWith(ansi.Strip(view), where.find)
			t.Logf("%-16s %-9s %s", where.name, cs.word, look)
			if look == "" {
				t.Fatalf("%s: no %q\n%s", where.name, where.find, ansi.Strip(view))
			}
			if other, ok := seen[look]; ok {
				t.Errorf("%s: %s and %s look alike: %q", where.name, cs.word, other, look)
			}
			seen[look] = cs.word
			if strings.HasPrefix(where.name, "row") && !strings.Contains(look, cs.word) {
				t.Errorf("%s: %q is not said: %q", where.name, cs.word, look)
			}
		}
	}
}

// lineWith is the first line with find in it, without numbers: an age is no look.
func lineWith(view, find string) string {
	for l := range strings.Lines(view) {
		if strings.Contains(l, find) {
			return strings.Map(func(r rune) rune {
				if '0' <= r && r <= '9' || r == '.' {
					return -1
				}
				return r
			}, strings.TrimSpace(l))
		}
	}
	return ""
}
