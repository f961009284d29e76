package acmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"signalbox/model/acmp"
)

// stdioConn stands between a child process and the SDK: the SDK writes to it and
// reads from it; chunks and heartbeats leave on the way.
type stdioConn struct {
	proc   *process
	lines  *lineReader
	filter *filter
	log    *slog.Logger
	limit  int

	mu    sync.Mutex
	sinks map[string]sink // by task_id
	calls map[string]call // by request id
	stray string          // start of the last line that was no message

	out  []byte
	done error
}

// call is a request that awaits its response.
type call struct {
	taskID string // "" where it is not about a task
	sink   sink   // of the attempt that made it
}

func newStdioConn(p *process, limit int, log *slog.Logger) *stdioConn {
	c := &stdioConn{
		proc: p, log: log, limit: limit,
		lines: newLineReader(&pipeEnd{f: p.stdout}, limit, false),
		sinks: map[string]sink{}, calls: map[string]call{},
	}
	c.filter = &filter{log: log, find: c.find, answer: c.answer}
	return c
}

func (c *stdioConn) attach(taskID string, s sink) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sinks[taskID] = s
}

// detach forgets s, also that it awaits a response; a later attempt that has taken
// its place stays.
func (c *stdioConn) detach(taskID string, s sink) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sinks[taskID] == s {
		delete(c.sinks, taskID)
	}
	for id, k := range c.calls {
		if k.sink == s {
			delete(c.calls, id)
		}
	}
}

func (c *stdioConn) find(taskID string) sink {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sinks[taskID]
}

func (c *stdioConn) answer(id string) (sink, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.calls[id]
	delete(c.calls, id)
	return k.sink, ok
}

// Write takes one message of the SDK, with its line end.
func (c *stdioConn) Write(b []byte) (int, error) {
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			TaskID    string          `json:"task_id"`
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	// The message is the SDK's own; params of other methods have neither member.
	isRequest := json.Unmarshal(b, &head) == nil && len(head.ID) > 0 && head.Method != ""
	var task sink
	c.mu.Lock()
	if isRequest {
		if head.Method == acmp.MethodInvoke {
			task = c.sinks[head.Params.TaskID]
		}
		c.calls[string(head.ID)] = call{head.Params.TaskID, task}
	}
	delete(c.calls, string(head.Params.RequestID)) // notifications/cancelled: given up
	c.mu.Unlock()
	n, err := c.proc.Write(b)
	if err == nil && task != nil {
		task.wrote() // into the queue of the pipe
	}
	return n, err
}

// Read gives the SDK the responses, one line each.
func (c *stdioConn) Read(p []byte) (int, error) {
	for len(c.out) == 0 {
		if c.done != nil {
			return 0, c.done
		}
		c.advance()
	}
	n := copy(p, c.out)
	c.out = c.out[n:]
	return n, nil
}

func (c *stdioConn) advance() {
	line, partial, err := c.lines.next()
	switch {
	case errors.Is(err, errTooLong):
		c.tooLong(c.lines.head)
		return
	case err != nil:
		c.done = io.EOF
		return
	case partial:
		c.note(line)
		return
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	if line[0] != '{' {
		c.note(line)
		return
	}
	line = validUTF8(line)
	pass, err := c.filter.inspect(line)
	if err != nil {
		c.note(line)
		return
	}
	if pass {
		c.out = append(bytes.Clone(line), '\n')
	}
}

// tooLong ends the task that a message above the limit was about, where its start
// names one (B27); else the gap in the task's seq will tell.
func (c *stdioConn) tooLong(head []byte) {
	taskID, id := whose(head)
	if taskID == "" && id != "" {
		c.mu.Lock()
		taskID = c.calls[id].taskID
		c.mu.Unlock()
	}
	if s := c.find(taskID); s != nil {
		s.violation(fmt.Sprintf("a message is larger than the limit of %d bytes", c.limit))
		return
	}
	c.log.Warn("message of a provider above the limit passed over", "limit_bytes", c.limit)
}

// whose reads the start of a message for its task_id and its request id.
func whose(head []byte) (taskID, id string) {
	dec := jsontext.NewDecoder(bytes.NewReader(head), lenient)
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return "", id
		}
		switch dec.StackPointer() {
		case "/params/task_id", "/result/task_id", "/error/data/task_id":
			if tok.Kind() == '"' && tok.String() != "task_id" {
				return tok.String(), id
			}
		case "/id":
			if k := tok.Kind(); k == '0' {
				id = tok.String()
			}
		}
	}
}

// note logs a line that is no message; the transport goes on (B36, B37).
func (c *stdioConn) note(line []byte) {
	s := quoteStray(line, c.proc.token)
	c.mu.Lock()
	c.stray = s
	c.mu.Unlock()
	c.log.Warn("stray text on a provider's stdout", "text", s)
}

// explain makes the failure of a handshake plain: what became of the child, and
// whether its stdout held something else than messages.
func (c *stdioConn) explain(err error) error {
	msg := plainError(err)
	if sleepUnless(c.proc.gone, 200*time.Millisecond) {
		msg = c.proc.why()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stray != "" {
		msg += fmt.Sprintf(`; its stdout also holds "%s"`, c.stray)
	}
	return &transportError{errors.New(msg)}
}

// Close implements io.Closer for the SDK; the process is ended by its owner.
func (c *stdioConn) Close() error { return nil }

// quoteStray makes the start of foreign bytes fit for one line of a log or error,
// without token.
func quoteStray(b []byte, token Secret) string {
	const maxLen = 200
	b = []byte(token.hide(string(b)))
	if len(b) > maxLen {
		b = b[:maxLen]
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, string(validUTF8(b)))
}
