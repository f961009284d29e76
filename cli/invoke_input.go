package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"signalbox/model/acmp"
)

// inputChunkSize is the most one input chunk carries, in bytes.
const inputChunkSize = 32 << 10

// inputCutter cuts stdin into payloads of one type: text at what has been read,
// never inside a character; json one value a chunk; other types as bytes.
type inputCutter struct {
	r    io.Reader
	typ  string
	dec  *json.Decoder // json only
	rest []byte        // start of a character
	buf  []byte
}

func newInputCutter(r io.Reader, typ string) *inputCutter {
	c := &inputCutter{r: r, typ: typ, buf: make([]byte, inputChunkSize)}
	if acmp.IsJSON(typ) {
		c.dec = json.NewDecoder(r)
	}
	return c
}

// next gives the next chunk; the one that says final is empty text, so that it
// can be sent when the end is known.
func (c *inputCutter) next() (p acmp.Payload, final bool, err error) {
	if c.dec != nil {
		return c.nextValue()
	}
	for {
		n, err := c.r.Read(c.buf)
		raw := append(c.rest, c.buf[:n]...)
		c.rest = nil
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return acmp.Payload{}, false, fmt.Errorf("read stdin: %w", err)
		case errors.Is(err, io.EOF) && len(raw) == 0:
			return c.end(), true, nil
		case err == nil && acmp.IsText(c.typ):
			raw, c.rest = wholeCharacters(raw)
		}
		if len(raw) == 0 {
			continue
		}
		if !acmp.IsText(c.typ) {
			return acmp.Bytes(c.typ, raw), false, nil
		}
		t := acmp.Text(string(bytes.ToValidUTF8(raw, []byte("\uFFFD"))))
		t.Type = c.typ
		return t, false, nil
	}
}

func (c *inputCutter) nextValue() (acmp.Payload, bool, error) {
	var v json.RawMessage
	err := c.dec.Decode(&v)
	switch {
	case errors.Is(err, io.EOF):
		return c.end(), true, nil
	case err != nil:
		return acmp.Payload{}, false, errors.New("stdin is not a sequence of JSON values")
	}
	return acmp.Payload{Type: c.typ, Data: v}, false, nil
}

// end is an empty text: it closes the stream and adds nothing.
func (c *inputCutter) end() acmp.Payload { return acmp.Text("") }

// wholeCharacters splits off the start of a character at the end of b.
func wholeCharacters(b []byte) (whole, rest []byte) {
	for i := 1; i <= min(utf8.UTFMax-1, len(b)); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i], bytes.Clone(b[len(b)-i:])
			}
			break
		}
	}
	return b, nil
}
