package cli

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"signalbox/model/text"
)

// meter tells progress from noise in what a command prints: a whole line that differs
// from the one before is news, a spinner that is drawn over itself is not.
type meter struct {
	news chan struct{} // has room for one

	mu    sync.Mutex
	count int
	line  string
}

func newMeter() *meter { return &meter{news: make(chan struct{}, 1)} }

const (
	// meterLine bounds what is kept of a line in bytes.
	meterLine = 1 << 10
	// meterCells bounds what is told of it.
	meterCells = 200
)

// measure is w with its lines noted.
func (m *meter) measure(w io.Writer) io.Writer { return &measured{m: m, w: w} }

// lines is how many new lines there were.
func (m *meter) lines() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// last is the last line that was new, fit for a screen.
func (m *meter) last() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.line
}

func (m *meter) note(raw []byte) {
	raw = bytes.TrimRight(raw, "\r")
	raw = raw[bytes.LastIndexByte(raw, '\r')+1:] // what stood before was drawn over
	line := text.Clip(strings.TrimSpace(text.Line(string(raw))), meterCells)
	m.mu.Lock()
	defer m.mu.Unlock()
	if line == "" || line == m.line {
		return
	}
	m.line = line
	m.count++
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// measured passes one stream on.
type measured struct {
	m    *meter
	w    io.Writer // nil after it failed
	rest []byte    // of a line that has not ended, its end
}

// Write implements io.Writer and never fails: lines are noted also when nobody takes
// the output any more.
func (s *measured) Write(b []byte) (int, error) {
	for left := b; len(left) > 0; {
		part, after, whole := bytes.Cut(left, []byte{'\n'})
		s.rest = append(s.rest, part[max(0, len(part)-meterLine):]...)
		if n := len(s.rest); n > meterLine {
			s.rest = append(s.rest[:0], s.rest[n-meterLine:]...)
		}
		if whole {
			s.m.note(s.rest)
			s.rest = s.rest[:0]
		}
		left = after
	}
	if s.w != nil {
		if _, err := s.w.Write(b); err != nil {
			s.w = nil
		}
	}
	return len(b), nil
}
