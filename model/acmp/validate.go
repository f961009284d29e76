package acmp

import "encoding/json"

// MaxIDBytes bounds each id and name that a peer may send, in bytes.
const MaxIDBytes = 1024

// Validate checks what an invoke must carry before anything else is looked at:
// nil, or -32602 with data.detail and, where known, data.task_id (A-060 to
// A-062, D-08). Such an invoke was never seen: it is not remembered.
func (p *InvokeParams) Validate() *Error {
	switch {
	case p.TaskID == "":
		return p.invalid("task_id is missing")
	case len(p.TaskID) > MaxIDBytes:
		p2 := InvokeParams{}
		return p2.invalid("task_id is longer than 1024 bytes")
	case p.Capability == "":
		return p.invalid("capability is missing")
	case len(p.Capability) > MaxIDBytes:
		return p.invalid("capability is longer than 1024 bytes")
	case p.Input == nil && !p.InputStream:
		return p.invalid("input is missing and input_stream is false")
	case p.Input != nil && p.Input.Type == "":
		return p.invalid("input.type is missing")
	case p.Input != nil && len(p.Input.Data) == 0:
		return p.invalid("input.data is missing")
	case p.longWord() != "":
		return p.invalid(p.longWord() + " is longer than 1024 bytes")
	case p.TimeoutMS < 0:
		return p.invalid("timeout_ms is negative")
	case p.MaxPriceCU != nil && ValidCU(*p.MaxPriceCU) != nil:
		return p.invalid("max_price_cu is not a decimal number of zero or more")
	}
	return nil
}

// longWord names a member that is longer than any word, or "": they are kept with the
// outcome of the task.
func (p *InvokeParams) longWord() string {
	words := []struct{ name, value string }{
		{"output_type", p.OutputType}, {"preferred_tier", p.PreferredTier}, {"escrow_id", p.EscrowID},
		{"proof_method", p.ProofMethod}, {"offer_id", p.OfferID},
	}
	if p.Input != nil {
		words = append(words, struct{ name, value string }{"input.type", p.Input.Type})
	}
	for _, w := range words {
		if len(w.value) > MaxIDBytes {
			return w.name
		}
	}
	return ""
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
	if problem := decodeObject(raw, p); problem != "" {
		var id struct {
			TaskID any `json:"task_id"`
		}
		_ = Decode(raw, &id) // what is no object has none
		only := &InvokeParams{}
		if s, ok := id.TaskID.(string); ok && len(s) <= MaxIDBytes {
			only.TaskID = s
		}
		return nil, only.invalid(problem)
	}
	if e := p.Validate(); e != nil {
		return nil, e
	}
	return p, nil
}

// OutputTypeOrDefault is output_type, or json when it was left out.
func (p *InvokeParams) OutputTypeOrDefault() string {
	if p.OutputType == "" {
		return "json"
	}
	return p.OutputType
}
