//go:build unix

package ui_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"signalbox/ui/uitest"
)

// B13, B14: what a terminal says of itself or of the mouse is no key, whole or torn
// apart, on the Board where letters and signs are commands.
func TestTornReportsAreNoKeys(t *testing.T) {
	t.Parallel()
	l := newLink(t, 0)
	l.shows("work:db:index")
	l.types(0, "2")
	l.shows("─ Board")
	l.keysUntil("2")
	for _, report := range [][]string{
		{"\x1b", "[<65;12;7M"}, {"\x1b[<", "65;12;7M"}, {"\x1b[<65;1", "2;7M"},
		{"\x1b]11;rgb:0a0b/0c", "0d/0e0f\x1b\\"}, {"\x1b", "]11;rgb:0a0b/0c0d/0e0f\x07"}, {"\x1b]11;rgb:0a0b/0c0d/0e0f\x1b", "\\"},
		{"\x1b[?62;22c"}, {"\x1b[?62;", "22c"}, {"\x1b", "[?62;22c"}, {"\x1b[", "12;40R"}, {"\x1bP1+r524742", "\x1b\\"},
	} {
		for _, pause := range []time.Duration{120 * time.Millisecond, 400 * time.Millisecond} {
			l.types(pause, report...)
			l.types(0, "j") // a key right behind it is one
			got := l.keysUntil("j")
			stray := slices.Equal(got, []string{"esc"}) || slices.Equal(got, []string{"alt+["})
			if len(got) > 0 && !stray { // how long is waited for the rest is tested on a clock of its own
				t.Errorf("%q %v apart are the keys %q", report, pause, got)
			}
		}
	}
	l.shows("─ Board") // no command ran
	if n := len(l.owner.Acts()); n > 0 {
		t.Errorf("%d acts", n)
	}
}

// B23: every key of a burst is one, and a character that is torn apart arrives.
func TestBurstsAndTornCharacters(t *testing.T) {
	t.Parallel()
	l := newLink(t, 0)
	l.shows("work:db:index")
	l.types(0, "jkjkz")
	if got := l.keysUntil("z"); !slices.Equal(got, []string{"j", "k", "j", "k"}) {
		t.Errorf("of a burst arrive %q", got)
	}
	l.types(0, "/ab\r")
	l.shows("filter ab, esc clears")
	l.types(0, "/")
	l.types(60*time.Millisecond, "\xe4\xbd", "\xa0", "\r")
	l.shows("filter 你, esc clears")
}

// The escape key stands for itself beside whatever comes at once behind it; a letter
// with alt is no command and no text, though terminals send it as an escape and the
// letter.
func TestEscapeAndAlt(t *testing.T) {
	t.Parallel()
	l := newLink(t, 0)
	l.shows("work:db:index")
	for _, c := range []struct {
		pieces []string
		want   []string
	}{
		{[]string{"\x1b", "k"}, []string{"esc", "k"}},
		{[]string{"\x1b\x1b[A"}, []string{"esc", "up"}},
		{[]string{"\x1b", "\x1b[B"}, []string{"esc", "down"}},
		{[]string{"\x1b\x1b"}, []string{"esc", "esc"}},
		{[]string{"\x1bq"}, []string{"alt+q"}},
		{[]string{"\x1bd"}, []string{"alt+d"}},
		{[]string{"\x1bx"}, []string{"alt+x"}},
	} {
		l.types(60*time.Millisecond, c.pieces...)
		l.until("the keys of "+strings.Join(c.pieces, " "), func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.pressed) >= len(c.want)
		})
		l.types(0, "z")
		if got := l.keysUntil("z"); !slices.Equal(got, c.want) {
			t.Errorf("%q are the keys %q, not %q", c.pieces, got, c.want)
		}
	}
	if s := strings.Join(l.screen(), "\n"); strings.Contains(s, "Decide work") || strings.Contains(s, "Cancel work") {
		t.Errorf("a letter with alt ran its command:\n%s", s)
	}
	l.types(0, "/", "ab", "\x1bx", "c")
	l.shows("/abc")
}

// queries are what a terminal answers.
var queries = regexp.MustCompile(`\x1b\[[?>=]?[\d;]*(c|n|u|\$p)|\x1b\][\d;]*\?|\x1bP\+q`)

// B14: the terminal is asked about itself at the start alone, so that no answer is
// under way when the dashboard is left.
func TestNoLateQueries(t *testing.T) {
	t.Parallel()
	l := newLink(t, 0)
	l.shows("work:db:index")
	l.settles()
	asked := len(l.written())
	if !queries.Match(l.written()) {
		t.Fatal("nothing is asked at the start: the pattern is wrong")
	}
	for _, k := range []string{"2", "3", "1", "?", "esc", ":", "esc", "d", "esc"} {
		l.send(uitest.Key(k))
		l.settles()
	}
	l.prog.Quit()
	<-l.done
	l.w.Drain(patient, patient)
	l.until("the end", func() bool { return strings.Contains(string(l.written()[asked:]), "\x1b[?1049l") })
	if q := queries.FindAll(l.written()[asked:], -1); len(q) > 0 {
		t.Errorf("asked late: %q", q)
	}
}
