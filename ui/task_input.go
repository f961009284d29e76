package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acmp"
	"signalbox/model/text"
	"signalbox/ui/screen"
)

// The bounds of a task's input, in bytes: what one message carries, and one piece
// of a stream.
const (
	inputLimit = 1 << 20
	inputPiece = 32 << 10
)

// taskInput is what was entered as the input of a task: text, or the name of a
// file that is read when it is sent.
type taskInput struct {
	text, typ string
	file      string
}

// inputOf reads what was typed; a sentence says what is wrong with it.
func inputOf(raw, typ string) (in taskInput, why string) {
	in = taskInput{text: raw, typ: typ}
	if name, ok := strings.CutPrefix(raw, "@"); ok && !strings.Contains(raw, "\n") {
		if in.file = strings.TrimSpace(name); in.file == "" {
			return in, "@ needs the name of a file"
		}
		return in, ""
	}
	_, why = payloadOf(raw, typ)
	return in, why
}

// payload is the whole input as one message. It reads the file.
func (in taskInput) payload() (*acmp.Payload, error) {
	raw := in.text
	if in.file != "" {
		var err error
		if raw, err = readInput(in.file); err != nil {
			return nil, err
		}
	}
	p, why := payloadOf(raw, in.typ)
	if why != "" && in.file != "" {
		return nil, fmt.Errorf("%s: %s", in.file, why)
	}
	if why != "" {
		return nil, errors.New(why)
	}
	return p, nil
}

// readInput reads a file of at most inputLimit bytes. What has no length of its own,
// such as a pipe, could keep the reader for ever and is refused.
func readInput(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", fmt.Errorf("read the input: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file; stream it instead", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("read the input: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, inputLimit+1)) // it may have grown
	if err != nil {
		return "", fmt.Errorf("read the input: %w", err)
	}
	if len(b) > inputLimit {
		return "", fmt.Errorf("%s holds more than %d bytes; stream it instead", name, inputLimit)
	}
	return string(b), nil
}

// fedTask tells how the feeding of a task went.
type fedTask struct {
	taskID string
	name   string
	bytes  int64
	err    error
}

// feedTask sends the input of a task that takes more as it runs. A file is sent
// to its end and closes the input; text leaves it open for more.
func (m *Model) feedTask(taskID string, in taskInput) tea.Cmd {
	if in.file == "" && in.text == "" {
		return nil
	}
	buyer, ctx := m.opts.Buyer, m.ctx
	return func() tea.Msg {
		if in.file == "" {
			ctx, cancel := context.WithTimeout(ctx, actTimeout)
			defer cancel()
			p, err := in.payload()
			if err == nil {
				err = buyer.Input(ctx, taskID, *p, false)
			}
			return fedTask{taskID: taskID, bytes: int64(len(in.text)), err: err}
		}
		n, err := feedFile(ctx, buyer, taskID, in.file)
		return fedTask{taskID, in.file, n, err}
	}
}

// feedFile sends a file piece by piece, never cutting a character. A task that takes
// its time with a piece is waited for: its end, or that of ctx, ends the feeding.
func feedFile(ctx context.Context, b Buyer, taskID, name string) (sent int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	buf := make([]byte, 0, inputPiece)
	for {
		n, err := io.ReadFull(f, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			return sent, err
		}
		whole := len(buf)
		if !end {
			whole = wholeRunes(buf)
		}
		if err := feedPiece(ctx, b, taskID, string(buf[:whole]), end); err != nil {
			return sent, err
		}
		sent += int64(whole)
		if end {
			return sent, nil
		}
		buf = append(buf[:0], buf[whole:]...)
	}
}

func feedPiece(ctx context.Context, b Buyer, taskID, s string, final bool) error {
	p, why := payloadOf(s, "text")
	if why != "" {
		return errors.New(why)
	}
	return b.Input(ctx, taskID, *p, final)
}

// wholeRunes is how many bytes of b end before a character that was cut.
func wholeRunes(b []byte) int {
	for i := 1; i <= min(utf8.UTFMax-1, len(b)); i++ {
		if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}

func (m *Model) onFed(msg fedTask) tea.Cmd {
	what := "input of " + shortTask(msg.taskID)
	if msg.name != "" {
		what = text.ID(msg.name) + " to " + shortTask(msg.taskID)
	}
	if errors.Is(msg.err, acmp.ErrUnconfirmed) {
		return m.toast(screen.Warn, what+": "+acmp.ErrUnconfirmed.Error())
	}
	if msg.err != nil {
		return m.toast(screen.Bad, fmt.Sprintf("%s stopped after %s: %s", what, plural(int(msg.bytes), "byte", "bytes"), m.explain(screen.Task(msg.taskID), msg.err)))
	}
	return m.toast(screen.Good, fmt.Sprintf("%s: %s sent", what, plural(int(msg.bytes), "byte", "bytes")))
}

// payloadOf makes the payload of what was typed. Nothing typed is empty text, or
// JSON's null: an input is asked for by every provider.
func payloadOf(raw, typ string) (*acmp.Payload, string) {
	if typ == "json" {
		if raw == "" {
			raw = "null"
		}
		if !json.Valid([]byte(raw)) {
			return nil, "the input is not valid JSON"
		}
		return &acmp.Payload{Type: "json", Data: json.RawMessage(raw)}, ""
	}
	data, err := json.Marshal(strings.ToValidUTF8(raw, "\ufffd"))
	if err != nil {
		return nil, err.Error()
	}
	return &acmp.Payload{Type: "text", Data: data}, ""
}

var decimal = regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`)

func validCU(s string) string {
	if s = strings.TrimSpace(s); s != "" && !decimal.MatchString(s) {
		return "a ceiling is a number of CU like 0.005"
	}
	return ""
}
