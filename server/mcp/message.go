package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

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
	out  *answers
	rest []byte // of the line that is handed on
	// batches tells that the agent asked for a revision that knows them.
	batches bool
	ended   chan struct{} // is closed when the agent sends no more
	end     func()
}

func newMessages(in io.ReadCloser, out *answers) *messages {
	m := &messages{in: in, r: bufio.NewReaderSize(in, 64<<10), out: out, ended: make(chan struct{})}
	m.end = sync.OnceFunc(func() { close(m.ended) })
	return m
}

// Read implements io.Reader.
func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.next()
		if len(line) == 0 {
			if err != nil {
				m.out.settled(lastAnswers) // the SDK drops what is under way when the messages end
				m.end()
				return 0, err
			}
			continue
		}
		if refused := m.judge(line); refused != nil {
			m.out.refuse(refused)
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
	if refused := unreadable(line); refused != nil {
		return refused
	}
	m.noteRevision(line)
	if id := m.out.expect(line); id != "" { // an answer to the id would be taken for that of the first
		return refusal(nil, jsonrpc.CodeInvalidRequest, "a request with the id "+clip(id, 60)+" is under way; each needs an id of its own")
	}
	return nil
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
		if err != nil || ambiguous(p) != "" {
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
		if why := ambiguous(raw); why != "" {
			return refusal(raw, jsonrpc.CodeInvalidRequest, why)
		}
		return nil
	case bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("[")):
		return refusal(raw, jsonrpc.CodeInvalidRequest, "several messages in one are not taken here; send one after the other")
	}
	return refusal(raw, jsonrpc.CodeInvalidRequest,
		`this is no message of JSON-RPC 2.0: it needs "jsonrpc":"2.0" and a method or a result, and an id must be text or a number`)
}

// ambiguous says why a message means one thing to one reader and another to the next,
// "" where it does not. The SDK takes the last of two members with one name (B67), and
// ids as floating-point numbers (B40): two requests would become one. The arguments of a
// tool are judged by decode.
func ambiguous(raw []byte) string {
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		return ""
	}
	var id, params jsontext.Value
	twice := members(d, func(name string, v jsontext.Value) {
		switch name {
		case "id":
			id = v.Clone()
		case "params":
			params = v.Clone()
		}
	})
	if params.Kind() == '{' {
		in := jsontext.NewDecoder(bytes.NewReader(params), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		twice = members(in, func(string, jsontext.Value) {}) || twice
	}
	switch {
	case twice:
		return "a name occurs twice in the message or in its params"
	case id != nil && id.Kind() != 'n' && !plainID(id):
		return "an id must be text in UTF-8 or a whole number of at most 9007199254740991"
	}
	return ""
}

// members hands the members of the object on which d stands to each, and tells whether
// a name is there twice.
func members(d *jsontext.Decoder, each func(name string, v jsontext.Value)) (twice bool) {
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	seen := map[string]bool{}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return twice
		}
		name := token.String()
		v, err := d.ReadValue()
		if err != nil {
			return twice
		}
		twice = twice || seen[name]
		seen[name] = true
		each(name, v)
	}
	return twice
}

// plainID tells whether an id comes back from the SDK as it was sent.
func plainID(id jsontext.Value) bool {
	if id.Kind() == '"' {
		return id.IsValid() // strictly: also without half a surrogate
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == string(id) && max(n, -n) < 1<<53
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
		if v, err := d.ReadValue(); err == nil && (v.Kind() == '"' && v.IsValid() || v.Kind() == '0') && len(v) <= maxID {
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
	refused := unreadable(body)
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) && json.Valid(body) {
		refused = nil // the SDK knows by the request's headers whether batches are known
		var parts []json.RawMessage
		_ = json.Unmarshal(body, &parts)
		for _, p := range parts {
			if why := ambiguous(p); why != "" {
				refused = refusal(body, jsonrpc.CodeInvalidRequest, why)
			}
		}
	}
	if refused == nil {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(refused) // nobody is left to tell
	return true
}

// answers are what goes out to the agent on stdio, whole messages from several writers.
// They know which requests are under way.
type answers struct {
	io.WriteCloser

	writing sync.Mutex

	mu    sync.Mutex
	asked map[string]bool // by sameID
	none  chan struct{}   // is closed when nothing is asked any more; nil while nobody waits
}

// lastAnswers bounds the wait for what was asked before the agent closed its end.
const lastAnswers = 3 * time.Second

// Write implements io.Writer.
func (a *answers) Write(p []byte) (int, error) {
	a.writing.Lock()
	defer a.writing.Unlock()
	n, err := a.WriteCloser.Write(p)
	a.done(idOf(p))
	return n, err
}

// refuse answers what is no message. An agent that is gone is found out by the reading.
func (a *answers) refuse(answer []byte) {
	a.writing.Lock()
	defer a.writing.Unlock()
	_, _ = a.WriteCloser.Write(append(answer, '\n'))
}

// expect notes a request, and what is cancelled. It returns the id of one that is under
// way already.
func (a *answers) expect(line []byte) (twice string) {
	var m struct {
		Method string `json:"method"`
		Params struct {
			RequestID jsontext.Value `json:"requestId"`
		} `json:"params"`
	}
	_ = json.Unmarshal(line, &m) // params of another form cancel nothing
	id := idOf(line)
	switch {
	case m.Method == "notifications/cancelled":
		a.done(m.Params.RequestID) // it may go without an answer
	case m.Method == "subscriptions/listen": // is answered at the end
	case m.Method != "" && id.Kind() != 'n':
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.asked[sameID(id)] {
			return string(id)
		}
		if a.asked == nil {
			a.asked = map[string]bool{}
		}
		a.asked[sameID(id)] = true
	}
	return ""
}

// sameID is one text for all ways to write an id.
func sameID(id jsontext.Value) string {
	if id.Kind() != '"' {
		return string(id)
	}
	words, err := jsontext.AppendUnquote([]byte{'"'}, id)
	if err != nil {
		return string(id)
	}
	return string(words)
}

func (a *answers) done(id jsontext.Value) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.asked, sameID(id))
	if a.none != nil && len(a.asked) == 0 {
		close(a.none)
		a.none = nil
	}
}

// settled returns when all that was asked is answered, or after a time.
func (a *answers) settled(most time.Duration) {
	a.mu.Lock()
	if len(a.asked) == 0 {
		a.mu.Unlock()
		return
	}
	none := make(chan struct{})
	a.none = none
	a.mu.Unlock()
	select {
	case <-none:
	case <-time.After(most):
	}
}
