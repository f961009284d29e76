package acmp

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"signalbox/model/acmp"
)

// Notifications are written by hand: a stream carries hundreds of thousands of
// chunks a second, and their data is JSON already.

// framing is what one transport puts around a message.
type framing struct{ before, after string }

var (
	sseFraming   = framing{"event: message\ndata: ", "\n\n"}
	stdioFraming = framing{"", "\n"}
)

// appendChunk appends the acmp/streamChunk notification (3.5) to b. quotedID is
// the task id as JSON.
func appendChunk(b []byte, f framing, quotedID []byte, seq int64, p acmp.Payload, final bool) []byte {
	b = append(b, f.before...)
	b = append(b, `{"jsonrpc":"2.0","method":"acmp/streamChunk","params":{"task_id":`...)
	b = append(b, quotedID...)
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, seq, 10)
	b = append(b, `,"chunk":{"type":`...)
	b = appendString(b, p.Type)
	b = append(b, `,"data":`...)
	b = append(b, p.Data...)
	b = append(b, `},"final":`...)
	b = strconv.AppendBool(b, final)
	b = append(b, `}}`...)
	return append(b, f.after...)
}

// appendHeartbeat appends the acmp/heartbeat notification (3.6) to b.
func appendHeartbeat(b []byte, f framing, quotedID []byte, progress *float64, detail string) []byte {
	b = append(b, f.before...)
	b = append(b, `{"jsonrpc":"2.0","method":"acmp/heartbeat","params":{"task_id":`...)
	b = append(b, quotedID...)
	if progress != nil {
		b = append(b, `,"progress":`...)
		b = strconv.AppendFloat(b, *progress, 'g', 6, 64)
	}
	if detail != "" {
		b = append(b, `,"detail":`...)
		b = appendString(b, detail)
	}
	b = append(b, `}}`...)
	return append(b, f.after...)
}

// appendString appends s as JSON; bytes that are not UTF-8 become U+FFFD, one
// each (B24).
func appendString[T string | []byte](b []byte, s T) []byte {
	b, _ = jsontext.AppendQuote(b, s) // the error tells of such bytes
	return b
}

// textPayload is s as a payload of type text.
func textPayload[T string | []byte](s T) acmp.Payload {
	return acmp.Payload{Type: "text", Data: appendString(make([]byte, 0, len(s)+2), s)}
}

// oneLine makes valid JSON fit on one line of the wire.
func oneLine(raw json.RawMessage) json.RawMessage {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return raw // callers have checked that it is valid
	}
	return b.Bytes()
}
