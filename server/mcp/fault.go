package mcp

import (
	"errors"
	"fmt"

	"signalbox/model/acop"
	"signalbox/model/text"
)

// refusalOf gives any failure of the owner the form of a refusal.
func refusalOf(err error) *acop.Error {
	var e *acop.Error
	if errors.As(err, &e) {
		return e
	}
	return acop.Errorf(acop.CodeInternal, "the owner's answer could not be used")
}

// faultOf adds what a model that is known as you should do now.
func faultOf(toolName, you string, e *acop.Error) *fault {
	todo := next(toolName, e)
	if e.Code == acop.CodeClaimConflict && you != "" && detail(e, "current_worker_agent_uid") == you {
		todo = "you hold it already: go on under the claim " + text.ID(detail(e, "current_claim_id")) + ", or give it back with " + toolUpdate
	}
	return &fault{Code: e.Code, Message: e.Message, Next: todo, RetryAfterSeconds: e.RetryAfterSeconds, Details: e.Details}
}

// next is the remedy of a refusal in words for a model.
func next(toolName string, e *acop.Error) string {
	again := "call it again"
	if e.RetryAfterSeconds > 0 {
		again = fmt.Sprintf("call it again after %d seconds", e.RetryAfterSeconds)
	}
	switch e.Code {
	case acop.CodeSchemaViolation:
		return "correct the named argument and call " + toolName + " again; nothing was changed"
	case acop.CodeClaimConflict:
		return fmt.Sprintf("do not work on it: %s holds it until %s. Claim one of also_ready, or call %s", text.ID(detail(e, "current_worker_agent_uid")),
			detail(e, "expires_at_utc"), toolPickup)
	case acop.CodeGateBlocked:
		return gate(e, again)
	case acop.CodeClaimRevoked:
		return "stop this work now and change nothing more for it; then find other work with " + toolPickup
	case acop.CodeLeaseExpired:
		return "stop; claim the item again with " + toolClaim + " before you go on, for somebody else may have it by now"
	case acop.CodeClaimReleased, acop.CodeClaimNotFound:
		return "look at what you hold with " + toolClaims + ", and claim the item again if the work goes on"
	case acop.CodeUnauthorizedWorker:
		return "use only your own claims; " + toolClaims + " lists them"
	case acop.CodeValidationRequired:
		return "do the validations that are missing and complete again with their ids in completion_evidence.validation_results; name none that you have not verified"
	case acop.CodeItemNotFound:
		return "take the id exactly as " + toolPickup + " or " + toolList + " shows it"
	case acop.CodeItemSuperseded:
		return "leave it; read superseded_by_work_item_id in the details with " + toolItem
	case acop.CodeItemCancelled:
		return "leave it and find other work with " + toolPickup
	case acop.CodeNotActionable:
		return "read its present state with " + toolItem + ", or find other work with " + toolPickup
	case acop.CodeItemConflict:
		if detail(e, "reason") == "circle" {
			return "leave out the blocker that closes the circle; what waits for itself is never done"
		}
		return "choose another work_item_id"
	case acop.CodeEntryExists:
		return "leave entry_id out, or choose another one"
	case acop.CodeForbidden:
		return forbidden(toolName, e)
	case acop.CodeUnauthenticated:
		return "you cannot correct this: tell your user that the token of this MCP server is not accepted"
	case acop.CodeRateLimited, acop.CodeUnavailable, acop.CodeInternal:
		return again + "; if it stays, tell your user"
	}
	return acop.Info(e.Code).Next
}

func gate(e *acop.Error, again string) string {
	switch detail(e, "reason") {
	case "denied":
		return "do not do this work; the lead has refused it. Find other work with " + toolPickup
	case "frozen":
		return "nothing is handed out at present; go on only with what you hold, and " + again
	}
	if id := detail(e, "claim_intent_id"); id != "" {
		return "do not start: your request " + text.ID(id) + " waits for a lead; " + again + " with the same arguments"
	}
	return "do not start: a lead decides first; " + again
}

func forbidden(toolName string, e *acop.Error) string {
	switch detail(e, "reason") {
	case "self_acceptance":
		return "leave it for another agent: nobody accepts their own work"
	case "identity_mismatch":
		return "act only in your own name"
	}
	if toolName == toolPost || detail(e, "reason") == "" { // a reader, who posts nothing either
		return "your role may not do this, and you cannot correct that: tell your user"
	}
	return "your role may not do this; post a note with " + toolPost + " and let a lead do it"
}

// detail is one member of the details as text, "" when it is not there.
func detail(e *acop.Error, name string) string {
	if v, ok := e.Details[name]; ok && v != nil {
		return fmt.Sprint(v)
	}
	return ""
}
