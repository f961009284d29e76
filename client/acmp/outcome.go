package acmp

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"signalbox/model/acmp"
)

// checkResult decodes a result and holds it against the protocol (A-086 to
// msg is the violation, "" for none.
func checkResult(raw json.RawMessage, p acmp.InvokeParams, d streamed) (*acmp.Result, string) {
	var in struct {
		acmp.Result
		TokensUsed *int64       `json:"tokens_used"`
		CostCU     *json.Number `json:"cost_cu"`
	}
	if acmp.Decode(raw, &in) != nil {
		return nil, "the result cannot be read"
	}
	res := in.Result
	switch {
	case res.ResultType != "" && res.ResultType != "complete":
		return nil, "the result is of an unknown type"
	case res.TaskID != p.TaskID:
		return nil, "the result is about another task"
	case in.TokensUsed == nil:
		return nil, "the result has no tokens_used"
	case in.CostCU == nil || acmp.ValidCU(*in.CostCU) != nil:
		return nil, "the result has no cost_cu that is a price"
	}
	res.TokensUsed, res.CostCU = *in.TokensUsed, *in.CostCU
	if msg := d.check(&res, p); msg != "" {
		return nil, msg
	}
	return &res, ""
}

// check holds a result against what came as chunks.
func (d streamed) check(res *acmp.Result, p acmp.InvokeParams) string {
	switch {
	case d.missing:
		return missingChunk(d.chunks)
	case res.OutputStreamed && !p.Stream:
		return "the result says its output was streamed, which was not asked for"
	case res.OutputStreamed && !d.final:
		return "the result came before the final chunk"
	case !res.OutputStreamed && (res.Output == nil || res.Output.Type == "" || len(res.Output.Data) == 0):
		return "the result has no output"
	}
	return ""
}

// checkProof holds the proof of a result against the output (D-19).
func (d streamed) checkProof(res *acmp.Result, requested string) string {
	switch {
	case !res.OutputStreamed:
		return acmp.CheckProof(res.Proof, requested, *res.Output)
	case d.whole != nil:
		return acmp.CheckProof(res.Proof, requested, *d.whole)
	case res.Proof == nil && requested == "":
		return acmp.ProofNone
	}
	return acmp.ProofUnchecked
}

// receivedError keeps what the provider answered, unknown codes too, but not
// our token.
func receivedError(e *jsonrpc.Error, token Secret) *acmp.Error {
	out := &acmp.Error{Code: int(e.Code), Message: clip(token.hide(e.Message))}
	if len(e.Data) > 0 && len(e.Data) <= maxErrorBody {
		var data map[string]any
		if json.Unmarshal(e.Data, &data) == nil {
			out.Data = data
		}
	}
	return token.hideError(out)
}
