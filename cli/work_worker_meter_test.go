package cli

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// noReader takes nothing.
type noReader struct{}

func (noReader) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

// B57: a new whole line is progress; a spinner, the same line again and half a line
// are not.
func TestMeterTellsProgressFromNoise(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, out string
		lines     int
		last      string
	}{
		{"nothing", "", 0, ""},
		{"half a line", "compil", 0, ""},
		{"lines", "one\ntwo\n", 2, "two"},
		{"windows lines", "one\r\ntwo\r\n", 2, "two"},
		{"the same again", "waiting\nwaiting\nwaiting\n", 1, "waiting"},
		{"a spinner", "|\r/\r-\r\\\r", 0, ""},
		{"a bar and its end", "10 %\r50 %\rdone\n", 1, "done"},
		{"blank lines", "\n \n\t\n", 0, ""},
		{"escapes", "\x1b[31mred\x1b[0m\n", 1, "red"},
	} {
		for _, w := range []io.Writer{io.Discard, noReader{}, nil} {
			m := newMeter()
			s := m.measure(w)
			for _, b := range []byte(tt.out) { // as slow as it can come
				if n, err := s.Write([]byte{b}); n != 1 || err != nil {
					t.Fatalf("%s: %d, %v", tt.name, n, err)
				}
			}
			if m.lines() != tt.lines || m.last() != tt.last || (len(m.news) == 1) != (tt.lines > 0) {
				t.Errorf("%s: %d lines, the last %q, %d news", tt.name, m.lines(), m.last(), len(m.news))
			}
		}
	}
}

// Two streams do not run into each other, and a line without end costs no memory.
func TestMeterKeepsStreamsApart(t *testing.T) {
	t.Parallel()
	m := newMeter()
	out, errs := m.measure(nil), m.measure(nil)
	for _, s := range []struct {
		w io.Writer
		b string
	}{{out, "out"}, {errs, "err\n"}, {out, "put\n"}, {out, strings.Repeat("x", 1<<20)}, {out, "the end\n"}} {
		if _, err := io.WriteString(s.w, s.b); err != nil {
			t.Fatal(err)
		}
	}
	if kept := cap(out.(*measured).rest); m.lines() != 3 || kept > 16<<10 {
		t.Errorf("%d lines, %d bytes kept", m.lines(), kept)
	}
	if strings.Contains(m.last(), "err") || !strings.HasPrefix(m.last(), "x") {
		t.Errorf("the last line is %q", m.last())
	}
}
