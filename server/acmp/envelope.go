package acmp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"signalbox/model/acmp"
)

// MCP's own header names and codes, as this package needs them.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"

	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

// envelope is a JSON-RPC message as far as it must be known before the SDK.
type envelope struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

var wholeNumber = regexp.MustCompile(`^-?(0|[1-9]\d{0,18})$`)

// parseEnvelope reads one message. The error is -32700 for what is no JSON, -32600
// for what is no request: a batch, a response, a null or fractional id.
func parseEnvelope(body []byte) (*envelope, *jsonrpc.Error) {
	invalid := func(text string) *jsonrpc.Error {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: text}
	}
	var e envelope
	// Strict: exact names, none twice, valid UTF-8. The SDK's own decoding
	// is neither stricter nor, at 32 KiB of memory a message, cheaper.
	if err := jsonv2.Unmarshal(body, &e); err != nil {
		switch body = bytes.TrimSpace(body); {
		case !json.Valid(body) || !utf8.Valid(body):
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the message is not valid JSON in UTF-8"}
		case body[0] == '[':
			return nil, invalid("a batch is not taken: send one message at a time")
		}
		return nil, invalid("the message is not a JSON-RPC request")
	}
	switch {
	case e.JSONRPC != "2.0":
		return nil, invalid(`jsonrpc must be "2.0"`)
	case e.Method == "":
		return nil, invalid("the message has no method")
	case e.ID != nil && !validID(e.ID):
		return nil, invalid("id must be a string or a whole number")
	case len(e.Params) > 0 && e.Params[0] != '{' && e.Params[0] != '[' && string(e.Params) != "null":
		return nil, invalid("params must be an object")
	}
	return &e, nil
}

func validID(raw json.RawMessage) bool {
	return raw[0] == '"' || wholeNumber.Match(raw)
}

func (e *envelope) isNotification() bool { return e.ID == nil }

// metaVersion is the protocol version that the message names in its _meta.
func (e *envelope) metaVersion() string { return e.meta().Version }

// complete adds the _meta that MCP wants to a request that has none at all (D-06).
func (e *envelope) complete() {
	var p struct {
		Meta json.RawMessage `json:"_meta"`
	}
	if acmp.Decode(orEmpty(e.Params), &p) == nil && p.Meta == nil {
		e.Params = withMember(orEmpty(e.Params), "_meta", `{"io.modelcontextprotocol/protocolVersion":"`+protocolVersion+
			`","io.modelcontextprotocol/clientCapabilities":{}}`)
	}
}

// checkVersion demands the version header on a request, equal to that of _meta,
// and a revision that is spoken here. A missing _meta is left
// to the SDK.
func (e *envelope) checkVersion(header string) *jsonrpc.Error {
	meta := e.metaVersion()
	if e.Method == "initialize" {
		return unsupportedVersion(header)
	}
	switch {
	case header == "":
		return &jsonrpc.Error{Code: codeHeaderMismatch, Message: "the MCP-Protocol-Version header is missing"}
	case meta != "" && meta != header:
		return &jsonrpc.Error{Code: codeHeaderMismatch, Message: "the MCP-Protocol-Version header and _meta name different versions"}
	case header != protocolVersion:
		return unsupportedVersion(header)
	}
	return nil
}

func unsupportedVersion(requested string) *jsonrpc.Error {
	data, _ := json.Marshal(map[string]any{"supported": []string{protocolVersion}, "requested": requested}) // cannot fail
	return &jsonrpc.Error{Code: codeUnsupportedVersion, Data: data,
		Message: "unsupported protocol version: this server speaks " + protocolVersion + ", without initialize"}
}

// checkMirrored compares the headers of a notification that mirror its body, where
// they are present (D-05).
func (e *envelope) checkMirrored(h http.Header) *jsonrpc.Error {
	if m := h.Get(headerMethod); m != "" && m != e.Method {
		return &jsonrpc.Error{Code: codeHeaderMismatch, Message: "the Mcp-Method header and the message name different methods"}
	}
	if v := h.Get(headerVersion); v != "" {
		if meta := e.metaVersion(); meta != "" && meta != v {
			return &jsonrpc.Error{Code: codeHeaderMismatch, Message: "the MCP-Protocol-Version header and _meta name different versions"}
		}
		if v != protocolVersion {
			return unsupportedVersion(v)
		}
	}
	return nil
}

// errorMessage is a JSON-RPC error response on one line, without id where it is
// unknown.
func errorMessage(id json.RawMessage, e *jsonrpc.Error) []byte {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0",`)
	if id != nil {
		b.WriteString(`"id":`)
		b.Write(id)
		b.WriteByte(',')
	}
	body, _ := json.Marshal(e) // code, message and checked JSON
	b.WriteString(`"error":`)
	b.Write(body)
	b.WriteByte('}')
	return []byte(b.String())
}

// The SDK carries whole numbers as floating point, so that ids above 2^53 would
// change (B40). It gets another id then, and the caller's is put back into the
// response.
const idForSDK = "1"

// maxPlainID is the length up to which an id passes the SDK unchanged.
const maxPlainID = 15

// lossyID reports whether the SDK would change id.
func lossyID(id json.RawMessage) bool { return id[0] != '"' && len(id) > maxPlainID }

// withID is the request with another id, on one line.
func (e *envelope) withID(id string, params json.RawMessage) []byte {
	line := append(make([]byte, 0, len(params)+len(e.Method)+64), `{"jsonrpc":"2.0","id":`...)
	line = append(line, id...)
	line = append(line, `,"method":`...)
	line = appendString(line, e.Method)
	if len(params) > 0 {
		line = append(line, `,"params":`...)
		line = append(line, oneLine(params)...)
	}
	return append(line, '}')
}

// spliceID puts the caller's id in the place of ours in a response that the SDK
// has written; anything else stays as it is.
func spliceID(msg []byte, ours string, theirs json.RawMessage) []byte {
	const idAt = 64 // the SDK writes the id directly behind the version
	head := []byte(`"jsonrpc":"2.0","id":` + ours + ",")
	i := bytes.Index(msg[:min(len(msg), idAt+len(head))], head)
	if i < 0 {
		return msg
	}
	out := make([]byte, 0, len(msg)+len(theirs))
	out = append(out, msg[:i]...)
	out = append(out, `"jsonrpc":"2.0","id":`...)
	out = append(out, theirs...)
	return append(out, msg[i+len(head)-1:]...)
}

// withMember adds a member at the end of a JSON object, where it wins over an
// earlier one of that name. What is no object stays as it is.
func withMember(object json.RawMessage, name, value string) json.RawMessage {
	o := bytes.TrimSpace(object)
	if len(o) < 2 || o[0] != '{' {
		return object
	}
	out := append([]byte(nil), o[:len(o)-1]...)
	if len(bytes.TrimSpace(o[1:len(o)-1])) > 0 {
		out = append(out, ',')
	}
	return append(out, `"`+name+`":`+value+`}`...)
}
