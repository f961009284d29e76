package cli

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"os"

	"github.com/charmbracelet/x/term"

	"signalbox/model/acmp"
	"signalbox/model/text"
)

// plainOutput writes the output alone: text and bytes as they are, JSON one value a
// line. After a re-send it goes on where it stopped, provided the replay begins
// with what was printed. On a terminal everything passes the sanitiser.
type plainOutput struct {
	w      io.Writer
	filter *text.Filter // nil where stdout is no terminal

	printed  int64
	sum      hash.Hash // of what was printed
	replayed int64
	replay   hash.Hash // nil unless a replay is being compared
	lastByte byte
	join     acmp.Joiner
}

func newPlainOutput(w io.Writer) *plainOutput {
	o := &plainOutput{w: w, sum: sha256.New(), lastByte: '\n'}
	if f, ok := w.(*os.File); ok && term.IsTerminal(f.Fd()) {
		o.filter = &text.Filter{}
	}
	return o
}

var errReplay = errors.New("protocol error: the output sent again does not begin with what was printed")

func (o *plainOutput) event(ev *acmp.TaskEvent) error {
	switch ev.Kind {
	case acmp.EventResent:
		o.again()
	case acmp.EventChunk:
		return o.put(ev.Chunk)
	case acmp.EventResult:
		if ev.Result.Output != nil {
			// It is the whole output, whatever came in chunks before.
			o.again()
			if err := o.put(*ev.Result.Output); err != nil {
				return err
			}
		}
		if err := o.bytes(o.join.Flush(nil)); err != nil {
			return err
		}
		if o.replay != nil {
			return errReplay
		}
		return o.end()
	case acmp.EventError:
		return o.end()
	}
	return nil
}

// again makes what follows be compared with what was printed.
func (o *plainOutput) again() {
	o.join = acmp.Joiner{}
	if o.printed > 0 {
		o.replay, o.replayed = sha256.New(), 0
	}
}

func (o *plainOutput) put(p acmp.Payload) error {
	if acmp.IsText(p.Type) {
		return o.bytes(o.join.Append(nil, p))
	}
	out := o.join.Flush(nil)
	raw := p.Raw()
	if acmp.IsJSON(p.Type) || bytes.Equal(raw, p.Data) { // not in base64 either
		raw = append(plainASCII(raw), '\n')
	}
	return o.bytes(append(out, raw...))
}

func (o *plainOutput) bytes(b []byte) error {
	if o.replay != nil {
		k := min(int64(len(b)), o.printed-o.replayed)
		o.replay.Write(b[:k])
		o.replayed += k
		b = b[k:]
		if o.replayed == o.printed {
			if string(o.replay.Sum(nil)) != string(o.sum.Sum(nil)) {
				return errReplay
			}
			o.replay = nil
		}
	}
	if len(b) == 0 {
		return nil
	}
	o.printed += int64(len(b))
	o.sum.Write(b)
	return o.write(b)
}

func (o *plainOutput) write(b []byte) error {
	if o.filter != nil {
		b = []byte(o.filter.Next(string(b)))
	}
	if len(b) == 0 {
		return nil
	}
	o.lastByte = b[len(b)-1]
	_, err := o.w.Write(b)
	return err
}

// end leaves a terminal at the start of a line.
func (o *plainOutput) end() error {
	if o.filter == nil {
		return nil
	}
	s := o.filter.Flush()
	if s != "" {
		o.lastByte = s[len(s)-1]
	}
	if o.lastByte != '\n' {
		s += "\n"
	}
	_, err := io.WriteString(o.w, s)
	return err
}
