package text

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

func check(t *testing.T, name, got string, sgr bool) {
	t.Helper()
	if !utf8.ValidString(got) {
		t.Errorf("%s: not UTF-8: %q", name, got)
	}
	bare := got
	if sgr {
		bare = stripSGR(t, got)
	}
	for _, r := range bare {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cf, r) {
			t.Fatalf("%s: %U in %q", name, r, got)
		}
	}
	if g, w := ansi.StringWidth(bare), ansi.StringWidthWc(bare); g != w || g != Width(bare) {
		t.Fatalf("%s: widths differ: clusters %d wcwidth %d ours %d in %q", name, g, w, Width(bare), bare)
	}
}

func stripSGR(t *testing.T, s string) string {
	t.Helper()
	open := false
	var b strings.Builder
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		s = s[i+2:]
		j := strings.IndexFunc(s, func(r rune) bool { return r != ';' && (r < '0' || r > '9') })
		if j < 0 || s[j] != 'm' {
			t.Fatalf("not SGR: %q", s)
		}
		open = j != 0
		s = s[j+1:]
	}
	if open {
		t.Fatalf("left open")
	}
	return b.String() + s
}

// hostile are the payloads of B96 and their kin.
var hostile = []string{
	"\x1b]52;c;aGk=\x07", "\x1b]0;t\x07", "\x1b[2J", "\x1b[10A", "\x1b[6n", "\x1b[?1049l", "\x1b[?2004l",
	"\x1bc", "\x1bPq#0\x1b\\", "\x1b_Gx\x1b\\", "\x1b]9;x\x07", "\x1b]8;;javascript:x\x07", "\x1b(0", "\x1b#8",
	"\u009b2J", "\u009d0;t\u009c", "\x1b[31m", "\x1b[>4;1m", "\x1b[?25h", "\x1b^x\x1b\\", "\x1bXx\x1b\\",
}

// B96, H-096: whole sequences vanish from every kind of text.
func TestSequencesVanish(t *testing.T) {
	for _, p := range hostile {
		in := "left" + p + "right"
		for name, got := range map[string]string{
			"line": Line(in), "block": strings.Join(Block(in), "|"), "output": OutputLine(in, false),
		} {
			if got != "leftright" {
				t.Errorf("%s(%q) = %q", name, in, got)
			}
		}
		if got := ID(in); strings.ContainsRune(got, 0x1b) || !strings.Contains(got, `\u`) {
			t.Errorf("ID(%q) = %q, want the sequence shown escaped", in, got)
		}
	}
}

// B06, B07, B98..B100.
func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                              "plain",
		"Plan\r":                             "Plan␍",
		"a\nb":                               "a␤b",
		"a\vb":                               "a␋b",
		"a\u2028b":                           "a␤b",
		"a\u0085b":                           "a␤b",
		"a\x00b\x08c\x7f":                    "a␀b␈c␡",
		"\ufeffhello":                        "hello",
		"a\tb":                               "a b",
		"x\x1b":                              "x␛",
		"x\x1b]0;never ends":                 "x␛]0;never ends",
		"bad\xff\x9b31m":                     "bad\ufffd\ufffd31m",
		"rm ./\u202etxt.seton":               `rm ./\u202etxt.seton`,
		"open\u2067":                         `open\u2067`,
		"שלום עולם":                          "שלום עולם",
		"مرحبا بالعالم":                      "مرحبا بالعالم",
		"wor\u200bker\u00ad\u2062":           "worker",
		"⚠ disk":                             "⚠ disk",
		"⚠\ufe0f disk":                       "⚠ disk",
		"1\ufe0f\u20e3 x":                    "1\u20e3 x",
		"❤\ufe0f x":                          "❤ x",
		"\u0e19\u0e49\u0e33":                 "\u0e19\u0e49\u0e4d\u0e32",
		"🇩🇪!":                                "DE!",
		"e\u0301":                            "e\u0301",
		"\u0301x":                            "◌\u0301x",
		"a" + strings.Repeat("\u0301", 5000): "a" + strings.Repeat("\u0301", 4),
		"ab\u3000c":                          "ab  c",
		"nbsp\u00a0x":                        "nbsp x",
		"\U0001f468\u200d\U0001f469":         "👨👩",
	} {
		got := Line(in)
		if got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
		check(t, "Line", got, false)
	}
}

// B99, B100: what is approved is what is seen.
func TestID(t *testing.T) {
	for in, want := range map[string]string{
		"work:auth:token":    "work:auth:token",
		"rm -rf ./\u202etxt": `rm -rf ./\u202etxt`,
		"worker-a\u200b":     `worker-a\u200b`,
		"worker-a\u00ad":     `worker-a\u00ad`,
		"worker-a\u2062":     `worker-a\u2062`,
		"worker-a\U000e0061": `worker-a\U000e0061`,
		"worker-a\ufe00":     `worker-a\ufe00`,
		"worker-\u0430":      `worker-\u0430`,
		"w\u043erker":        `w\u043erker`,
		"cmd\u2028x":         `cmd\u2028x`,
		"a\tb\n":             `a\u0009b\u000a`,
		"файл.txt":           "файл.txt",
		"作業":                 "作業",
		"café":               "café",
		"cafe\u0301":         `cafe\u0301`,
		`C:\users`:           `C:\users`,
		`a\u202e`:            `a\\u202e`,
		"\xff":               `\xff`,
		"a\u00a0b":           `a\u00a0b`,
		"\uff41":             `\uff41`,
	} {
		got := ID(in)
		if got != want {
			t.Errorf("ID(%q) = %q, want %q", in, got, want)
		}
		check(t, "ID", got, false)
	}
}

func TestBlock(t *testing.T) {
	got := Block("one\r\ntwo\tx\u2028three\x1b[2J\n\nfive\n")
	want := []string{"one", "two     x", "three", "", "five"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := Block(""); len(got) != 1 || got[0] != "" {
		t.Errorf("empty: %q", got)
	}
}

// B05, B08.
func TestOutputLine(t *testing.T) {
	for _, c := range []struct {
		in   string
		sgr  bool
		want string
	}{
		{"changed line\r\n", false, "changed line"},
		{"10%\r20%\r100%", false, "100%"},
		{"progress 1\rX", false, "Xrogress 1"},
		{"你好\rx", false, "x 好"},
		{"ab好\r123", false, "123 "},
		{"a\tb", false, "a       b"},
		{"\x1b[35mfirst", true, "\x1b[35mfirst\x1b[m"},
		{"\x1b[35mfirst", false, "first"},
		{"\x1b[7mTea\x1b[0m leaf", true, "\x1b[7mTea\x1b[m leaf"},
		{"\x1b[5;8;31mx", true, "\x1b[31mx\x1b[m"},
		{"\x1b[38;5;300mx\x1b[2Jy", true, "xy"},
		{"\x1b[38:2::1:2:3mx", true, "\x1b[38;2;1;2;3mx\x1b[m"},
		{"\x1b[1;0;32mx\x1b[m", true, "\x1b[m\x1b[32mx\x1b[m"},
		{"\u009b31mx", true, "\x1b[31mx\x1b[m"},
		{"\x1b[?31mx", true, "x"},
	} {
		got := OutputLine(c.in, c.sgr)
		if got != c.want {
			t.Errorf("OutputLine(%q) = %q, want %q", c.in, got, c.want)
		}
		check(t, "OutputLine", got, c.sgr)
	}
}

// No input makes the sanitiser slow: time grows with the length alone.
func TestLinear(t *testing.T) {
	for _, unit := range []string{"\x1b]", "\u009d", "\x1bP", "\x1b[", "x\r", "\r", "\u0301", "\u200d", "👨\u200d", "🇩", "\x1b[1;", "\t"} {
		s := strings.Repeat(unit, 128<<10/len(unit))
		start := time.Now()
		_, _, _, _ = Line(s), ID(s), OutputLine(s, true), Block(s)
		var f Filter
		f.Next(s)
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("128 KiB of %q took %v", unit, d)
		}
	}
}

// B03, B04: cut by cells.
func TestCutting(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Clip("你好世界", 5), "你好…"}, {Clip("你好世界", 4), "你…"}, {Clip("你好世界", 2), "…"}, {Clip("你好世界", 1), "…"},
		{Pad("你好世界", 4), "你… "}, {Pad("a你好", 4), "a你…"}, {Pad("你", 1), "…"}, {Pad("ab", 4), "ab  "}, {Pad("ab", 0), ""},
		{PadLeft("9s", 4), "  9s"}, {PadLeft("12345", 4), "123…"}, {ClipMark("abcdef", 4, "~"), "abc~"},
		{Middle("task_a7c9d2e3f1", 10), "task_a7…f1"}, {Middle("short", 10), "short"}, {Middle("abcdef", 2), "a…"},
		{Cut("你好世界", 1, 5), " 好 "}, {Cut("abcdef", 2, 4), "cd"}, {Cut("abc", 5, 9), ""}, {Clip("abc", -1), ""},
		{TailMark("work:api:charge-errors", 10, "…"), "…ge-errors"}, {TailMark("你好世界", 4, "…"), "…界"}, {TailMark("ab", 1, "…"), "…"},
		{strings.Join(Wrap("the quick brown fox", 9), "|"), "the quick|brown fox"},
		{strings.Join(Wrap("abcdefghij", 4), "|"), "abcd|efgh|ij"},
		{strings.Join(Wrap("你好", 1), "|"), " | "},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// B24, B25, B98: a sequence split anywhere, and one that never ends.
func TestFilter(t *testing.T) {
	in := "A\x1b]0;t\x07B\r\n\x1b[31mred\x1b[0m \u4f60\x1bPq#1\x1b\\end\rx\n"
	want := "AB\nred 你end\nx\n"
	for i := range len(in) + 1 {
		for j := i; j <= len(in); j++ {
			var f Filter
			got := f.Next(in[:i]) + f.Next(in[i:j]) + f.Next(in[j:]) + f.Flush()
			if got != want {
				t.Fatalf("cut at %d,%d: %q", i, j, got)
			}
		}
	}
	f := Filter{SGR: true}
	if got := f.Next("\x1b[3") + f.Next("1mre") + f.Next("d\nx"); got != "\x1b[31mre\x1b[m\x1b[31md\x1b[m\n\x1b[31mx\x1b[m" {
		t.Errorf("colours over chunks: %q", got)
	}
}

func TestFilterBoundedHold(t *testing.T) {
	var f Filter
	got := f.Next("A\x1b]0;")
	shown := 0
	for range 160 {
		s := f.Next(strings.Repeat("x", 64<<10))
		shown += len(s)
		if len(f.hold) > FilterHold {
			t.Fatalf("holds %d bytes", len(f.hold))
		}
	}
	if got != "A" || shown < 9<<20 {
		t.Errorf("got %q, then %d bytes", got, shown)
	}
	f = Filter{}
	if got := f.Next("x\x1b") + f.Flush() + f.Next("y"); got != "x␛…y" {
		t.Errorf("ESC and then nothing: %q", got)
	}
}

func FuzzSafe(f *testing.F) {
	for _, p := range hostile {
		f.Add("a"+p+"你"+p, 7)
	}
	f.Add("🏳\ufe0f\u200d🌈aaaaaa \u0915\u094d\u0937\u093f नमस्ते ำ กำ", 8)
	f.Add("\u0600\u0661 \u1100\u1161\u11a8 \u115f\u3164 e\u0301\u0301", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = min(max(n, -1), 300)
		line, id := Line(s), ID(s)
		check(t, "Line", line, false)
		check(t, "ID", id, false)
		rows := Block(s)
		for _, r := range rows {
			check(t, "Block", r, false)
		}
		check(t, "OutputLine", OutputLine(s, false), false)
		check(t, "OutputLine sgr", OutputLine(s, true), true)
		for _, safe := range append(rows, line, id) {
			for name, got := range map[string]string{
				"Clip": Clip(safe, n), "Middle": Middle(safe, n), "Cut": Cut(safe, n/2, n/2+n), "ASCII": ClipMark(safe, n, "~"), "Tail": TailMark(safe, n, "…"),
			} {
				check(t, name, got, false)
				if ansi.StringWidth(got) > max(0, n) || ansi.StringWidthWc(got) > max(0, n) {
					t.Fatalf("%s(%q, %d) = %q is too wide", name, safe, n, got)
				}
			}
			if w := Width(Pad(safe, n)); w != max(0, n) {
				t.Fatalf("Pad(%q, %d) is %d wide", safe, n, w)
			}
			for _, r := range Wrap(safe, n) {
				if Width(r) > n {
					t.Fatalf("Wrap(%q, %d) row %q", safe, n, r)
				}
			}
		}
		for _, sgr := range []bool{false, true} {
			fl := Filter{SGR: sgr}
			k := len(s) / 2
			for _, piece := range []string{fl.Next(s[:k]), fl.Next(s[k:]), fl.Flush()} {
				for row := range strings.SplitSeq(piece, "\n") {
					check(t, "Filter", row, sgr)
				}
			}
		}
	})
}

func BenchmarkOutputLine(b *testing.B) {
	ascii := strings.Repeat("2026-11-30 test ok pkg/server 0.12s ", 4)
	for name, s := range map[string]string{
		"ascii": ascii, "sgr": "\x1b[32mok\x1b[0m " + ascii, "cjk": strings.Repeat("你好世界 ", 20),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				OutputLine(s, true)
			}
		})
	}
}

// Breaking a text costs no more than the text: an agent must not stall a screen by its
// length. Measuring the rest anew for each row would take minutes here.
func TestWrapIsLinear(t *testing.T) {
	long := strings.Join(Block(strings.Repeat("👨‍👩‍👧 word ", 60_000)), "")
	begin := time.Now()
	rows := Wrap(long, 80)
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	bare := strings.NewReplacer(" ", "").Replace
	if bare(strings.Join(rows, "")) != bare(long) {
		t.Error("something was lost")
	}
}

// Both ways of drawing over what stood in a row come to the same.
func TestOverwriteASCII(t *testing.T) {
	for s, want := range map[string]string{
		"10%\r20%\r100% done": "100% done", "abcdef\rxy": "xycdef", "a\rbcd\r": "bcd", "\r\rab": "ab", "x\r": "x",
	} {
		got, ok := overwriteASCII(s)
		if slow := overwriteCells(s); !ok || got != want || slow != want {
			t.Errorf("%q became %q and %q, want %q", s, got, slow, want)
		}
	}
	if _, ok := overwriteASCII("é\ra"); ok {
		t.Error("a letter that is not ASCII was taken for a byte a cell")
	}
}
