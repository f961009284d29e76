package acmp

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"signalbox/model/acmp"
)

// DefaultMaxMessage is the largest message taken from a provider, in bytes.
const DefaultMaxMessage = 16 << 20

// sink takes what a provider says about one task. It is called by the goroutine
// that reads the bytes; chunk may block, which stalls the reading.
type sink interface {
	// wrote tells that the invoke is on its way.
	wrote()
	chunk(acmp.StreamChunk)
	heartbeat(acmp.Heartbeat)
	// violation ends the task: the provider broke the protocol.
	violation(msg string)
	// answered tells that the response follows; nothing of the task comes after.
	// rpcError is its error object, nil for a result: the SDK takes some codes of
	// a peer for its own.
	answered(rpcError []byte)
}

// envelope is any JSON-RPC message.
type envelope struct {
	Method string         `json:"method"`
	ID     jsontext.Value `json:"id"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`
}

func (e *envelope) response() bool {
	return e.Method == "" && len(e.ID) > 0 && (len(e.Result) > 0 || len(e.Error) > 0)
}

// lenient: payloads are opaque to us; only what we interpret is checked.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// filter decides about each message of a provider.
type filter struct {
	log *slog.Logger
	// find gives the sink of a task this stream may speak about, or nil.
	find func(taskID string) sink
	// answer gives whether a response with this id is awaited here, and its sink
	// (nil where the response is not about a task).
	answer func(id string) (sink, bool)

	scan chunkScan
	// The last task_id and type seen, so that a stream does not make them anew
	// for each chunk.
	lastID, lastType string
}

// inspect takes one message, valid UTF-8, and reports whether the SDK shall see it. It gives an
// error for what is not JSON-RPC at all.
func (f *filter) inspect(raw []byte) (pass bool, err error) {
	if f.scan.scan(raw) {
		f.usualChunk()
		return false, nil
	}
	var env envelope
	if err := json.Unmarshal(raw, &env, lenient); err != nil {
		if !jsontext.Value(raw).IsValid(lenient) {
			return false, errors.New("not JSON")
		}
		return false, errors.New("JSON, but not a JSON-RPC message")
	}
	switch {
	case env.response():
		s, ok := f.answer(string(env.ID))
		if !ok {
			f.log.Warn("response to no request of ours dropped", "id_bytes", len(env.ID))
			return false, nil
		}
		if s != nil {
			s.answered(env.Error)
		}
		return true, nil
	case env.Method == acmp.MethodStreamChunk && len(env.ID) == 0:
		f.streamChunk(env.Params)
	case env.Method == acmp.MethodHeartbeat && len(env.ID) == 0:
		f.beat(env.Params)
	case env.Method == "":
		return false, fmt.Errorf("neither a request nor a response")
	default:
		// Requests from the provider are forbidden; other notifications
		// mean nothing to us.
		f.log.Debug("message of the provider ignored", "is_request", len(env.ID) > 0)
	}
	return false, nil
}

// usualChunk hands on what the scan has found.
func (f *filter) usualChunk() {
	c := &f.scan
	if string(c.taskID) != f.lastID {
		f.lastID = string(c.taskID)
	}
	if string(c.typ) != f.lastType {
		f.lastType = string(c.typ)
	}
	s := f.find(f.lastID)
	if s == nil {
		f.log.Debug("chunk of a task nobody waits for dropped")
		return
	}
	s.chunk(acmp.StreamChunk{
		TaskID: f.lastID, Seq: c.seq, Final: c.final,
		Chunk: acmp.Payload{Type: f.lastType, Data: bytes.Clone(c.data)},
	})
}

func (f *filter) streamChunk(params []byte) {
	var c acmp.StreamChunk
	err := json.Unmarshal(params, &c, lenient)
	s := f.find(c.TaskID)
	if s == nil {
		f.log.Debug("chunk of a task nobody waits for dropped")
		return
	}
	switch {
	case err != nil:
		s.violation("a chunk cannot be read")
	case c.Chunk.Type == "" || len(c.Chunk.Data) == 0:
		s.violation(fmt.Sprintf("chunk %d has no type or no data", c.Seq))
	case c.Seq < 0:
		s.violation("a chunk has a negative seq")
	default:
		s.chunk(c)
	}
}

func (f *filter) beat(params []byte) {
	var h acmp.Heartbeat
	if err := json.Unmarshal(params, &h, lenient); err != nil && h.TaskID == "" {
		f.log.Debug("heartbeat without a task dropped")
		return
	}
	s := f.find(h.TaskID)
	if s == nil {
		return
	}
	if h.Progress != nil {
		// The specification wants 0..1; a value outside says nothing reliable.
		p := min(max(*h.Progress, 0), 1)
		h.Progress = &p
	}
	s.heartbeat(h)
}

// maxDetail bounds a status text of a provider, in bytes.
const maxDetail = 4 << 10

// clip cuts s to maxDetail at a character.
func clip(s string) string {
	if len(s) <= maxDetail {
		return s
	}
	n := maxDetail
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// validUTF8 gives b with each invalid byte replaced by U+FFFD (B24).
func validUTF8(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	var out bytes.Buffer
	out.Grow(len(b) + 16)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			out.WriteString("\uFFFD")
		} else {
			out.Write(b[:n])
		}
		b = b[n:]
	}
	return out.Bytes()
}
