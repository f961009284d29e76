package acmp

import (
	"bytes"
	"encoding/json"
)

// maxIDBytes bounds ids and names a peer may send.
const maxIDBytes = 1024

// Validate checks what an invoke must carry before anything else is looked at:
// nil, or -32602 with data.detail and, where known, data.task_id (A-060 to
// A-062, D-08). Such an invoke was never seen: it is not remembered.
func (p *InvokeParams) Validate() *Error {
	switch {
	case p.TaskID == "":
		return p.invalid("task_id is missing")
	case len(p.TaskID) > maxIDBytes:
		p2 := InvokeParams{}
		return p2.invalid("task_id is longer than 1024 bytes")
	case p.Capability == "":
		return p.invalid("capability is missing")
	case len(p.Capability) > maxIDBytes:
		return p.invalid("capability is longer than 1024 bytes")
	case p.Input == nil && !p.InputStream:
		return p.invalid("input is missing and input_stream is false")
	case p.Input != nil && p.Input.Type == "":
		return p.invalid("input.type is missing")
	case p.Input != nil && len(p.Input.Data) == 0:
		return p.invalid("input.data is missing")
	case p.TimeoutMS < 0:
		return p.invalid("timeout_ms is negative")
	case p.MaxPriceCU != nil && ValidCU(*p.MaxPriceCU) != nil:
		return p.invalid("max_price_cu is not a decimal number of zero or more")
	}
	return nil
}

func (p *InvokeParams) invalid(detail string) *Error {
	e := &Error{Code: CodeInvalidParams, Message: "Invalid params", Data: map[string]any{"detail": detail}}
	if p.TaskID != "" {
		e.Data["task_id"] = p.TaskID
	}
	return e
}

// DecodeInvoke reads and checks the params of acmp/invoke. Members it does not
// know are ignored, null counts as absent; a member of the wrong
// type is -32602 in plain words.
func DecodeInvoke(raw json.RawMessage) (*InvokeParams, *Error) {
	p := new(InvokeParams)
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return nil, p.invalid("params must be an object")
	}
	if err := json.Unmarshal(raw, p); err != nil {
		var id struct {
			TaskID any `json:"task_id"`
		}
		_ = json.Unmarshal(raw, &id)
		only := &InvokeParams{}
		if s, ok := id.TaskID.(string); ok && len(s) <= maxIDBytes {
			only.TaskID = s
		}
		return nil, only.invalid(decodeDetail(err))
	}
	if e := p.Validate(); e != nil {
		return nil, e
	}
	return p, nil
}

func decodeDetail(err error) string {
	if te, ok := err.(*json.UnmarshalTypeError); ok && te.Field != "" && len(te.Field) < 80 {
		return te.Field + " has the wrong type"
	}
	return "params cannot be read"
}

// OutputTypeOrDefault is output_type, or json when it was left out.
func (p *InvokeParams) OutputTypeOrDefault() string {
	if p.OutputType == "" {
		return "json"
	}
	return p.OutputType
}
