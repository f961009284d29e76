package acop

import "fmt"

// Legal reports whether identity self with role may ask for verb on item in its
// present state, and if not, why not, as half a sentence for a person. It knows
// what the item shows and the roles (C-066, D.4, C.1, C.2); the owner's options
// and its clock may still refuse. A nil item is legal only for acts that have
// none (put, settings).
//
// Claim asks whether the item can be claimed or granted to a worker; grant and
// deny ask for a waiting intent.
func Legal(item *Item, role Role, self string, verb Verb) (ok bool, reason string) {
	if role == RoleReader || !role.Valid() {
		return false, "your role may only look"
	}
	switch verb {
	case VerbPut:
		return true, ""
	case VerbSettings:
		return needLead(role, "change the settings")
	}
	if item == nil {
		return false, "no work item is selected"
	}
	if verb == VerbPost {
		return true, "" // before, during and after work (C-039)
	}
	if ok, reason := legalRole(item, role, self, verb); !ok {
		return false, reason
	}
	return legalState(item, verb)
}

func needLead(role Role, what string) (bool, string) {
	if role.LeadVerbs() {
		return true, ""
	}
	return false, "only a lead may " + what
}

func legalRole(item *Item, role Role, self string, verb Verb) (bool, string) {
	switch verb {
	case VerbClaim:
		if role == RoleProducer {
			return false, "a producer may not hold claims"
		}
	case VerbGrant, VerbDeny:
		return needLead(role, "decide claim requests")
	case VerbRevoke:
		return needLead(role, "revoke a claim")
	case VerbResolve:
		return needLead(role, "decide")
	case VerbRenew, VerbRelease, VerbComplete, VerbHeartbeat:
		if item.Lease != nil && item.Holder() != self && !role.OnBehalf() {
			return false, "the claim belongs to " + item.Holder()
		}
	case VerbCancel, VerbSupersede, VerbSendBack, VerbBlock, VerbUnblock, VerbRequeue:
		if !role.LeadVerbs() && item.CreatedBy != self {
			return false, "only a lead or the item's creator may do this"
		}
	case VerbConsume:
		if !role.LeadVerbs() && (item.Acceptance == nil || item.Acceptance.AcceptedBy != self) {
			return false, "only a lead or whoever accepted it may do this"
		}
	case VerbAccept:
		if item.Completion != nil && item.Completion.CompletedBy == self {
			return false, "you completed it; somebody else must accept it"
		}
	}
	return true, ""
}

func legalState(item *Item, verb Verb) (bool, string) {
	st := item.Status()
	switch verb {
	case VerbClaim:
		return needState(item, st == StatusReady, "only a ready item can be claimed")
	case VerbGrant, VerbDeny:
		if item.WaitingIntent() == nil {
			return false, "nobody asks for this item"
		}
		if verb == VerbDeny {
			return true, ""
		}
		return needState(item, st == StatusReady, "only a ready item can be granted")
	case VerbRevoke, VerbRenew, VerbRelease, VerbComplete, VerbHeartbeat:
		return needState(item, st.Held() && item.Lease != nil, "nobody holds it")
	case VerbAccept, VerbSendBack:
		return needState(item, st == StatusCompleted, "only completed work can be judged")
	case VerbResolve:
		return needState(item, st == StatusRequiresAttention, "no decision is asked for")
	case VerbBlock:
		return needState(item, st == StatusReady || st == StatusBlocked, "only a ready item can be blocked")
	case VerbUnblock:
		return needState(item, st == StatusBlocked || st == StatusReady && len(item.Blockers) > 0, "it is not blocked")
	case VerbRequeue:
		return needState(item, st == StatusReleased, "only a released item can be put back")
	case VerbConsume:
		return needState(item, st == StatusAccepted, "only accepted work can be consumed")
	case VerbCancel, VerbSupersede:
		return needState(item, !st.Terminal(), "it is closed for good")
	}
	return false, "nobody can ask for this"
}

func needState(item *Item, ok bool, why string) (bool, string) {
	if ok {
		return true, ""
	}
	where := "it is " + string(item.Status())
	if h := item.Holder(); h != "" {
		where = fmt.Sprintf("%s by %s", where, h)
	}
	return false, why + "; " + where
}

// WaitingIntent is the oldest intent of the item that still waits, or nil.
func (i *Item) WaitingIntent() *Intent {
	for k := range i.Intents {
		if i.Intents[k].State == IntentWaiting {
			return &i.Intents[k]
		}
	}
	return nil
}

// Intent finds an intent of the item by id, or nil.
func (i *Item) Intent(id string) *Intent {
	for k := range i.Intents {
		if i.Intents[k].ClaimIntent.ClaimIntentID == id {
			return &i.Intents[k]
		}
	}
	return nil
}
