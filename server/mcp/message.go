package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// messages are those of the agent on stdio, one a line. The SDK ends the whole
// session at the first one that it cannot read, and the agent with it loses its
// tools and its leases; here such a line is answered and passed over. It is an
// io.ReadCloser for one reader.
type messages struct {
	in   io.Closer
	r    *bufio.Reader
	out  io.Writer // takes whole messages, from several writers
	rest []byte    // of the line that is handed on
	// batches tells that the agent asked for a revision that knows them.
	batches bool
}

func newMessages(in io.ReadCloser, out io.Writer) *messages {
	return &messages{in: in, r: bufio.NewReaderSize(in, 64<<10), out: out}
}

// Read implements io.Reader.
func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.next()
		if len(line) == 0 {
			if err != nil {
				return 0, err
			}
			continue
		}
		if refused := m.judge(line); refused != nil {
			_, _ = m.out.Write(append(refused, '\n')) // an agent that is gone is found out by the reading
			continue
		}
		m.rest = append(line, '\n')
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (m *messages) Close() error { return m.in.Close() }

// next reads one line without the blanks around it. Of a line that is too long only the first
// maxMessage bytes and one more are kept.
func (m *messages) next() (line []byte, err error) {
	for {
		part, err := m.r.ReadSlice('\n')
		line = append(line, part[:min(len(part), maxMessage+1-len(line))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.Trim(line, " \t\r\n"), err
	}
}

// judge is the answer to a line that is no message; nil when it is one.
func (m *messages) judge(line []byte) []byte {
	if len(line) > maxMessage {
		return refusal(line, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is larger than %d bytes", maxMessage))
	}
	if line[0] == '[' && m.batches && wholeBatch(line) {
		return nil // the SDK takes it apart
	}
	refused := unreadable(line)
	if refused == nil {
		m.noteRevision(line)
	}
	return refused
}

// wholeBatch tells whether the SDK can take a batch apart: it ends the session at an
// empty one, at one element that it cannot read and at an id that is there twice, for
// which it also takes two notifications.
func wholeBatch(line []byte) bool {
	var parts []json.RawMessage
	if json.Unmarshal(line, &parts) != nil || len(parts) == 0 {
		return false
	}
	seen := make(map[any]bool)
	for _, p := range parts {
		msg, err := jsonrpc.DecodeMessage(p)
		if err != nil {
			return false
		}
		if r, ok := msg.(*jsonrpc.Request); ok {
			if seen[r.ID.Raw()] {
				return false
			}
			seen[r.ID.Raw()] = true
		}
	}
	return true
}

// noteRevision looks whether the agent asks for a revision with batches.
func (m *messages) noteRevision(line []byte) {
	msg, _ := jsonrpc.DecodeMessage(line)
	r, ok := msg.(*jsonrpc.Request)
	if !ok || r.Method != "initialize" {
		return
	}
	var p struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(r.Params, &p) // the SDK says what is wrong with it
	m.batches = p.ProtocolVersion == "2024-11-05" || p.ProtocolVersion == "2025-03-26"
}

// unreadable is the answer to what is no message of JSON-RPC, in words for whoever
// writes the client; nil for a message.
func unreadable(raw []byte) []byte {
	_, err := jsonrpc.DecodeMessage(raw)
	switch {
	case err != nil && strings.Contains(err.Error(), "nesting depth"):
		return refusal(raw, jsonrpc.CodeInvalidRequest, "the message is nested too deeply")
	case !json.Valid(raw): // also where something stands behind a message, which the SDK passes over or ends at
		return refusal(raw, jsonrpc.CodeParseError, "this is not valid JSON")
	case err == nil:
		return nil
	case bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("[")):
		return refusal(raw, jsonrpc.CodeInvalidRequest, "several messages in one are not taken here; send one after the other")
	}
	return refusal(raw, jsonrpc.CodeInvalidRequest,
		`this is no message of JSON-RPC 2.0: it needs "jsonrpc":"2.0" and a method or a result, and an id must be text or a number`)
}

// refusal is an answer of JSON-RPC to raw, to its id as far as one can be found.
func refusal(raw []byte, code int64, message string) []byte {
	answer, err := json.Marshal(struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Error   jsonrpc.Error  `json:"error"`
	}{"2.0", idOf(raw), jsonrpc.Error{Code: code, Message: message + "; nothing was done"}})
	if err != nil {
		panic(err) // it holds nothing but text and an id that was read
	}
	return answer
}

// idOf finds the id of a message that may be broken or cut off; "null" for none.
func idOf(raw []byte) jsontext.Value {
	none := jsontext.Value("null")
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return none
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return none
		}
		if name.String() != "id" {
			if d.SkipValue() != nil {
				return none
			}
			continue
		}
		if v, err := d.ReadValue(); err == nil && (v.Kind() == '"' || v.Kind() == '0') && len(v) <= maxID {
			return v.Clone()
		}
		return none
	}
	return none
}

// maxID bounds an id that is sent back, in bytes.
const maxID = 1 << 10

// refuseUnreadable answers an HTTP request whose body is no message, and reports
// whether it was one.
func refuseUnreadable(w http.ResponseWriter, body []byte) bool {
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) && json.Valid(body) {
		return false // the SDK knows by the request's headers whether batches are known
	}
	refused := unreadable(body)
	if refused == nil {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(refused) // nobody is left to tell
	return true
}

// oneAtATime lets several write whole messages to one writer.
type oneAtATime struct {
	mu sync.Mutex
	io.WriteCloser
}

// Write implements io.Writer.
func (w *oneAtATime) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
}
