package acmp

import (
	"encoding/json"
	"time"
)

// Layer 6 (negotiation), single-round and point-to-point: the buyer asks for a
// quote, the provider makes an offer that holds until a stated time and holds
// nothing for it, the buyer accepts it once; only then the terms bind. Both are
// JSON-RPC requests with a response; a provider without them answers -32601
//
//
//	buyer --acmp/offerRequest--> provider: OfferRequest -> Offer
//	buyer --acmp/accept--------> provider: Accept -> Acceptance
//	buyer --acmp/invoke--------> max_price_cu = the agreed price, escrow_id as
//	                             accepted, offer_id for direct settlement
const (
	MethodOfferRequest = "acmp/offerRequest"
	MethodAccept       = "acmp/accept"
)

// The error codes of acmp/accept (layer 6, section 6). A quote fails with
// the codes of layer 1: -33001, -33002, -33006.
const (
	// CodeOfferNotFound: no such offer was made to this buyer.
	CodeOfferNotFound = -34001
	// CodeOfferExpired: valid_until_ms has passed; ask for a fresh quote.
	CodeOfferExpired = -34002
	// CodeAlreadyAccepted: an offer can be accepted once.
	CodeAlreadyAccepted = -34003
)

// OfferRequest are the params of acmp/offerRequest (layer 6, 2.1). Members that
// are not set are left out.
type OfferRequest struct {
	Capability     string       `json:"capability"`
	InputTokensEst *int64       `json:"input_tokens_est,omitempty"` // informational
	MaxPriceCU     *json.Number `json:"max_price_cu,omitempty"`     // CU, decimal: rather -33001 than a quote above
	MaxLatencyMS   *int64       `json:"max_latency_ms,omitempty"`   // ms; the wanted SLA, not a deadline
	PreferredTier  string       `json:"preferred_tier,omitempty"`   // S, A, B; informational
	ProofMethod    string       `json:"proof_method,omitempty"`     // unsupported: -33006
	OfferValidMS   *int64       `json:"offer_valid_ms,omitempty"`   // ms; wanted validity, which the provider may clamp
}

// Offer is the result of acmp/offerRequest: a price for the task, promised until
// ValidUntil.
type Offer struct {
	OfferID    string      `json:"offer_id"` // made by the provider, single-use
	Capability string      `json:"capability"`
	PriceCU    json.Number `json:"price_cu"` // CU, decimal
	// ValidUntilMS is in ms since 1970, by the provider's clock. The protocol says
	// number, so that a fraction is legal.
	ValidUntilMS float64 `json:"valid_until_ms"`
	LatencySLAMS *int64  `json:"latency_sla_ms,omitempty"` // ms; what the provider commits to
	ProofMethod  string  `json:"proof_method,omitempty"`
	ResultType   string  `json:"resultType,omitempty"` // MCP's marker, as in [Result]
}

// Accept are the params of acmp/accept (layer 6, 2.2).
type Accept struct {
	OfferID  string `json:"offer_id"`
	EscrowID string `json:"escrow_id,omitempty"` // a lock of layer 4; absent means direct settlement
}

// Acceptance is the result of acmp/accept.
type Acceptance struct {
	OfferID    string      `json:"offer_id"`
	EscrowID   string      `json:"escrow_id,omitempty"` // echoes what was accepted with
	PriceCU    json.Number `json:"price_cu"`            // CU, decimal; what was agreed
	ResultType string      `json:"resultType,omitempty"`
}

// ValidUntil is the end of the offer; the zero time where it is no usable number.
func (o *Offer) ValidUntil() time.Time {
	const farthest = 253402300799999 // the end of year 9999
	if !(o.ValidUntilMS > 0) || o.ValidUntilMS > farthest {
		return time.Time{}
	}
	return time.UnixMilli(int64(o.ValidUntilMS)).UTC()
}

// Problem says in plain words what makes o no usable answer to r, or "". now is
// the clock that judges its validity: an offer counts until ValidUntil, that
// instant included.
func (o *Offer) Problem(r *OfferRequest, now time.Time) string {
	switch {
	case o.ResultType != "" && o.ResultType != "complete":
		return "the offer is a result of an unknown type"
	case o.OfferID == "" || len(o.OfferID) > MaxIDBytes:
		return "the offer has no usable offer_id"
	case o.Capability != r.Capability:
		return "the offer is for another capability"
	case ValidCU(o.PriceCU) != nil:
		return "the offer has no price_cu that is a price"
	case o.ValidUntil().IsZero():
		return "the offer has no usable valid_until_ms"
	case now.After(o.ValidUntil()):
		return "the offer has expired"
	case r.ProofMethod != "" && o.ProofMethod != "" && o.ProofMethod != r.ProofMethod:
		return "the offer is with another proof"
	}
	if over, err := Overcharge(o.PriceCU, r.MaxPriceCU); err != nil || over != "" {
		return "the offer is above the ceiling"
	}
	return ""
}

// DecodeOfferRequest reads and checks the params of acmp/offerRequest; the error
// is -32602 with data.detail.
func DecodeOfferRequest(raw json.RawMessage) (*OfferRequest, *Error) {
	r := new(OfferRequest)
	if e := decodeParams(raw, r); e != nil {
		return nil, e
	}
	switch {
	case r.Capability == "":
		return nil, invalidParams("capability is missing")
	case len(r.Capability) > MaxIDBytes:
		return nil, invalidParams("capability is longer than 1024 bytes")
	case r.MaxPriceCU != nil && ValidCU(*r.MaxPriceCU) != nil:
		return nil, invalidParams("max_price_cu is not a decimal number of zero or more")
	case r.OfferValidMS != nil && *r.OfferValidMS < 1:
		return nil, invalidParams("offer_valid_ms is less than 1")
	}
	return r, nil
}

// DecodeAccept reads and checks the params of acmp/accept; the error is -32602
// with data.detail.
func DecodeAccept(raw json.RawMessage) (*Accept, *Error) {
	a := new(Accept)
	if e := decodeParams(raw, a); e != nil {
		return nil, e
	}
	if a.OfferID == "" || len(a.OfferID) > MaxIDBytes {
		return nil, invalidParams("offer_id is missing or too long")
	}
	return a, nil
}

func decodeParams(raw json.RawMessage, v any) *Error {
	if problem := decodeObject(raw, v); problem != "" {
		return invalidParams(problem)
	}
	return nil
}

func invalidParams(detail string) *Error { return new(InvokeParams).invalid(detail) }
