package fleet

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// B05.
func TestOutputLines(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []string
		want []string
		open bool
	}{
		{"whole lines", []string{"a\nb\n"}, []string{"a", "b"}, false},
		{"open line", []string{"a\nb"}, []string{"a", "b"}, true},
		{"joined", []string{"he", "llo\nwo", "rld"}, []string{"hello", "world"}, true},
		{"crlf", []string{"changed line\r\n"}, []string{"changed line"}, false},
		{"crlf split", []string{"abc\r", "\ndef\n"}, []string{"abc", "def"}, false},
		{"progress", []string{"10%\r20%\r100%\n"}, []string{"100%"}, false},
		{"overwrite", []string{"progress 1\rX\n"}, []string{"Xrogress 1"}, false},
		{"overwrite split", []string{"abc\r", "X", "Y"}, []string{"XYc"}, true},
		{"overwrite wide", []string{"日本\rab\n"}, []string{"ab本"}, false},
		{"colour does not count", []string{"abc\r\x1b[31mX\x1b[0m\n"}, []string{"\x1b[31mX\x1b[0mbc"}, false},
		{"lone cr at the end", []string{"abc\r"}, []string{"abc"}, true},
		{"cr at the start", []string{"\rabc\n"}, []string{"abc"}, false},
		{"two crs", []string{"abc\r\r\nd"}, []string{"abc", "d"}, true},
		{"empty lines", []string{"\n\n"}, []string{"", ""}, false},
		{"nothing", []string{""}, nil, false},
	} {
		var o Output
		for _, s := range c.in {
			o.write(s)
		}
		if diff := cmp.Diff(c.want, o.Lines); diff != "" || o.Open != c.open {
			t.Errorf("%s (open %v):\n%s", c.name, o.Open, diff)
		}
	}
}

// A stream without line ends, and one of nothing but line ends, stay bounded.
func TestOutputBounds(t *testing.T) {
	var endless Output
	for range 4000 {
		endless.write(strings.Repeat("é", 500))
	}
	if endless.Bytes > maxOutputBytes+maxLineBytes || endless.Dropped == 0 {
		t.Errorf("%d bytes, %d dropped", endless.Bytes, endless.Dropped)
	}
	for i, l := range endless.Lines {
		if len(l) > maxLineBytes || !utf8.ValidString(l) {
			t.Fatalf("row %d: %d bytes, valid %v", i, len(l), utf8.ValidString(l))
		}
	}
	var short Output
	for range 3 {
		short.write(strings.Repeat("\n", maxOutputLines))
	}
	if len(short.Lines) > maxOutputLines || short.Dropped+len(short.Lines) != 3*maxOutputLines {
		t.Errorf("%d lines, %d dropped", len(short.Lines), short.Dropped)
	}
	var spin Output
	for range 2000 {
		spin.write(strings.Repeat("\u0301", 200) + "\r")
	}
	if spin.Bytes > 4*maxLineBytes {
		t.Errorf("a spinner of nothing but marks holds %d bytes", spin.Bytes)
	}
	var huge Output
	huge.write(strings.Repeat("x", 3*maxOutputBytes))
	if huge.Bytes > maxOutputBytes+maxLineBytes {
		t.Errorf("one huge chunk holds %d bytes", huge.Bytes)
	}
}

// However the text is cut into chunks, the lines are the same; Bytes is what is held.
func TestOutputAnySplit(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "bc", "é", "日", "\r", "\n", "\r\n", "\x1b[1m", strings.Repeat("z", maxLineBytes-1), ""})
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(part, 0, 30).Draw(t, "parts")
		var whole, cut Output
		whole.write(strings.Join(parts, ""))
		for _, p := range parts {
			cut.write(p)
		}
		if diff := cmp.Diff(whole.Lines, cut.Lines); diff != "" {
			t.Fatal(diff)
		}
		held := 0
		for _, l := range cut.Lines {
			held += len(l) + lineOverhead
		}
		if held != cut.Bytes || whole.Open != cut.Open {
			t.Fatalf("holds %d, says %d; open %v and %v", held, cut.Bytes, whole.Open, cut.Open)
		}
	})
}

func BenchmarkOutputWrite(b *testing.B) {
	var o Output
	line := strings.Repeat("some output of a test run ", 3) + "\n"
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		o.write(line)
	}
}
