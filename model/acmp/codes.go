package acmp

import (
	"fmt"
	"strings"
)

// The error codes of section 3.3.
const (
	CodeBudgetExceeded     = -33001
	CodeCapabilityNotFound = -33002
	CodeTimeout            = -33003
	CodeCancelled          = -33004
	CodeEscrowInvalid      = -33005
	CodeProofUnsupported   = -33006
	CodeFeatureUnsupported = -33007
	CodeInternal           = -33099
	// CodeInvalidParams is JSON-RPC's, used for a malformed invoke (D-08).
	CodeInvalidParams = -32602
)

// CodeName gives the specification's word for code, or "" for an unknown one
// (which the buyer treats as a general failure, A-104).
func CodeName(code int) string {
	switch code {
	case CodeBudgetExceeded:
		return "budget_exceeded"
	case CodeCapabilityNotFound:
		return "capability_not_found"
	case CodeTimeout:
		return "timeout"
	case CodeCancelled:
		return "cancelled"
	case CodeEscrowInvalid:
		return "escrow_invalid"
	case CodeProofUnsupported:
		return "proof_unsupported"
	case CodeFeatureUnsupported:
		return "feature_unsupported"
	case CodeInternal:
		return "internal"
	case CodeInvalidParams:
		return "invalid_params"
	case CodeOfferNotFound:
		return "offer_not_found"
	case CodeOfferExpired:
		return "offer_expired"
	case CodeAlreadyAccepted:
		return "already_accepted"
	}
	return ""
}

// Detail is what the provider said beside the message about how it failed: for a
// command its exit status and, in lines below, the end of its output. "" where it said
// nothing. It is text from outside.
func (e *Error) Detail() string {
	d, _ := e.Data["detail"].(string)
	return strings.TrimSpace(d)
}

// Brief is Error in one line that tells most: the first line of the detail and the
// last, which for a command are its exit status and its last words. It is text from
// outside.
func (e *Error) Brief() string {
	first, rest, more := strings.Cut(e.Detail(), "\n")
	switch {
	case first == "":
		return e.Error()
	case !more:
		return first
	}
	return strings.TrimSpace(first) + ": " + strings.TrimSpace(rest[strings.LastIndexByte(rest, '\n')+1:])
}

// maxFeature bounds the name of a feature in an error's words, in bytes.
const maxFeature = 64

// Error implements error with name, code and message, and the missing feature that
// a provider named beside it; this program's own messages name it themselves.
func (e *Error) Error() string {
	if n := CodeName(e.Code); n != "" {
		said := fmt.Sprintf("%s (%d): %s", n, e.Code, e.Message)
		if f, ok := e.Data["feature"].(string); ok && e.Code == CodeFeatureUnsupported && !e.Local && len(f) <= maxFeature {
			said += ": " + f
		}
		return said
	}
	if e.Code == 0 { // the peer gave none
		return "error without a code: " + e.Message
	}
	return fmt.Sprintf("error %d: %s", e.Code, e.Message)
}
