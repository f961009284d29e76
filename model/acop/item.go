package acop

import "slices"

// Item is everything the owner knows about one work item at one revision. It is
// what one log message carries, what GET work-items/{id} and every event return
// and what the dashboard draws. An Item taken from a projection, an event or a
// snapshot is immutable; see [Item.Clone].
type Item struct {
	WorkItem               WorkItem                `json:"work_item"`
	Blockers               []Blocker               `json:"blockers"`
	Operations             []Operation             `json:"operations"`
	Artifacts              []Artifact              `json:"artifacts"`
	ValidationRequirements []ValidationRequirement `json:"validation_requirements"`

	// Lease is the live claim and its signs of life; nil when nobody holds it.
	Lease *Lease `json:"lease,omitempty"`
	// LastClaim is the claim on this item that ended last; it never changes.
	LastClaim *Claim `json:"last_claim,omitempty"`
	// Intents are waiting or recently decided requests to claim this item.
	Intents []Intent `json:"intents,omitempty"`
	// Completion is set from the moment a worker asserts done.
	Completion *Completion `json:"completion,omitempty"`
	// Acceptance is set once somebody accepted the completed work.
	Acceptance *Acceptance `json:"acceptance,omitempty"`

	SupersededBy string `json:"superseded_by_work_item_id,omitempty"`
	// CreatedBy is the identity that first put the item; it may cancel it (D-33).
	CreatedBy string `json:"created_by"`
	// SubmittedStatus is the status a producer last submitted; a re-publish is
	// compared with it and not with the live status (D-40).
	SubmittedStatus Status `json:"submitted_status"`
	// Attempts counts claims that ended without completion by expiry.
	Attempts int `json:"attempts,omitempty"`
	// StatusSinceUTC is when the live status was reached, by the owner's clock.
	StatusSinceUTC Time `json:"status_since_utc"`
	UpdatedAtUTC   Time `json:"updated_at_utc"`
	// Revision is the log position of the last change of this item. Zero until
	// the log has assigned one.
	Revision uint64 `json:"revision"`
}

// Lease is a live claim with what is known of its holder's life. All times are
// of receipt by the owner, never of the sender's clock.
type Lease struct {
	Claim Claim `json:"claim"`
	// Scope is the opaque scope of the intent that was granted.
	Scope string `json:"scope,omitempty"`
	// TTLSeconds is the last granted term, used by a renew without one (D-51).
	TTLSeconds   int64 `json:"ttl_seconds"`
	RenewedAtUTC Time  `json:"renewed_at_utc,omitzero"` // zero: never renewed
	Renewals     int   `json:"renewals"`
	// LastHeartbeat is the last claim heartbeat as sent; its receipt time stands
	// beside it because the sender's clock may be wrong.
	LastHeartbeat  *LeaseHeartbeat `json:"last_heartbeat,omitempty"`
	HeartbeatAtUTC Time            `json:"heartbeat_at_utc,omitzero"`
	// Progress is the last text that named progress (renew or heartbeat).
	Progress      string `json:"progress_summary,omitempty"`
	ProgressAtUTC Time   `json:"progress_at_utc,omitzero"`
	// GrantedBy names the lead that granted on behalf, if any.
	GrantedBy string `json:"granted_by,omitempty"`
}

// IntentState is what became of a waiting claim intent (grant modes).
type IntentState string

// The states of an intent: it waits, or it ended in one of four ways.
const (
	IntentWaiting   IntentState = "waiting"
	IntentGranted   IntentState = "granted"
	IntentDenied    IntentState = "denied"
	IntentExpired   IntentState = "expired"
	IntentWithdrawn IntentState = "withdrawn"
)

// Intent is a claim intent that waits for a lead, or was decided.
type Intent struct {
	ClaimIntent ClaimIntent `json:"claim_intent"`
	State       IntentState `json:"state"`
	ExpiresUTC  Time        `json:"expires_at_utc,omitzero"`
	DecidedBy   string      `json:"decided_by,omitempty"`
	DecidedUTC  Time        `json:"decided_at_utc,omitzero"`
	Reason      string      `json:"reason,omitempty"`
	ClaimID     string      `json:"claim_id,omitempty"` // the claim a grant made
}

// Completion is a worker's assertion that the item is done, with its evidence.
type Completion struct {
	CompletedBy    string             `json:"completed_by"`
	ClaimID        string             `json:"claim_id"`
	CompletedAtUTC Time               `json:"completed_at_utc"`
	Evidence       CompletionEvidence `json:"completion_evidence"`
}

// Acceptance is the downstream's word on a completed item.
type Acceptance struct {
	AcceptedBy    string `json:"accepted_by"`
	AcceptedAtUTC Time   `json:"accepted_at_utc"`
	Notes         string `json:"acceptance_notes,omitempty"`
}

// ID is the item's opaque id.
func (i *Item) ID() string { return i.WorkItem.WorkItemID }

// Status is the item's live status.
func (i *Item) Status() Status { return i.WorkItem.Status }

// Holder is the identity that holds the live claim, or "".
func (i *Item) Holder() string {
	if i.Lease == nil {
		return ""
	}
	return i.Lease.Claim.WorkerAgentUID
}

// BlockerCodes lists the codes of the open blockers in order (core "Pickup").
func (i *Item) BlockerCodes() []string {
	codes := make([]string, 0, len(i.Blockers))
	for _, b := range i.Blockers {
		codes = append(codes, b.BlockerCode)
	}
	return codes
}

// UnreservedBlockerCodes lists the codes of the open blockers that lie in no
// namespace that is given out: they are taken, and marked as what only their
// author understands (C-021).
func (i *Item) UnreservedBlockerCodes() []string {
	var codes []string
	for _, b := range i.Blockers {
		if !ReservedBlocker(b.BlockerCode) {
			codes = append(codes, b.BlockerCode)
		}
	}
	return codes
}

// MissingEvidence lists requirement ids that ev does not name (D-52).
func (i *Item) MissingEvidence(ev CompletionEvidence) []string {
	var missing []string
	for _, r := range i.ValidationRequirements {
		if !slices.Contains(ev.ValidationResults, r.RequirementID) {
			missing = append(missing, r.RequirementID)
		}
	}
	return missing
}

// Clone copies the item and every slice and pointer in it, so that the copy may
// be changed without touching what others hold.
func (i *Item) Clone() *Item {
	c := *i
	c.WorkItem.ParticipantAgentUIDs = slices.Clone(i.WorkItem.ParticipantAgentUIDs)
	c.WorkItem.OwnedPaths = slices.Clone(i.WorkItem.OwnedPaths)
	c.WorkItem.OwnedSymbols = slices.Clone(i.WorkItem.OwnedSymbols)
	// The records inside these are replaced as a whole, never edited in place,
	// so that a copy of the slice is enough.
	c.Blockers = slices.Clone(i.Blockers)
	c.Operations = slices.Clone(i.Operations)
	c.Artifacts = slices.Clone(i.Artifacts)
	c.ValidationRequirements = slices.Clone(i.ValidationRequirements)
	c.Intents = slices.Clone(i.Intents)
	if i.Lease != nil {
		l := *i.Lease
		if l.LastHeartbeat != nil {
			h := *l.LastHeartbeat
			l.LastHeartbeat = &h
		}
		c.Lease = &l
	}
	if i.Completion != nil {
		v := *i.Completion
		c.Completion = &v
	}
	if i.Acceptance != nil {
		v := *i.Acceptance
		c.Acceptance = &v
	}
	return &c
}
