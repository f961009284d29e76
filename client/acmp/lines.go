package acmp

import (
	"bytes"
	"errors"
	"io"
)

// errTooLong marks a line or event above the limit; reading goes on behind it.
var errTooLong = errors.New("message above the limit")

// lineReader cuts a stream into lines at LF, CRLF and, where cr is set, lone CR,
// whatever the boundaries of the reads. A line above limit is read to its end,
// thrown away and reported once as [errTooLong]; memory stays near limit.
type lineReader struct {
	r     io.Reader
	limit int
	cr    bool // a lone CR ends a line too (SSE)

	buf    []byte
	start  int // of unread bytes in buf
	end    int
	skipLF bool   // the last line ended with CR: a following LF belongs to it
	head   []byte // start of the last line above the limit
	err    error
}

func newLineReader(r io.Reader, limit int, cr bool) *lineReader {
	return &lineReader{r: r, limit: limit, cr: cr, buf: make([]byte, 32<<10)}
}

// next gives the next line without its end. The bytes are valid until the next
// call. At the end of the stream a last line without an end is given with
// partial set, then the error of the reader.
func (l *lineReader) next() (line []byte, partial bool, err error) {
	scanned, dropping := 0, false
	for {
		if l.skipLF && l.start < l.end {
			if l.buf[l.start] == '\n' {
				l.start++
			}
			l.skipLF = false
		}
		if i := l.index(l.buf[l.start+min(scanned, l.end-l.start) : l.end]); i >= 0 {
			i += scanned
			line = l.buf[l.start : l.start+i]
			l.skipLF = l.cr && l.buf[l.start+i] == '\r'
			l.start += i + 1
			if dropping || len(line) > l.limit {
				if !dropping {
					l.keepHead(line)
				}
				return nil, false, errTooLong
			}
			if !l.cr {
				line = bytes.TrimSuffix(line, []byte{'\r'})
			}
			return line, false, nil
		}
		scanned = l.end - l.start
		if scanned > l.limit {
			if !dropping {
				l.keepHead(l.buf[l.start:l.end])
			}
			dropping, l.start, l.end, scanned = true, 0, 0, 0
		}
		if l.err != nil {
			return l.last(dropping)
		}
		l.fill()
	}
}

// maxHead is how much of a line above the limit is kept, to see whose it was.
const maxHead = 4 << 10

func (l *lineReader) keepHead(line []byte) {
	l.head = append(l.head[:0], line[:min(len(line), maxHead)]...)
}

func (l *lineReader) last(dropping bool) ([]byte, bool, error) {
	line := l.buf[l.start:l.end]
	l.start = l.end
	switch {
	case dropping:
		return nil, false, errTooLong
	case len(line) > 0:
		return line, true, nil
	}
	return nil, false, l.err
}

func (l *lineReader) index(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if !l.cr {
		return lf
	}
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// fill reads once, making room first: by moving, else by growing up to the limit.
func (l *lineReader) fill() {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.end -= l.start
		l.start = 0
	}
	if l.end == len(l.buf) {
		grown := make([]byte, min(2*len(l.buf), l.limit+64<<10))
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	l.err = err
}
