package tasks

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
	"signalbox/ui/pane"
	"signalbox/ui/pane/worlds"
	"signalbox/ui/screen"
	"signalbox/ui/uitest"
)

// A-160, H-096, house rule 31.
func TestSweep(t *testing.T) {
	worlds.Sweep(t, func() screen.Screen { return New() })
	worlds.Sweep(t, func() screen.Screen { s := New(); s.output = true; return s })
}

// B93: state can be read without colour and without more than ASCII.
func TestPlain(t *testing.T) { worlds.Plain(t, func() screen.Screen { return New() }) }

func press(s *Screen, c *screen.Ctx, keys ...string) (out screen.Intent) {
	for _, k := range keys {
		out = s.Update(c, uitest.Key(k))
	}
	return out
}

func view(s *Screen, c *screen.Ctx) string { return ansi.Strip(s.View(c)) }

// A-135, promise 3: what goes wrong with a task differs in words.
func TestSituations(t *testing.T) {
	now := worlds.Now
	st := worlds.Ctx(nil, 1, 1).Styles
	run := func(change func(*fleet.Task)) *fleet.Task {
		t := &fleet.Task{State: acmp.StateRunning, SentAt: now.Add(-10 * time.Minute), Interval: 5 * time.Second, LastSign: now.Add(-time.Second), LastBeat: now.Add(-time.Second), LastProgress: now.Add(-2 * time.Second)}
		change(t)
		return t
	}
	seen := map[string]string{}
	for want, task := range map[string]*fleet.Task{
		"running":    run(func(*fleet.Task) {}),
		"stalled":    run(func(t *fleet.Task) { t.LastSign = now.Add(-11 * time.Second) }),
		"dead":       run(func(t *fleet.Task) { t.LastSign, t.Stalled = now.Add(-16*time.Second), true }),
		"hung":       run(func(t *fleet.Task) { t.LastProgress = now.Add(-2 * time.Minute) }),
		"link lost":  run(func(t *fleet.Task) { t.Broken = true }),
		"cancelling": run(func(t *fleet.Task) { t.CancelRequestedAt = now.Add(-time.Second) }),
		"pending":    run(func(t *fleet.Task) { t.State = acmp.StatePending }),
		"failed":     run(func(t *fleet.Task) { t.State = acmp.StateFailed }),
	} {
		got := pane.SituationOf(st, task, now)
		if got.Word != want {
			t.Errorf("got %q, want %q", got.Word, want)
		}
		if other, ok := seen[got.Glyph]; ok && want != "pending" && other != "pending" {
			t.Errorf("%q and %q have one glyph", want, other)
		}
		seen[got.Glyph] = want
	}
	if got := pane.SituationOf(st, run(func(t *fleet.Task) { t.LastSign, t.Stalled = now.Add(-10*time.Second), true }), now); got.Word != "stalled" {
		t.Errorf("B30: told as silent at two intervals, and called %q", got.Word)
	}
	none := run(func(t *fleet.Task) { t.Interval = 0; t.LastSign = now.Add(-time.Hour); t.LastBeat = time.Time{} })
	if bar, _, _ := lifeCells(st, none, now); bar != "n/a" || pane.SituationOf(st, none, now).Word != "running" {
		t.Error("without an interval there is no verdict")
	}
}

func TestFollowAndPlace(t *testing.T) {
	st := worlds.One()
	c := worlds.Ctx(st, 78, 20)
	s := New()
	if !s.Select(c, screen.Task("task_a7c9d2e3")) {
		t.Fatal("no task")
	}
	for i := range 60 {
		worlds.Chunk(st, "task_a7c9d2e3", int64(i+1), "line "+strings.Repeat("x", i)+"\n")
	}
	if v := view(s, c); !strings.Contains(v, strings.Repeat("x", 59)) {
		t.Fatalf("does not follow:\n%s", v)
	}
	press(s, c, "tab", "k", "k")
	before := view(s, c)
	for i := range 30 {
		worlds.Chunk(st, "task_a7c9d2e3", int64(i+61), "more\n")
	}
	after := view(s, c)
	if strings.Contains(after, "more") || !strings.Contains(after, "30 new below") {
		t.Errorf("the reader was moved:\n%s", after)
	}
	if a, b := lastLine(before), lastLine(after); a != b {
		t.Errorf("%q became %q", a, b)
	}
	press(s, c, "end")
	if v := view(s, c); !strings.Contains(lastLine(v), "more") {
		t.Errorf("end must follow again:\n%s", v)
	}
}

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }

// a re-sent task says so and starts with a clean pane.
func TestRestart(t *testing.T) {
	st := worlds.One()
	c := worlds.Ctx(st, 118, 30)
	s := New()
	s.Select(c, screen.Task("task_9f2b11c0"))
	press(s, c, "tab", "home")
	st.Apply(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventResent, TaskID: "task_9f2b11c0", At: worlds.Now, Attempt: 2}})
	v := view(s, c)
	if strings.Contains(v, "go test") || !strings.Contains(v, "restarted, output of attempt 1 cleared") || !strings.Contains(v, "No output yet") {
		t.Errorf("restart:\n%s", v)
	}
}

func TestFindCopyWholeInput(t *testing.T) {
	st := worlds.One()
	c := worlds.Ctx(st, 78, 24)
	s := New()
	s.Select(c, screen.Task("task_9f2b11c0"))
	p, ok := press(s, c, "f").(screen.Prompt)
	if !ok {
		t.Fatal("f asks what to find")
	}
	s.Update(c, screen.Prompted{For: p.For, Text: "MODEL", Ok: true})
	s.Update(c, screen.Prompted{For: p.For, Text: "model", Ok: true})
	if v := view(s, c); !strings.Contains(v, `"model" in line 2`) {
		t.Errorf("find:\n%s", v)
	}
	if screen.Match(s.Bindings(), "n") != "find-next" {
		t.Error("n goes to the next match while a search is on")
	}
	press(s, c, "backspace")
	if screen.Match(s.Bindings(), "n") != "" {
		t.Error("n is the frame's again")
	}
	if cp, ok := press(s, c, "c").(screen.Copy); !ok || !strings.Contains(cp.Make(), "signalbox/model") {
		t.Errorf("copy: %v", cp)
	}
	if l, ok := press(s, c, "o").(screen.LoadTranscript); !ok || l.TaskID != "task_9f2b11c0" {
		t.Errorf("whole: %v", l)
	}
	s.Update(c, screen.Transcript{TaskID: "other", Text: []byte("stale")})
	s.Update(c, screen.Transcript{TaskID: "task_9f2b11c0", Text: []byte("from disk\n"), Skipped: 5000})
	if v := view(s, c); !strings.Contains(v, "from disk") || !strings.Contains(v, "the first 5kB are left out") {
		t.Errorf("whole:\n%s", v)
	}
	press(s, c, "o")
	if v := view(s, c); strings.Contains(v, "from disk") {
		t.Error("o goes back to the live output")
	}
	if screen.Match(s.Bindings(), "I") != "" {
		t.Error("A-161: no input for a task that takes none")
	}
	st.Tasks["task_9f2b11c0"].Params.InputStream = true
	if v := view(s, worlds.Ctx(st, 118, 30)); !strings.Contains(v, "as it runs: I sends, E ends it") {
		t.Errorf("A-161: nothing says that the task takes input:\n%s", v)
	}
	in, ok := press(s, c, "left", "I").(screen.Prompt)
	if !ok {
		t.Fatal("I asks for input")
	}
	send, ok := s.Update(c, screen.Prompted{For: in.For, Text: "hello", Ok: true}).(screen.SendInput)
	if !ok || string(send.Chunk.Data) != `"hello\n"` || send.TaskID != "task_9f2b11c0" {
		t.Errorf("input: %+v", send)
	}
}

func TestTypedView(t *testing.T) {
	st := worlds.One()
	c := worlds.Ctx(st, 78, 24)
	s := New()
	s.Select(c, screen.Task("task_c1"))
	if v := view(s, c); !strings.Contains(v, `{"lang":"de"`) {
		t.Errorf("raw:\n%s", v)
	}
	press(s, c, "t")
	if v := view(s, c); !strings.Contains(v, `  "lang": "de",`) {
		t.Errorf("typed:\n%s", v)
	}
}

// Promise 6: cancel shows its work, and the output stays readable.
func TestCancelShowsItsWork(t *testing.T) {
	st := worlds.One()
	c := worlds.Ctx(st, 158, 34)
	s := New()
	s.Select(c, screen.Task("task_a7c9d2e3"))
	happened := func(kind acmp.EventKind, age time.Duration) {
		ev := acmp.TaskEvent{Kind: kind, TaskID: "task_a7c9d2e3", At: worlds.Now.Add(-age), Detail: "no longer needed"}
		if kind == acmp.EventError {
			ev.Err = &acmp.Error{Code: acmp.CodeCancelled, Message: "stopped"}
		}
		st.Apply(fleet.TaskHappened{Event: ev})
	}
	happened(acmp.EventCancelRequested, 3*time.Second)
	v := view(s, c)
	for _, want := range []string{"■ cancelling", "acknowledged yet", "no longer needed", "54 done"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is missing:\n%s", want, v)
		}
	}
	happened(acmp.EventError, time.Second)
	v = view(s, c)
	for _, want := range []string{"cancelled 2.0s", "54 done"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is missing:\n%s", want, v)
		}
	}
}

func TestGolden(t *testing.T) {
	golden.RequireEqual(t, []byte(view(New(), worlds.Ctx(worlds.One(), 78, 20))))
}

func BenchmarkView(b *testing.B) {
	st := worlds.Many(10000, 200, 50)
	c := worlds.Ctx(st, 238, 66)
	s := New()
	n := int64(1)
	id := st.TaskOrder[len(st.TaskOrder)-1]
	for b.Loop() {
		worlds.Chunk(st, id, n, "one more line of output\n")
		n++
		s.View(c)
	}
}

// TestDump prints views for a person to read: SIGNALBOX_DUMP=1 go test -run Dump -v.
func TestDump(t *testing.T) {
	if os.Getenv("SIGNALBOX_DUMP") == "" {
		t.Skip("set SIGNALBOX_DUMP to read the views")
	}
	for _, size := range [][2]int{{78, 20}, {118, 30}, {238, 40}} {
		t.Log("\n" + view(New(), worlds.Ctx(worlds.One(), size[0], size[1])))
	}
	t.Log("\n" + view(New(), worlds.Ctx(worlds.Many(40, 4, 20), 158, 30)))
	t.Log("\n" + view(New(), worlds.Ctx(worlds.Empty(), 78, 14)))
}

// Words count right.
func TestWords(t *testing.T) {
	for n, want := range map[int64]string{0: "", 1: "27B in 1 chunk", 2: "27B in 2 chunks"} {
		if got := outputWords(&fleet.Task{Bytes: 27, Chunks: n}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	st := fleet.New()
	if got := invokeLine(st); !strings.Contains(got, "none is known yet") {
		t.Errorf("%q", got)
	}
	for i, want := range []string{"1 of 1 can", "1 of 2 can", "2 of 3 can"} {
		p := uitest.Provider(fmt.Sprint("p", i), worlds.Now)
		if i == 1 {
			p.Provider.Settings = nil
		}
		st.Apply(p)
		if got := invokeLine(st); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

// A task that ended before this program began names who ran it, shows what is known of it and nothing
// that is not, and its output is read from the disk.
func TestEarlierRun(t *testing.T) {
	st := worlds.One()
	st.Apply(fleet.EarlierTasks{Outcomes: []acmp.Outcome{
		{TaskID: "task_old_ok", Provider: "local", Capability: "old-lint", At: worlds.Now.Add(-3 * time.Hour), CostCU: "0.25", Tokens: 11, By: "signalbox invoke, process 7"},
		{TaskID: "task_old_bad", Provider: "local", Capability: "old-build", At: worlds.Now.Add(-26 * time.Hour), Err: &acmp.Error{Code: acmp.CodeInternal, Message: "no disk"}},
	}})
	c := worlds.Ctx(st, 178, 34)
	s := New()
	s.SetFilter("status:earlier")
	if !s.Select(c, screen.Task("task_old_ok")) {
		t.Fatal("it is not there")
	}
	v := view(s, c)
	for _, want := range []string{"✓ completed", "ended", "3h", "run by signalbox invoke, process 7", "run by     signalbox invoke, process 7", "2026-05-16", ".25", "11", "It ended before this program began. o reads"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is missing:\n%s", want, v)
		}
	}
	for _, wrong := range []string{"took", "elapsed", "attempt", "2562047h"} {
		if strings.Contains(v, wrong) {
			t.Errorf("%q is drawn, which nobody knows:\n%s", wrong, v)
		}
	}
	if l, ok := press(s, c, "o").(screen.LoadTranscript); !ok || l.TaskID != "task_old_ok" {
		t.Fatalf("o: %v", l)
	}
	s.Update(c, screen.Transcript{TaskID: "task_old_ok", Text: []byte("{\"warnings\":[1,2]}\n")})
	press(s, c, "t")
	if v := view(s, c); !strings.Contains(v, `  "warnings": [`) {
		t.Errorf("typed:\n%s", v)
	}
	s.SetFilter("status:earlier older:24h")
	if got := s.Shown(c); len(got) != 1 || got[0].TaskID != "task_old_bad" {
		t.Errorf("%v", got)
	}
	if v := view(s, c); !strings.Contains(v, "no disk") {
		t.Errorf("the error is missing:\n%s", v)
	}
}
