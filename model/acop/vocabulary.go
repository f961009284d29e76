package acop

import (
	"slices"
	"strings"
)

// vocabulary is table C.3 and the owner's own codes (D-49), in words for people.
var vocabulary = []CodeInfo{
	{CodeClaimConflict, 409, RetryBackoff, "somebody else holds this item", "wait for the lease to end, or take other work"},
	{CodeLeaseExpired, 409, RetryNever, "the lease ran out", "claim the item again"},
	{CodeClaimReleased, 409, RetryNever, "the claim was given back", "claim the item again if the work goes on"},
	{CodeClaimRevoked, 409, RetryNever, "the claim was taken away", "stop work on this item"},
	{CodeUnauthorizedWorker, 403, RetryNever, "somebody else holds this claim", "use the holder's own token"},
	{CodeItemNotFound, 404, RetryNever, "there is no such work item", "check the id"},
	{CodeItemSuperseded, 409, RetryNever, "a newer item took this one's place", "look at the newer item"},
	{CodeItemCancelled, 409, RetryNever, "the item was cancelled", "leave it"},
	{CodeNotActionable, 409, RetryOnChange, "the item's state does not allow this now", "look at its present state"},
	{CodeValidationRequired, 409, RetryOnChange, "required evidence is missing", "add the missing results and complete again"},
	{CodeGateBlocked, 409, RetryOnChange, "a gate is closed: the lead decides first", "wait for the lead"},
	{CodeUnsupportedVersion, 400, RetryNever, "this protocol version is not spoken here", "use acop/1.0"},
	{CodeSchemaViolation, 400, RetryNever, "the request is not formed as it must be", "correct the named member"},
	{CodeUnauthenticated, 401, RetryNever, "the token is missing or not known", "check the token"},
	{CodeForbidden, 403, RetryNever, "this identity may not do that", "ask a lead, or use another token"},
	{CodeRateLimited, 429, RetryBackoff, "too many requests", "wait a moment"},
	{CodeInternal, 500, RetryBackoff, "the owner failed on its own side", "try again; if it stays, look at the owner's log"},
	{CodeUnavailable, 503, RetryBackoff, "the owner cannot store anything just now", "wait; it will take writes again"},

	{CodeClaimNotFound, 404, RetryNever, "there is no such claim", "check the id"},
	{CodeIntentNotFound, 404, RetryNever, "there is no such claim request", "look at the queue again"},
	{CodeRouteNotFound, 404, RetryNever, "the owner has no such address", "check the server's URL and path"},
	{CodeMethodNotAllowed, 405, RetryNever, "this address does not take that method", "use one of the methods in Allow"},
	{CodeMediaType, 415, RetryNever, "the body must be JSON", "send Content-Type: application/json"},
	{CodeTooLarge, 413, RetryNever, "the body is too large", "send less at once"},
	{CodeItemConflict, 409, RetryNever, "it contradicts the work items that are there", "read which in its message; use another id, or change what does"},
	{CodeEntryExists, 409, RetryNever, "an entry with this id exists and differs", "post it under a new id"},
	{CodeKeyReused, 422, RetryNever, "this idempotency key was used for another request", "use a new key"},
	{CodeRevisionMismatch, 412, RetryNever, "it changed since it was shown", "look at it again, then decide"},
	{CodeCursorAhead, 409, RetryNever, "the position lies ahead of the owner's log", "take a snapshot"},
	{CodeOriginRefused, 403, RetryNever, "the owner does not answer to this origin", "call it by its own address"},
	{CodeExpectation, 417, RetryNever, "the owner cannot meet this expectation", "leave the Expect header out"},
}

var vocabularyIndex = func() map[Code]CodeInfo {
	m := make(map[Code]CodeInfo, len(vocabulary))
	for _, v := range vocabulary {
		m[v.Code] = v
	}
	return m
}()

// Vocabulary lists every code this program knows, the core's first (C.3, D-49).
func Vocabulary() []CodeInfo { return slices.Clone(vocabulary) }

// Info describes code. An unknown one gets Status 0 and words that say no more
// than is known; how to treat it follows from its HTTP status (C-084, see
// [Error.RetryClass]).
func Info(code Code) CodeInfo {
	if v, ok := vocabularyIndex[code]; ok {
		return v
	}
	return CodeInfo{Code: code, Retry: RetryNever, Plain: "the owner refused it", Next: "read its message"}
}

// Known reports whether c is a code of the vocabulary or one of the owner's own.
func (c Code) Known() bool {
	_, ok := vocabularyIndex[c]
	return ok
}

// Own reports whether c is one of the owner's own codes (D-49).
func (c Code) Own() bool { return strings.HasPrefix(string(c), "signalbox.") }

// retryClassOf treats a code that is not known by its HTTP status (C-084): 408,
// 429 and everything from 500 up may be tried again, other answers not.
func retryClassOf(status int) RetryClass {
	if status == 408 || status == 429 || status >= 500 {
		return RetryBackoff
	}
	return RetryNever
}

// HTTPStatus is the status the refusal travels with: the one it came with, else
// the vocabulary's, else 500.
func (e *Error) HTTPStatus() int {
	if e.Status != 0 {
		return e.Status
	}
	if s := Info(e.Code).Status; s != 0 {
		return s
	}
	return 500
}

// RetryClass says when the same request may be sent again.
func (e *Error) RetryClass() RetryClass {
	if e.Code.Known() {
		return Info(e.Code).Retry
	}
	return retryClassOf(e.HTTPStatus())
}

// Retryable reports whether the same request may be sent again after a pause
// without anything else having changed.
func (e *Error) Retryable() bool { return e.RetryClass() == RetryBackoff }
