package pane

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// BenchmarkSearch looks through 16 MB of output for what is not there. A key waits
// for one go at most.
func BenchmarkSearch(b *testing.B) {
	for name, line := range map[string]string{
		"ascii":   "2026-12-01 01:40:00 INFO  server/http: request served in 12 ms, 200 OK\n",
		"colours": "\x1b[32mok\x1b[0m   \x1b[1mserver/http\x1b[0m: request served in 12 ms, 200 OK\n",
		"han":     "你好世界 server/http: request served, 200 OK, 你好世界\n",
		"bars":    "10%\r20%\r30%\r40%\r50% done of what is to be done here\n",
	} {
		tx := SplitText([]byte(strings.Repeat(line, 16<<20/len(line))), false)
		b.Run(name, func(b *testing.B) {
			var longest time.Duration
			for b.Loop() {
				p := &Pane{}
				p.Sync(tx, 0, 100, 40)
				from := time.Now()
				p.Search(tx, "nowhere")
				for p.Seeking() {
					longest = max(longest, time.Since(from))
					from = time.Now()
					p.Seek(tx)
				}
			}
			b.ReportMetric(float64(longest.Milliseconds()), "ms/go")
		})
	}
}

// Of a long output no search looks at all in one go, and what it finds in several is
// what it would find in one.
func TestLongSearchHasPauses(t *testing.T) {
	var lines []string
	for i := range 60_000 {
		lines = append(lines, fmt.Sprintf("line %d of an output that is long", i))
	}
	lines[7] = "the needle"
	tx := Text{Lines: lines}
	p := &Pane{}
	p.Sync(tx, 0, 80, 20)
	p.Search(tx, "needle")
	if !p.Seeking() || !strings.Contains(p.Status(tx), "searching, ") {
		t.Fatalf("it looked at everything in one go: %q", p.Status(tx))
	}
	p.Seek(tx)
	left := p.seek.left
	if p.Do(Prev, tx); p.seek.left != left {
		t.Errorf("pressed again, it does not go on where it is: %d lines left, then %d", left, p.seek.left)
	}
	n := 0
	for ; p.Seeking(); n++ {
		p.Seek(tx)
	}
	if p.hit != 7 || n < 5 {
		t.Errorf("line %d after %d goes", p.hit, n)
	}
	p.Search(tx, "nowhere")
	for p.Seeking() {
		p.Seek(tx)
	}
	if !strings.Contains(p.Status(tx), "not found") {
		t.Errorf("%q", p.Status(tx))
	}
	p.Search(tx, "nowhere")
	p.Search(tx, "")
	if p.Seeking() {
		t.Error("it goes on looking after the search has ended")
	}
}
