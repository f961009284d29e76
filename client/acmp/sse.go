package acmp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// eventReader reads server-sent events: the data of each, nothing else. It
// tolerates comments, CR, LF and CRLF, several data lines, unknown fields, a
// byte order mark and any split of the reads (A-037, B24, B25).
type eventReader struct {
	lines *lineReader
	limit int
	data  []byte
	first bool
}

func newEventReader(r io.Reader, limit int) *eventReader {
	// A line is "data: " and at most limit bytes.
	return &eventReader{lines: newLineReader(r, limit+64, true), limit: limit, first: true}
}

// next gives the data of the next message event; it is valid until the next
// call. Events of another name and without data are passed over. It gives
// [errTooLong] for an event above the limit, once, and goes on behind it. An
// event that the end of the stream cuts off is not an event.
func (e *eventReader) next() ([]byte, error) {
	e.data = e.data[:0]
	seen, tooLong, other := false, false, false
	for {
		line, partial, err := e.lines.next()
		switch {
		case errors.Is(err, errTooLong):
			tooLong = true
			continue
		case err != nil:
			return nil, err
		case partial:
			continue
		}
		if e.first {
			e.first = false
			line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
		}
		if len(line) == 0 {
			switch {
			case tooLong:
				return nil, errTooLong
			case seen && !other:
				return e.data, nil
			}
			e.data, seen, other = e.data[:0], false, false
			continue
		}
		field, value := splitField(line)
		switch string(field) {
		case "data":
			if seen {
				e.data = append(e.data, '\n')
			}
			seen = true
			e.data = append(e.data, value...)
			if len(e.data) > e.limit {
				tooLong, e.data = true, e.data[:0]
			}
		case "event":
			other = len(value) > 0 && string(value) != "message"
		}
	}
}

func splitField(line []byte) (field, value []byte) {
	field, value, _ = bytes.Cut(line, []byte{':'})
	return field, bytes.TrimPrefix(value, []byte{' '})
}

// eventBody stands between an SSE body and the SDK: it gives the SDK only the
// response it waits for and then ends, even if the provider holds the stream
// open (B31).
type eventBody struct {
	body   io.ReadCloser
	events *eventReader
	filter *filter
	task   sink // nil where the request is not about a task
	limit  int

	out  []byte // for the SDK, not yet read
	done error
}

func newEventBody(body io.ReadCloser, f *filter, task sink, limit int) *eventBody {
	return &eventBody{body: body, events: newEventReader(body, limit), filter: f, task: task, limit: limit}
}

// Read implements io.Reader for the SDK's reader of events.
func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if b.done != nil {
			return 0, b.done
		}
		b.advance()
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

func (b *eventBody) advance() {
	data, err := b.events.next()
	switch {
	case errors.Is(err, errTooLong):
		b.fault(fmt.Sprintf("a message is larger than the limit of %d bytes", b.limit))
		return
	case err != nil:
		b.done = err
		return
	case len(bytes.TrimSpace(data)) == 0:
		return
	}
	data = validUTF8(data)
	pass, err := b.filter.inspect(data)
	if err != nil {
		b.fault("an event of the stream is " + err.Error())
		return
	}
	if pass {
		b.out = frame(data)
		b.done = io.EOF
		b.body.Close()
	}
}

func (b *eventBody) fault(msg string) {
	if b.task != nil {
		b.task.violation(msg)
		return
	}
	b.filter.log.Warn("faulty event of a provider passed over", "fault", msg)
}

// Close implements io.Closer.
func (b *eventBody) Close() error { return b.body.Close() }

// frame writes one message as one event; a line break in JSON text is only
// white space.
func frame(data []byte) []byte {
	out := make([]byte, 0, len(data)+24)
	out = append(out, "event: message\ndata: "...)
	for _, c := range data {
		if c == '\n' || c == '\r' {
			c = ' '
		}
		out = append(out, c)
	}
	return append(out, "\n\n"...)
}
