package pane

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"signalbox/model/acop"
	"signalbox/ui/kit"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

var (
	styles  = theme.New(theme.Options{Dark: true})
	testNow = time.Date(2026, 5, 16, 14, 0, 0, 0, time.UTC)
)

func numbered(from, to int) Text {
	t := Text{First: from}
	for n := from; n < to; n++ {
		t.Lines = append(t.Lines, fmt.Sprintf("line %d %s", n, strings.Repeat("abcdefgh ", 12)))
	}
	return t
}

func rowsOf(p *Pane, t Text) []string {
	rows := p.Rows(styles, t)
	for i := range rows {
		rows[i] = ansi.Strip(rows[i])
	}
	return rows
}

// B10: 500 lines, 50 up and 40 cells to the right; 100 come and 100 go.
func TestPlaceIsKept(t *testing.T) {
	p := &Pane{}
	tx := numbered(0, 500)
	p.Sync(tx, 0, 30, 20)
	for range 50 {
		p.Do(screen.Up, tx)
	}
	for range 5 {
		p.Do(screen.Right, tx)
	}
	before := rowsOf(p, tx)
	tx = numbered(100, 600)
	p.Sync(tx, 0, 30, 20)
	if after := rowsOf(p, tx); strings.Join(before, "\n") != strings.Join(after, "\n") {
		t.Errorf("moved:\n%s\n---\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	if st := p.Status(tx); !strings.Contains(st, "100 new below") || !strings.Contains(st, "column 41") {
		t.Errorf("status %q", st)
	}
	// What is read is dropped: the oldest line, not the bottom.
	tx = numbered(550, 1000)
	p.Sync(tx, 0, 60, 20)
	p.col = 0
	if rows := rowsOf(p, tx); !strings.HasPrefix(rows[0], "line 550 ") {
		t.Errorf("anchor dropped: %q", rows[0])
	}
	p.Do(screen.Bottom, tx)
	if rows := rowsOf(p, tx); !p.Following() || !strings.HasPrefix(rows[19], "line 999 ") {
		t.Errorf("end: %q", rows[19])
	}
}

// B91: 80 numbered lines are there once each at any width and height.
func TestResizeLosesNothing(t *testing.T) {
	tx := Text{}
	for n := range 80 {
		tx.Lines = append(tx.Lines, fmt.Sprintf("<%02d>%s", n, strings.Repeat("x", 150)))
	}
	p := &Pane{}
	p.Sync(tx, 0, 134, 40)
	p.Do(Wrap, tx)
	for _, w := range []int{134, 118, 108, 90, 128} {
		for _, h := range []int{40, 30, 24, 50} {
			p.Sync(tx, 0, w, h)
			p.Do(screen.Top, tx)
			var seen strings.Builder
			for range 400 {
				seen.WriteString(rowsOf(p, tx)[0])
				p.Do(screen.Down, tx)
				if p.Following() {
					break
				}
			}
			seen.WriteString(strings.Join(rowsOf(p, tx), ""))
			for n := range 80 {
				if c := strings.Count(seen.String(), fmt.Sprintf("<%02d>", n)); c != 1 && n < 80-h {
					t.Fatalf("%dx%d: line %d is there %d times", w, h, n, c)
				}
			}
		}
	}
}

// B08: a colour that is never closed stays in its row, wrapped or cut.
func TestColoursStayInTheirRow(t *testing.T) {
	tx := Text{Lines: []string{"\x1b[35m" + strings.Repeat("first ", 20), "second"}}
	for _, wrap := range []bool{false, true} {
		p := &Pane{wrap: wrap}
		p.Sync(tx, 0, 30, 10)
		for i, row := range p.Rows(styles, tx) {
			if strings.Contains(row, "\x1b[35m") && !strings.HasSuffix(row, "\x1b[m") {
				t.Errorf("wrap %v row %d is open: %q", wrap, i, row)
			}
			if ansi.StringWidth(row) > 30 {
				t.Errorf("row %d is too wide: %q", i, row)
			}
		}
	}
}

func TestSearch(t *testing.T) {
	tx := numbered(0, 300)
	tx.Lines[17] = "\x1b[31mAn Error\x1b[0m happened"
	tx.Lines[210] = "another ERROR"
	p := &Pane{}
	p.Sync(tx, 0, 40, 10)
	p.Search(tx, "error")
	if st := p.Status(tx); !strings.Contains(st, "in line 211") {
		t.Errorf("the latest match first: %q", st)
	}
	p.Do(Next, tx)
	if st := p.Status(tx); !strings.Contains(st, "in line 18") || p.Following() {
		t.Errorf("around the end: %q", st)
	}
	rows := p.Rows(styles, tx)
	if !strings.Contains(strings.Join(rows, "\n"), styles.Match.Render("Error")) {
		t.Errorf("the match is marked: %q", rows)
	}
	p.Do(Prev, tx)
	if st := p.Status(tx); !strings.Contains(st, "in line 211") {
		t.Errorf("back: %q", st)
	}
	p.Search(tx, "Error")
	if st := p.Status(tx); !strings.Contains(st, "in line 18") {
		t.Errorf("a capital makes case matter: %q", st)
	}
	p.Search(tx, "nowhere")
	if st := p.Status(tx); !strings.Contains(st, "not found") {
		t.Errorf("miss: %q", st)
	}
}

func TestPause(t *testing.T) {
	p := &Pane{}
	tx := numbered(0, 100)
	p.Sync(tx, 0, 40, 10)
	p.Do(Pause, tx)
	tx = numbered(0, 120)
	p.Sync(tx, 0, 40, 10)
	if rows := rowsOf(p, tx); !strings.HasPrefix(rows[9], "line 99 ") || p.Status(tx) != "paused, 20 new below" {
		t.Errorf("%q %q", rows[9], p.Status(tx))
	}
	p.Do(Pause, tx)
	if !p.Following() {
		t.Error("the second press goes on")
	}
}

// a stream that starts again is followed from its start.
func TestNewGeneration(t *testing.T) {
	p := &Pane{}
	tx := numbered(0, 100)
	p.Sync(tx, 0, 40, 10)
	p.Do(screen.Top, tx)
	p.Sync(Text{}, 1, 40, 10)
	if !p.Following() || len(p.Rows(styles, Text{})) != 0 {
		t.Error("a new stream begins clean")
	}
}

func TestTypedAndSmall(t *testing.T) {
	tx := Text{JSON: true, Lines: []string{`{"a":[1,{"b":"\u001b[31m"}]}`, `not json`, `"text"`}}
	p := &Pane{typed: true}
	for _, size := range [][2]int{{40, 12}, {3, 2}, {1, 1}, {0, 0}, {5, 0}, {0, 5}} {
		p.Sync(tx, 0, size[0], size[1])
		for _, do := range []string{screen.Up, screen.Down, screen.PageUp, screen.PageDown, screen.Top, screen.Bottom, screen.Right, screen.Left, Wrap, Pause, Typed, Next, Prev, Follow} {
			p.Do(do, tx)
			p.Rows(styles, tx)
		}
	}
	p = &Pane{typed: true}
	p.Sync(tx, 0, 40, 12)
	if got := strings.Join(rowsOf(p, tx), "\n"); !strings.Contains(got, "\"b\": \"\\u001b[31m\"") || !strings.Contains(got, "not json") {
		t.Errorf("typed:\n%s", got)
	}
}

func TestTail(t *testing.T) {
	var tail Tail
	key := func(i int) string { return fmt.Sprint(i) }
	tail.Sync(10, 10, 5, key, nil)
	if tail.Pos() != 9 || tail.Selected(9) {
		t.Fatalf("begins at %d", tail.Pos())
	}
	tail.Nav(screen.Up, 10, key)
	if !tail.Selected(9) {
		t.Fatal("the first key selects the newest row")
	}
	tail.Nav(screen.Up, 10, key)
	tail.Sync(15, 15, 5, key, nil)
	if tail.Pos() != 8 || tail.Mark() != 10 || tail.Following() {
		t.Errorf("moved to %d, left the end at %d", tail.Pos(), tail.Mark())
	}
	for range 7 {
		tail.Nav(screen.Down, 15, key)
	}
	tail.Sync(20, 20, 5, key, nil)
	if !tail.Following() || tail.Pos() != 19 || tail.Mark() != 20 {
		t.Errorf("below the last row it follows, at %d", tail.Pos())
	}
}

// C-049: the steps of a lease by the share of its TTL that has passed.
func TestLease(t *testing.T) {
	granted := acop.NewTime(testNow)
	l := &acop.Lease{TTLSeconds: 100, Claim: acop.Claim{GrantedAtUTC: granted, ExpiresAtUTC: granted.Add(100 * time.Second)}}
	for passed, want := range map[int]string{0: "held", 49: "held", 51: "renew due", 79: "renew due", 81: "renew late", 100: "lapsed", 500: "lapsed"} {
		got := LeaseOf(styles, l, testNow.Add(time.Duration(passed)*time.Second))
		if got.Word != want {
			t.Errorf("after %d%%: %q, want %q", passed, got.Word, want)
		}
	}
	if w := ansi.StringWidth(Window(styles, 20)); w != 20 {
		t.Errorf("window is %d wide", w)
	}
}

func TestDivideAndSheet(t *testing.T) {
	for w := 0; w < 200; w += 7 {
		for h := 0; h < 60; h += 3 {
			d := Divide(w, h)
			list, details := make([]string, d.ListH), NewSheet(styles, d.W, d.H)
			for i := range list {
				list[i] = kit.Blank(d.ListW)
			}
			details.Add("label", strings.Repeat("long words ", 60), styles.Text)
			details.Prose([]string{"你好世界", ""}, styles.Text)
			got := strings.Split(d.Join(styles, list, details.Lines(), "T"), "\n")
			if h > 0 && len(got) != h {
				t.Fatalf("%dx%d: %d lines", w, h, len(got))
			}
			for _, l := range got {
				if h > 0 && ansi.StringWidth(l) != w {
					t.Fatalf("%dx%d: %q", w, h, ansi.Strip(l))
				}
			}
		}
	}
}

// B82: a frame of a long history is made of as much as one of a short one.
func TestHistoryCostsNothing(t *testing.T) {
	cost := func(n int, wrap bool) float64 {
		tx := numbered(0, n)
		p := &Pane{wrap: wrap}
		return testing.AllocsPerRun(20, func() {
			p.Sync(tx, 0, 120, 60)
			p.Rows(styles, tx)
		})
	}
	for _, wrap := range []bool{false, true} {
		if short, long := cost(1000, wrap), cost(20_000, wrap); long > 2*short || short < 1 {
			t.Errorf("wrap %v: %v allocations for 1000 lines, %v for 20 000", wrap, short, long)
		}
	}
}

// B82: the cost of a frame does not grow with the history.
func BenchmarkRows(b *testing.B) {
	for _, n := range []int{1000, 20000} {
		for _, wrap := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d lines wrap %v", n, wrap), func(b *testing.B) {
				tx := numbered(0, n)
				p := &Pane{wrap: wrap}
				for b.Loop() {
					p.Sync(tx, 0, 120, 60)
					p.Rows(styles, tx)
				}
			})
		}
	}
}
