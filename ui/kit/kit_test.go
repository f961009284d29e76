package kit

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"signalbox/model/text"
	"signalbox/ui/theme"
)

var styles = theme.New(theme.Options{Dark: true})

// Rows and views have exactly the size that was asked for (B04).
func TestExactWidths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.IntRange(0, 40).Draw(t, "w")
		s := rapid.StringOf(rapid.SampledFrom([]rune("ab 你好é…│"))).Draw(t, "s")
		cell := rapid.IntRange(0, 20).Draw(t, "cell")
		row := Row(styles, theme.SelFocused, w, Cell{Text: s, W: cell}, Cell{Text: s, W: w, Right: true})
		if got := ansi.StringWidth(row); got != w {
			t.Fatalf("row is %d cells, not %d: %q", got, w, row)
		}
		if got := ansi.StringWidth(FitStyled(styles.OK.Render(s), w)); got != w {
			t.Fatalf("fitted line is %d cells, not %d", got, w)
		}
		h := rapid.IntRange(0, 5).Draw(t, "h")
		view := Lines([]string{s, s + s}, w, h)
		if w > 0 && h > 0 {
			lines := strings.Split(view, "\n")
			if len(lines) != h {
				t.Fatalf("%d lines, not %d", len(lines), h)
			}
			for _, l := range lines {
				if ansi.StringWidth(l) != w {
					t.Fatalf("%q is %d cells, not %d", l, ansi.StringWidth(l), w)
				}
			}
		}
	})
}

// The quick measure of styled lines says what the full one says.
func TestStyledCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := ""
		for range rapid.IntRange(0, 4).Draw(t, "runs") {
			part := text.Line(rapid.StringOf(rapid.SampledFrom([]rune("ab 你…│é⚠"))).Draw(t, "s"))
			s += rapid.SampledFrom([]string{part, styles.OK.Render(part), styles.Badge.Render(part)}).Draw(t, "styled")
		}
		if got, want := cells(s), ansi.StringWidth(s); got != want {
			t.Fatalf("%q is %d cells, not %d", s, got, want)
		}
	})
}

// B09: the selection reaches the border.
func TestSelectionReachesTheBorder(t *testing.T) {
	row := Row(styles, theme.SelFocused, 20, Cell{Text: "ok", Style: styles.OK, W: 4})
	for i, part := range strings.Split(row, "\x1b[m") {
		if ansi.Strip(part) != "" && !strings.Contains(part, "48;2;") {
			t.Errorf("part %d has no ground: %q", i, part)
		}
	}
}

func TestWidthsFit(t *testing.T) {
	cols := []Col{{W: 1}, {W: 12, Min: 6, Grow: 1}, {W: 10, Rank: 2}, {W: 5, Rank: 1}}
	for w := range 60 {
		ws := Widths(cols, w)
		sum, shown := 0, 0
		for _, n := range ws {
			if n > 0 {
				sum += n
				shown++
			}
		}
		if total := sum + max(0, shown-1); w >= 8 && total > w {
			t.Errorf("%v takes %d of %d cells", ws, total, w)
		}
		if w >= 31 && sum+shown-1 != w {
			t.Errorf("%v leaves room in %d cells", ws, w)
		}
	}
	if ws := Widths(cols, 20); ws[2] != 0 || ws[3] == 0 {
		t.Errorf("the wrong column went: %v", ws)
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		ratio float64
		want  string
		ascii string
	}{
		{0, "────────", "[------]"}, {1, "━━━━━━━━", "[######]"}, {2, "━━━━━━━━", "[######]"}, {-1, "────────", "[------]"},
		{0.5, "━━━━────", "[###---]"}, {0.001, "╾───────", "[#-----]"}, {0.44, "━━━╾────", "[###---]"}, {math.NaN(), "········", "--------"},
	} {
		if got := Bar(&theme.Unicode, c.ratio, 8); got != c.want {
			t.Errorf("%v draws %q, not %q", c.ratio, got, c.want)
		}
		if got := Bar(&theme.ASCII, c.ratio, 8); got != c.ascii {
			t.Errorf("%v draws %q, not %q", c.ratio, got, c.ascii)
		}
	}
}

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		d         time.Duration
		age, span string
	}{
		{-time.Second, "now", "0.0s"}, {0, "now", "0.0s"}, {99 * time.Millisecond, "now", "0.0s"}, {100 * time.Millisecond, "now", "0.1s"}, {800 * time.Millisecond, "now", "0.8s"}, {18 * time.Second, "18s", "18s"},
		{125 * time.Second, "2m", "2m05"}, {130 * time.Minute, "2h", "2h10"}, {96 * time.Hour, "4d", "4d"}, {9999 * time.Hour, "99d+", "416d"},
	} {
		if got := Age(c.d); got != c.age || len(got) > 4 {
			t.Errorf("age of %v is %q", c.d, got)
		}
		if got := Span(c.d); got != c.span || len(got) > 5 {
			t.Errorf("span of %v is %q", c.d, got)
		}
	}
	if CU("0.003") != ".003" || CU("12") != "12" {
		t.Error("prices are shown wrongly")
	}
	for n, want := range map[int]string{999: "999", 1234: "1.2k", 34567: "34k", 1_500_000: "1.5M"} {
		if got := Count(n); got != want {
			t.Errorf("%d shows as %q", n, got)
		}
	}
}

// Rows that come and go never move the selected row on the screen.
func TestCursorHolds(t *testing.T) {
	var c Cursor
	rows := []string{"a", "b", "c", "d", "e", "f"}
	key := func(i int) string { return rows[i] }
	c.Sync(len(rows), 3, key, nil)
	c.To(3, len(rows), key)
	line := c.Pos() - c.Top()
	rows = append([]string{"x", "y", "z"}, rows...)
	c.Sync(len(rows), 3, key, nil)
	if c.Key() != "d" || c.Pos() != 6 || c.Pos()-c.Top() != line {
		t.Errorf("the cursor is on %q at %d, line %d", c.Key(), c.Pos(), c.Pos()-c.Top())
	}
	rows = []string{"a", "b"} // its row is gone
	c.Sync(len(rows), 3, key, nil)
	if c.Pos() != 1 || c.Key() != "b" || c.Top() != 0 {
		t.Errorf("the cursor is on %q at %d", c.Key(), c.Pos())
	}
	rows = nil
	c.Sync(0, 3, key, nil)
	for _, do := range []string{"up", "down", "page-up", "page-down", "top", "bottom"} {
		c.Nav(do, 0, key)
	}
	if from, to := c.Visible(0); from != 0 || to != 0 {
		t.Errorf("nothing shows %d to %d", from, to)
	}
}

// B19: editing goes by what a person sees as one character.
func TestEditorClusters(t *testing.T) {
	for _, s := range []string{"👍🏽", "e\u0301", "👨‍👩‍👧", "🇩🇪"} {
		var e Editor
		e.Set(s)
		e.Key(tea.KeyPressMsg{Code: tea.KeyBackspace})
		if e.Value() != "" {
			t.Errorf("one backspace leaves %q of %q", e.Value(), s)
		}
	}
	var e Editor
	e.Set("e")
	e.Insert("\u0301")
	e.Key(tea.KeyPressMsg{Code: tea.KeyLeft})
	e.Insert("x")
	if e.Value() != "xe\u0301" {
		t.Errorf("got %q", e.Value())
	}
}

// B18: the caret stands where the next character appears, and never outside.
func TestEditorCaret(t *testing.T) {
	var e Editor
	e.Set("あいう")
	if _, x := e.View(10); x != 6 {
		t.Errorf("caret at %d", x)
	}
	rapid.Check(t, func(t *rapid.T) {
		var e Editor
		e.Multi = rapid.Bool().Draw(t, "multi")
		e.Set(rapid.StringOf(rapid.SampledFrom([]rune("ab 한글あ\n\té"))).Draw(t, "s"))
		for range rapid.IntRange(0, 8).Draw(t, "keys") {
			e.Key(tea.KeyPressMsg{Code: rapid.SampledFrom([]rune{tea.KeyLeft, tea.KeyRight, tea.KeyBackspace, tea.KeyDelete, tea.KeyHome, tea.KeyUp, tea.KeyDown}).Draw(t, "k")})
		}
		w := rapid.IntRange(1, 12).Draw(t, "w")
		line, x := e.View(w)
		if !e.Multi && (ansi.StringWidth(line) != w || x < 0 || x >= w) {
			t.Fatalf("%q is drawn as %q with the caret at %d of %d", e.Value(), line, x, w)
		}
		rows, cx, cy := e.ViewMulti(w, 3)
		if len(rows) != 3 || cx < 0 || cx >= max(w, 1) || cy < 0 || cy >= 3 {
			t.Fatalf("%q: %d rows, caret at %d,%d of %d", e.Value(), len(rows), cx, cy, w)
		}
	})
}

func TestEditorTakesNoControls(t *testing.T) {
	var e Editor
	e.Insert("a\x1b[2J\nb\tc\u009b")
	if e.Value() != "a[2J b c" {
		t.Errorf("%q", e.Value())
	}
	e.Insert(strings.Repeat("x", editorLimit+5))
	if len(e.cl) > editorLimit {
		t.Errorf("%d clusters", len(e.cl))
	}
}

func TestOverlay(t *testing.T) {
	base := []string{"aaaaaaaa", "bbbbbbbb", "c"}
	Overlay(base, []string{"XX", "YY"}, 3, 1, 2)
	if got := fmt.Sprint(ansi.Strip(base[0]), ansi.Strip(base[1]), ansi.Strip(base[2])); got != "aaaaaaaabbbXXbbbc  YY" {
		t.Errorf("%q", got)
	}
	// B04: wide characters under either edge.
	base = []string{"你好世界", "a你好世b"}
	Overlay(base, []string{"XX", "YY"}, 3, 0, 2)
	if got := fmt.Sprint(ansi.Strip(base[0]), ansi.Strip(base[1])); got != "你 XX 界a你YY世b" {
		t.Errorf("%q", got)
	}
}

// Ages in sentences read as sentences, also in the first second.
func TestWords(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, c := range []struct{ got, want string }{
		{Since(now, now), "just now"}, {Since(now.Add(-time.Minute), now), "1m ago"}, {Since(time.Time{}, now), "-"},
		{Lasting(now, now), "since just now"}, {Lasting(now.Add(-3*time.Second), now), "for 3s"},
		{Plural(0, "item", "items"), "0 items"}, {Plural(1, "item", "items"), "1 item"}, {Plural(2, "item", "items"), "2 items"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// A line as long as an editor takes is drawn at once: a pasted file must not stall the
// event loop (B16). Drawn cell by cell from its start it would take minutes.
func TestEditorDrawsALongLineAtOnce(t *testing.T) {
	var e Editor
	e.Set(strings.Repeat("x", editorLimit-1) + "宽")
	begin := time.Now()
	line, caret := e.View(40)
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("drawing took %s", took)
	}
	if text.Width(line) != 40 || caret != 39 || !strings.HasSuffix(line, "x宽 ") {
		t.Errorf("%q with the caret at %d", line, caret)
	}
	e.Key(tea.KeyPressMsg{Code: tea.KeyHome})
	if line, caret = e.View(40); caret != 0 || line != strings.Repeat("x", 40) {
		t.Errorf("%q with the caret at %d", line, caret)
	}
}
