package worlds_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/agents"
	"signalbox/ui/board"
	"signalbox/ui/feed"
	"signalbox/ui/log"
	"signalbox/ui/pane/worlds"
	"signalbox/ui/queue"
	"signalbox/ui/screen"
	"signalbox/ui/tasks"
	"signalbox/ui/uitest"
)

// rooms makes each screen anew.
func rooms() []screen.Screen {
	return []screen.Screen{queue.New(), board.New(), tasks.New(), feed.New(), agents.New(), log.New()}
}

// B01, B02: symbols whose width terminals disagree on leave every border of
// every screen in its column, under both width models.
func TestDisputedWidthsKeepTheBorders(t *testing.T) {
	for _, word := range []string{"🏳️‍🌈aaaaaa", "⚠ disk", "⚠️ disk", "1️⃣ x", "❤️ x", "👨‍👩‍👧 family", "e\u0301e\u0301", "ﷺ", "각"} {
		st := worlds.Strange(word)
		for _, size := range [][2]int{{118, 30}} {
			for _, s := range rooms() {
				c := worlds.Ctx(st, size[0], size[1])
				view := s.View(c)
				worlds.Exact(t, fmt.Sprintf("%s with %q", s.Name(), word), view, c.W, c.H)
				for i, l := range strings.Split(view, "\n") {
					if n := ansi.StringWidthWc(l); n != c.W {
						t.Errorf("%s with %q: line %d is %d cells by wcwidth", s.Name(), word, i, n)
					}
				}
			}
		}
	}
}

// B09: the ground of the selected row reaches from border to border, whatever its
// texts tried to reset.
func TestSelectionOverHostileText(t *testing.T) {
	for _, s := range rooms()[:2] {
		c := worlds.Ctx(worlds.Strange("ok \x1b[0m tail"), 78, 24)
		rows := strings.Split(s.View(c), "\n")
		at := slices.IndexFunc(rows, func(row string) bool { return strings.Contains(row, "48;2;") })
		if at < 0 {
			t.Fatalf("%s: nothing is selected\n%s", s.Name(), strings.Join(rows, "\n"))
		}
		for _, part := range strings.Split(rows[at], "\x1b[m") {
			if strings.TrimSpace(ansi.Strip(part)) != "" && !strings.Contains(part, "48;2;") {
				t.Errorf("%s: %q has no ground", s.Name(), part)
			}
		}
	}
}

// B90: no screen knows a largest size.
func TestVeryLargeWindow(t *testing.T) {
	st := worlds.Many(2000, 60, 12)
	for _, s := range rooms() {
		c := worlds.Ctx(st, 700, 200)
		worlds.Exact(t, s.Name(), s.View(c), c.W, c.H)
	}
}

// B84: what streams through a task is not kept for ever, be it in lines or
// without any line end, and the reader is told what was dropped.
func TestOutputIsBounded(t *testing.T) {
	for name, piece := range map[string]string{"lines": strings.Repeat("one line of output\n", 3000), "no line end": strings.Repeat("x", 60_000)} {
		t.Run(name, func(t *testing.T) {
			st := worlds.One()
			before := held()
			for n := range 400 { // 24 MB
				worlds.Chunk(st, "task_a7c9d2e3", int64(n+1), piece)
			}
			if grew := held() - before; grew > 4<<20 {
				t.Errorf("%d MB stay of 24", grew>>20)
			}
			s := tasks.New()
			c := worlds.Ctx(st, 158, 40)
			s.Select(c, screen.Task("task_a7c9d2e3"))
			if v := ansi.Strip(s.View(c)); name == "lines" && !strings.Contains(v, "older lines on disk") {
				t.Errorf("nothing tells of the lines in front:\n%s", v)
			}
			runtime.KeepAlive(st)
		})
	}
}

func held() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// B85: a pane over a long output opens at its end, and at once.
func TestOpensAtTheEnd(t *testing.T) {
	st := worlds.One()
	for n := range 100 {
		worlds.Chunk(st, "task_a7c9d2e3", int64(n+1), strings.Repeat("a line\n", 1000))
	}
	worlds.Chunk(st, "task_a7c9d2e3", 101, "the very last line\n")
	s := tasks.New()
	c := worlds.Ctx(st, 158, 40)
	s.Select(c, screen.Task("task_a7c9d2e3"))
	begin := time.Now()
	v := ansi.Strip(s.View(c))
	if !strings.Contains(v, "the very last line") {
		t.Errorf("it does not open at the end:\n%s", v)
	}
	if d := time.Since(begin); d > 300*time.Millisecond {
		t.Errorf("it takes %v", d)
	}
}

// B101: a link in remote text is text; nothing can be clicked that goes
// elsewhere than it says.
func TestNoLinksFromOutside(t *testing.T) {
	for _, link := range []string{"\x1b]8;;javascript:x\x07docs\x1b]8;;\x07", "\x1b]8;id=1;https://b.test\x1b\\https://a.test\x1b]8;;\x1b\\", "[x](file:///etc/passwd)\x07"} {
		for _, s := range rooms() {
			if v := s.View(worlds.Ctx(worlds.Strange(link), 158, 40)); strings.Contains(v, "\x1b]8") {
				t.Errorf("%s: a link of %q reaches the terminal", s.Name(), link)
			}
		}
	}
}

// B12: chunks are shown in the order of their numbers, whatever else happens
// between them.
func TestChunksInOrder(t *testing.T) {
	st := worlds.One()
	var want strings.Builder
	for n := range 1000 {
		worlds.Chunk(st, "task_a7c9d2e3", int64(n+1), fmt.Sprintf("%04d\n", n))
		fmt.Fprintf(&want, "%04d\n", n)
		if n%100 == 0 {
			st.Apply(uitest.Changed(st.Items["work:http:seam"], acop.VerbPut, st.Revision+1, worlds.Now))
		}
	}
	if got := strings.Join(st.Tasks["task_a7c9d2e3"].Output.Lines, "\n"); !strings.HasSuffix(got, strings.TrimSuffix(want.String(), "\n")) {
		t.Errorf("out of order: %.200s", got)
	}
}

// Promise 3, A-135: hung but beating, silent but working, dead and cut off from
// its link differ in glyph and word without any colour, in the queue's context
// and on the Tasks screen; what was never reported is drawn as absent.
func TestTroublesDifferWithoutColour(t *testing.T) {
	now := worlds.Now
	set := func(change func(*fleet.Task)) *fleet.State {
		st := worlds.One()
		task := st.Tasks["task_a7c9d2e3"]
		task.SentAt, task.Deadline, task.Progress, task.Detail = now.Add(-10*time.Minute), now.Add(time.Hour), nil, ""
		task.LastSign, task.LastBeat, task.LastProgress = now.Add(-time.Second), now.Add(-time.Second), now.Add(-time.Second)
		change(task)
		return st
	}
	seen := map[string]string{}
	for name, st := range map[string]*fleet.State{
		"hung but beating":   set(func(t *fleet.Task) { t.LastProgress = now.Add(-5 * time.Minute) }),
		"silent but working": set(func(t *fleet.Task) { t.LastSign, t.LastBeat = now.Add(-11*time.Second), now.Add(-11*time.Second) }),
		"dead":               set(func(t *fleet.Task) { t.LastSign, t.LastBeat = now.Add(-time.Minute), now.Add(-time.Minute) }),
		"link lost":          set(func(t *fleet.Task) { t.Broken = true }),
		"well":               set(func(*fleet.Task) {}),
	} {
		for _, s := range []screen.Screen{tasks.New(), queue.New()} {
			c := worlds.Ctx(st, 158, 40)
			s.Select(c, screen.Task("task_a7c9d2e3"))
			words := lifeOf(ansi.Strip(s.View(c)))
			if other, ok := seen[s.Name()+words]; ok || words == "" {
				t.Errorf("%s: %q and %q are told by %q", s.Name(), name, other, words)
			}
			seen[s.Name()+words] = name
		}
	}
	c := worlds.Ctx(set(func(*fleet.Task) {}), 158, 40)
	s := tasks.New()
	s.Select(c, screen.Task("task_a7c9d2e3"))
	if v := ansi.Strip(s.View(c)); !strings.Contains(v, "not reported") || !strings.Contains(v, strings.Repeat(c.Styles.G.Dot, 8)) {
		t.Errorf("progress that was never reported is not drawn as absent:\n%s", v)
	}
}

// lifeOf finds what the facts of a task say about its life.
func lifeOf(view string) string {
	for _, l := range strings.Split(view, "\n") {
		if _, facts, ok := strings.Cut(l, "│ life "); ok {
			return strings.TrimSpace(facts)
		}
	}
	return ""
}
