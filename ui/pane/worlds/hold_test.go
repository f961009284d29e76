package worlds_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"signalbox/model/fleet"
	"signalbox/ui/pane/worlds"
	"signalbox/ui/screen"
	"signalbox/ui/tasks"
)

const torn = "task_a7c9d2e3"

// shown is what the Tasks screen shows of the task.
func shown(st *fleet.State) string {
	c := worlds.Ctx(st, 158, 40)
	s := tasks.New()
	s.Select(c, screen.Task(torn))
	return ansi.Strip(s.View(c))
}

// B98: text around a sequence is there at once, one that is never ended holds back
// neither what follows nor memory, and an escape with nothing behind it hides nothing.
func TestUnendedSequencesHoldNothingBack(t *testing.T) {
	st := worlds.One()
	worlds.Chunk(st, torn, 1, "left\x1bPq#1\x1b\\right")
	if v := shown(st); !strings.Contains(v, "leftright") {
		t.Errorf("a whole sequence holds text back:\n%s", v)
	}
	worlds.Chunk(st, torn, 2, "\nlast words\x1b")
	if v := shown(st); !strings.Contains(v, "last words") {
		t.Errorf("an escape at the end holds text back:\n%s", v)
	}
	worlds.Chunk(st, torn, 3, "\nA\x1b]0;")
	before := held()
	for n := range 160 { // 10 MiB
		worlds.Chunk(st, torn, int64(4+n), strings.Repeat("x", 64<<10))
	}
	if grew := held() - before; grew > 4<<20 {
		t.Errorf("%d MB stay of 10", grew>>20)
	}
	worlds.Chunk(st, torn, 164, "\nit goes on\n")
	if v := shown(st); !strings.Contains(v, "it goes on") || strings.Contains(v, "\x1b") {
		t.Errorf("what follows a sequence without an end is not shown:\n%s", v)
	}
	runtime.KeepAlive(st)
}
