package acop

// Verb names an act that changes state at the owner.
type Verb string

// The seven verbs of the binding, the owner's extension verbs (D.3) and the
// owner's own bookkeeping acts ("expire" is never asked for by anyone).
const (
	VerbPut        Verb = "put"
	VerbClaim      Verb = "claim" // also a lead's grant on behalf
	VerbRenew      Verb = "renew"
	VerbRelease    Verb = "release"
	VerbComplete   Verb = "complete"
	VerbAccept     Verb = "accept"
	VerbPost       Verb = "post"
	VerbHeartbeat  Verb = "heartbeat"
	VerbRevoke     Verb = "revoke"
	VerbCancel     Verb = "cancel"
	VerbSupersede  Verb = "supersede"
	VerbSendBack   Verb = "send_back"
	VerbBlock      Verb = "block"
	VerbUnblock    Verb = "unblock"
	VerbResolve    Verb = "resolve"
	VerbRequeue    Verb = "requeue"
	VerbConsume    Verb = "consume"
	VerbGrant      Verb = "grant" // decides a waiting intent
	VerbDeny       Verb = "deny"
	VerbSettings   Verb = "settings"
	VerbExpire     Verb = "expire"
	VerbRefused    Verb = "refused"
	VerbIntent     Verb = "intent"      // a claim that must wait for a lead
	VerbIntentGone Verb = "intent_gone" // a waiting intent expired or was withdrawn
)

// Act is one thing a person or a program asks the owner to do. It carries the
// id of its target and the revision that was on screen, so that a decision can
// never land on something else (promise 2). Which fields matter depends on Verb.
type Act struct {
	Verb Verb `json:"verb"`

	WorkItemID string `json:"work_item_id,omitempty"`
	ClaimID    string `json:"claim_id,omitempty"`
	IntentID   string `json:"claim_intent_id,omitempty"`

	// Worker is the identity a claim is granted to, when it is not the caller.
	Worker     string `json:"worker_agent_uid,omitempty"`
	TTLSeconds int64  `json:"ttl_seconds,omitempty"` // seconds; 0 = the owner's choice
	Scope      string `json:"scope,omitempty"`

	// Reason is the free text of the act: reason, note, acceptance_notes,
	// release_reason or progress_summary, as the verb names it.
	Reason string `json:"reason,omitempty"`
	// ProgressStatus is one word for the state of the work, of a heartbeat only.
	ProgressStatus string `json:"progress_status,omitempty"`
	// Disposition of a revoke: ready (default) or released.
	Disposition Status `json:"disposition,omitempty"`
	// Decision of a resolve: ready or blocked.
	Decision     Status              `json:"decision,omitempty"`
	Blocker      *Blocker            `json:"blocker,omitempty"`
	BlockerCode  string              `json:"blocker_code,omitempty"`
	SupersededBy string              `json:"superseded_by_work_item_id,omitempty"`
	WorkKind     WorkKind            `json:"work_kind,omitempty"` // of a send back's successor
	Evidence     *CompletionEvidence `json:"completion_evidence,omitempty"`
	Entry        *BlackboardEntry    `json:"entry,omitempty"`
	Document     *Document           `json:"document,omitempty"`
	// Empty names members of the document's work_item that are sent as empty text, which
	// takes their value away; other members without a value are left out and stay as they
	// are (D-40).
	Empty    []string        `json:"empty,omitempty"`
	Settings *SettingsChange `json:"settings,omitempty"`

	// IfRevision, when not zero, is the revision of the target that the caller
	// saw; the owner refuses the act when the target has moved on (If-Match).
	IfRevision uint64 `json:"if_revision,omitempty"`
	// Key is the Idempotency-Key; the same key is sent on every retry.
	Key string `json:"idempotency_key,omitempty"`
}

// SettingsChange is the body of PUT settings; nil members stay as they are.
type SettingsChange struct {
	GrantMode *GrantMode  `json:"grant_mode,omitempty"`
	Rules     []GrantRule `json:"rules,omitempty"`
	Frozen    *bool       `json:"frozen,omitempty"`
	Reason    string      `json:"reason,omitempty"`
}

// Receipt is the owner's answer to an act that was done.
type Receipt struct {
	Revision uint64 `json:"revision"`
	// Replayed tells that the answer is the stored one of an earlier request
	// with the same key and may describe the past (D-56, B63).
	Replayed bool             `json:"replayed,omitempty"`
	Item     *Item            `json:"item,omitempty"`
	Claim    *Claim           `json:"claim,omitempty"`
	Intent   *Intent          `json:"intent,omitempty"`
	Entry    *BlackboardEntry `json:"entry,omitempty"`
	Released []string         `json:"released,omitempty"` // ids that became ready
	Settings *Settings        `json:"settings,omitempty"`
	Status   Status           `json:"work_item_status,omitempty"`
}
