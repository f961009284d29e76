package acop

import "fmt"

// Code is an error code of the binding's vocabulary (table C.3) or one of the
// owner's own, which begin with "signalbox." (D-49).
type Code string

// The eighteen core codes.
const (
	CodeClaimConflict      Code = "claim_conflict"
	CodeLeaseExpired       Code = "lease_expired"
	CodeClaimReleased      Code = "claim_released"
	CodeClaimRevoked       Code = "claim_revoked"
	CodeUnauthorizedWorker Code = "unauthorized_worker"
	CodeItemNotFound       Code = "work_item_not_found"
	CodeItemSuperseded     Code = "work_item_superseded"
	CodeItemCancelled      Code = "work_item_cancelled"
	CodeNotActionable      Code = "work_item_not_actionable"
	CodeValidationRequired Code = "validation_required"
	CodeGateBlocked        Code = "gate_blocked"
	CodeUnsupportedVersion Code = "unsupported_protocol_version"
	CodeSchemaViolation    Code = "schema_violation"
	CodeUnauthenticated    Code = "unauthenticated"
	CodeForbidden          Code = "forbidden"
	CodeRateLimited        Code = "rate_limited"
	CodeInternal           Code = "internal_error"
	CodeUnavailable        Code = "backend_unavailable"
)

// The owner's own codes, for what the vocabulary has no word for (D-49).
const (
	CodeClaimNotFound    Code = "signalbox.claim_not_found"
	CodeIntentNotFound   Code = "signalbox.intent_not_found"
	CodeRouteNotFound    Code = "signalbox.route_not_found"
	CodeMethodNotAllowed Code = "signalbox.method_not_allowed"
	CodeMediaType        Code = "signalbox.unsupported_media_type"
	CodeTooLarge         Code = "signalbox.payload_too_large"
	CodeItemConflict     Code = "signalbox.work_item_conflict"
	CodeEntryExists      Code = "signalbox.entry_exists"
	CodeKeyReused        Code = "signalbox.idempotency_key_reused"
	CodeRevisionMismatch Code = "signalbox.revision_mismatch"
	CodeCursorAhead      Code = "signalbox.event_cursor_ahead"
	CodeOriginRefused    Code = "signalbox.origin_refused"
	CodeExpectation      Code = "signalbox.expectation_failed"
)

// RetryClass says when asking again makes sense (table C.3).
type RetryClass int

// The retry classes: never, after a growing pause, or only after something else
// changed (evidence added, gate opened, state moved on).
const (
	RetryNever RetryClass = iota
	RetryBackoff
	RetryOnChange
)

// CodeInfo is one row of the vocabulary.
type CodeInfo struct {
	Code   Code
	Status int // HTTP status
	Retry  RetryClass
	// Plain is what the code means to a person, without a full stop.
	Plain string
	// Next says what to do about it, without a full stop.
	Next string
}

// Error is a refusal by the owner: the code of the vocabulary, its HTTP status
// and a message that holds no secret. It is also what the client returns.
type Error struct {
	Code    Code
	Status  int // HTTP status; 0 lets the vocabulary decide
	Message string
	// RetryAfterSeconds is the least wait before another try; 0 = not given.
	RetryAfterSeconds int64
	Details           map[string]any
}

// Error implements error with code and message.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// Errorf makes an Error with the vocabulary's status for code.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// With adds one detail and returns e.
func (e *Error) With(key string, value any) *Error {
	if e.Details == nil {
		e.Details = make(map[string]any)
	}
	e.Details[key] = value
	return e
}
