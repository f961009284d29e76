package acmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"signalbox/model/acmp"
)

// output turns the standard output of one command into chunks, and its standard error
// where that is merged into it.
type output struct {
	t       *Task
	cmd     *Command
	p       *process
	tail    *tail // keeps the end where standard error is merged; else nil
	sent    bool
	pending []byte    // not yet sent
	since   time.Time // when pending began
}

const (
	readBytes    = 32 << 10
	maxTextBytes = 64 << 10 // of one text chunk; a longer line goes out in pieces
	maxJSONLine  = 8 << 20
	maxLeft      = 1 << 20 // taken from a pipe that others may write to for ever
)

// bytesType is the type of the payloads of output mode bytes.
const bytesType = "application/octet-stream"

// read takes the output to its end. After a failure it goes on reading, so that
// the command is not blocked, and drops what comes.
func (o *output) read() error {
	buf := make([]byte, readBytes)
	var failed error
	left := 0 // of what stands in the pipe, once it is not waited for; 0 before
	for {
		n, err := o.p.stdout.Read(buf)
		if n > 0 && failed == nil {
			failed = o.take(buf[:n])
		}
		late := errors.Is(err, os.ErrDeadlineExceeded)
		switch {
		case err == nil && left == 0:
		case err == nil && left > n:
			left -= n
		case late && !o.p.forced.Load():
			if failed == nil {
				failed = o.sendPartial(false)
			}
		case late && left == 0: // a slow caller may have kept us from reading
			left = maxLeft
		default: // the end
			if failed == nil {
				failed = o.rest()
			}
			return failed
		}
		switch {
		case left > 0:
			_ = o.p.stdout.SetReadDeadline(time.Now().Add(forceTime))
		case o.cmd.Output == OutputLines:
			o.setDeadline(failed != nil)
		}
	}
}

// setDeadline makes the next read end when a line without an end is due.
func (o *output) setDeadline(failed bool) {
	var at time.Time
	if len(o.pending) > 0 && !o.since.IsZero() && !failed {
		at = o.since.Add(partialAfter)
	}
	_ = o.p.stdout.SetReadDeadline(at)
	if o.p.forced.Load() { // the supervisor's deadline must not be lost
		_ = o.p.stdout.SetReadDeadline(time.Unix(1, 0))
	}
}

func (o *output) take(b []byte) error {
	if o.tail != nil {
		o.tail.Write(b)
	}
	if o.tail != nil || o.cmd.Output == OutputText || o.cmd.Output == OutputLines {
		o.cmd.watchProgress(o.t, b)
	}
	switch o.cmd.Output {
	case OutputBytes:
		return o.send(acmp.Bytes(bytesType, b))
	case OutputText:
		o.pending = append(o.pending, b...)
		return o.sendPartial(false)
	case OutputNDJSON:
		return o.takeLines(b, maxJSONLine, o.jsonLine, errLongLine)
	default:
		return o.takeLines(b, maxTextBytes, o.textLine, nil)
	}
}

var errLongLine = errors.New("a line is too long")

// takeLines gives each whole line to use. A line above limit is tooLong where that
// is set, else it goes out in pieces.
func (o *output) takeLines(b []byte, limit int, use func([]byte) error, tooLong error) error {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			if len(o.pending) == 0 {
				o.since = time.Now()
			}
			o.pending = append(o.pending, b...)
			break
		}
		line := b[:i+1]
		if len(o.pending) > 0 {
			o.pending = append(o.pending, line...)
			line = o.pending
		}
		if err := use(line); err != nil {
			return err
		}
		o.pending = o.pending[:0]
		b = b[i+1:]
	}
	if len(o.pending) <= limit {
		return nil
	}
	if tooLong != nil {
		return internalErrorValue(o.t.id, fmt.Sprintf("a line of the command's output is longer than %d bytes", limit))
	}
	return o.sendPartial(false)
}

func (o *output) textLine(line []byte) error { return o.send(textPayload(line)) }

// jsonLine sends one line of ndjson. What is no JSON is sent as a JSON string:
// programs print a stray warning now and then, and nothing may be lost.
func (o *output) jsonLine(line []byte) error {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || o.control(line) {
		return nil
	}
	if !json.Valid(line) || !utf8.Valid(line) {
		return o.send(acmp.Payload{Type: "json", Data: appendString(nil, line)})
	}
	return o.send(acmp.Payload{Type: "json", Data: bytes.Clone(line)})
}

// control takes a line that is meant for the heartbeat and not for the buyer.
func (o *output) control(line []byte) bool {
	if !bytes.Contains(line, []byte(`"acmp"`)) {
		return false
	}
	var c struct {
		ACMP     string   `json:"acmp"`
		Progress *float64 `json:"progress"`
		Detail   string   `json:"detail"`
	}
	if json.Unmarshal(line, &c) != nil || c.ACMP != "heartbeat" {
		return false
	}
	progress := -1.0
	if c.Progress != nil {
		progress = *c.Progress
	}
	o.t.Progress(progress, c.Detail)
	return true
}

// sendPartial sends what is pending as text, up to the last whole character.
func (o *output) sendPartial(all bool) error {
	n := len(o.pending)
	if !all {
		n = wholeRunes(o.pending)
	}
	o.since = time.Time{}
	if n == 0 {
		return nil
	}
	err := o.send(textPayload(o.pending[:n]))
	o.pending = append(o.pending[:0], o.pending[n:]...)
	return err
}

// rest sends what is left when the output has ended.
func (o *output) rest() error {
	if len(o.pending) == 0 {
		return nil
	}
	if o.cmd.Output == OutputNDJSON {
		return o.jsonLine(o.pending)
	}
	return o.sendPartial(true)
}

func (o *output) send(p acmp.Payload) error {
	o.sent = true
	return o.t.emitValid(p, false)
}

// end closes the stream of a command that ended well. Which chunk was the last is
// known too late to mark it, so an empty text follows (D-04).
func (o *output) end() (Output, error) {
	if o.sent {
		empty := acmp.Payload{Type: "text", Data: json.RawMessage(`""`)}
		if o.cmd.Output == OutputBytes {
			empty.Type = bytesType
		}
		return Output{}, o.t.emitValid(empty, true)
	}
	var whole acmp.Payload
	switch o.cmd.Output {
	case OutputNDJSON:
		whole = acmp.Payload{Type: "json", Data: json.RawMessage(`[]`)}
	case OutputBytes:
		whole = acmp.Bytes(bytesType, nil)
	default:
		whole = acmp.Text("")
	}
	return Output{Payload: &whole}, nil
}

// wholeRunes is the length of b without a character that is still incomplete.
func wholeRunes(b []byte) int {
	for i := 1; i <= min(utf8.UTFMax-1, len(b)); i++ {
		c := b[len(b)-i]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}

// watchProgress looks for progress in a piece of output.
func (c *Command) watchProgress(t *Task, b []byte) {
	if c.Progress == nil {
		return
	}
	for line := range bytes.FieldsFuncSeq(b, func(r rune) bool { return r == '\n' || r == '\r' }) {
		m := c.Progress.FindSubmatch(line)
		if m == nil {
			continue
		}
		if f, ok := fraction(string(m[1])); ok {
			t.Progress(f, clipText(strings.TrimSpace(string(line)), 200))
		}
	}
}

// fraction reads a percentage, or a fraction where s has a point and is at most 1.
func fraction(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 {
		return 0, false
	}
	if f <= 1 && strings.Contains(s, ".") {
		return f, true
	}
	return min(f/100, 1), true
}

// clipText is s as valid UTF-8 of at most n bytes, no character cut.
func clipText(s string, n int) string {
	if len(s) > n {
		s = s[:wholeRunes([]byte(s[:n]))]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
