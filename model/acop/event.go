package acop

// Family is the semantic family of an event (core "Minimal message families",
// C-076) or one of the owner's own.
type Family string

// The ten families of the core and the owner's three.
const (
	FamilyWorkOffer          Family = "work_offer"
	FamilyWorkUpdate         Family = "work_update"
	FamilyClaimIntent        Family = "claim_intent"
	FamilyClaimGrant         Family = "claim_grant"
	FamilyClaimRelease       Family = "claim_release"
	FamilyBlockerUpdate      Family = "blocker_update"
	FamilyArtifactUpdate     Family = "artifact_update"
	FamilyValidationUpdate   Family = "validation_update"
	FamilyCompletionNotice   Family = "completion_notice"
	FamilySupersessionNotice Family = "supersession_notice"
	FamilyBlackboard         Family = "blackboard"
	FamilyLeaseHeartbeat     Family = "lease_heartbeat"
	FamilySettings           Family = "settings"
)

// Event is one line of the owner's log: who did what to what, and the changed
// objects whole, so that a reader never has to fetch to stay right. Nothing
// changes state without one; a refused lead act is one too (Verb "refused").
type Event struct {
	Family   Family `json:"family"`
	Revision uint64 `json:"revision"`
	// Index numbers the events of one act from 0; Last marks the one that
	// completes it and alone carries the SSE id.
	Index      int    `json:"index"`
	Last       bool   `json:"last"`
	AtUTC      Time   `json:"at_utc"`
	Actor      string `json:"actor"`
	OnBehalfOf string `json:"on_behalf_of,omitempty"`
	Verb       string `json:"verb"`
	WorkItemID string `json:"work_item_id,omitempty"`
	ClaimID    string `json:"claim_id,omitempty"`
	From       Status `json:"from,omitempty"`
	To         Status `json:"to,omitempty"`
	Reason     string `json:"reason,omitempty"`
	// Code is the error code of a refused act; RefusedVerb what was tried.
	Code        string `json:"code,omitempty"`
	RefusedVerb string `json:"refused_verb,omitempty"`

	Item      *Item            `json:"item,omitempty"`
	Claim     *Claim           `json:"claim,omitempty"`
	Entry     *BlackboardEntry `json:"entry,omitempty"`
	Intent    *Intent          `json:"intent,omitempty"`
	Heartbeat *LeaseHeartbeat  `json:"heartbeat,omitempty"`
	Settings  *Settings        `json:"settings,omitempty"`
}

// GrantMode says how a worker's wish to claim is met.
type GrantMode string

// The three grant modes.
const (
	GrantAuto  GrantMode = "auto"
	GrantLead  GrantMode = "lead"
	GrantRules GrantMode = "rules"
)

// Settings are the owner's policies that a lead may change at run time.
type Settings struct {
	GrantMode    GrantMode   `json:"grant_mode"`
	Rules        []GrantRule `json:"rules,omitempty"`
	Frozen       bool        `json:"frozen"`
	FrozenReason string      `json:"frozen_reason,omitempty"`
	FrozenBy     string      `json:"frozen_by,omitempty"`
	// Revision is the log position of the last change. The answer to the change
	// itself leaves it out: it is the revision of that answer.
	Revision uint64 `json:"revision,omitzero"`
}

// GrantRule is one line of grant mode "rules": the first whose conditions all
// hold decides. An empty condition holds always.
type GrantRule struct {
	WorkKind WorkKind `json:"work_kind,omitempty" yaml:"work_kind,omitempty"`
	Priority Priority `json:"priority,omitempty" yaml:"priority,omitempty"`
	Path     string   `json:"path,omitempty" yaml:"path,omitempty"` // glob over owned paths
	Worker   string   `json:"worker,omitempty" yaml:"worker,omitempty"`
	Then     string   `json:"then" yaml:"then"` // auto, lead or deny
}

// Snapshot is all non-terminal state at one revision: for a client that starts
// or lost its place. Closed items are counted, not listed.
type Snapshot struct {
	ProtocolVersion string         `json:"protocol_version"`
	Revision        uint64         `json:"revision"`
	AtUTC           Time           `json:"at_utc"` // the owner's clock
	Identity        string         `json:"identity"`
	Role            Role           `json:"role"`
	Items           []*Item        `json:"items"`
	Entries         []Posted       `json:"entries"` // of those items, ascending
	Settings        Settings       `json:"settings"`
	Closed          map[Status]int `json:"closed"`
}

// Posted is a blackboard entry with its place in the owner's one order.
type Posted struct {
	Revision uint64          `json:"revision"`
	Entry    BlackboardEntry `json:"entry"`
}

// Role is what an identity may do at the owner (D.4).
type Role string

// The five roles.
const (
	RoleWorker       Role = "worker"
	RoleProducer     Role = "producer"
	RoleLead         Role = "lead"
	RoleOrchestrator Role = "orchestrator"
	RoleReader       Role = "reader"
)

// Valid reports whether r is one of the five roles.
func (r Role) Valid() bool {
	switch r {
	case RoleWorker, RoleProducer, RoleLead, RoleOrchestrator, RoleReader:
		return true
	}
	return false
}

// OnBehalf reports whether r may name another identity in a body (D.4).
func (r Role) OnBehalf() bool { return r == RoleLead || r == RoleOrchestrator }

// LeadVerbs reports whether r may revoke, resolve, grant, and cancel anything (D.4).
func (r Role) LeadVerbs() bool { return r == RoleLead || r == RoleOrchestrator }

// Detail is everything the owner knows about one item: the answer of
// GET work-items/{id}.
type Detail struct {
	ProtocolVersion string   `json:"protocol_version"`
	Revision        uint64   `json:"revision"`
	Item            *Item    `json:"item"`
	Claims          []Claim  `json:"claims"`  // then and now, ascending
	Entries         []Posted `json:"entries"` // ascending
	Events          []Event  `json:"events"`  // ascending
	// Overlaps lists live claims on other items that share paths or symbols.
	Overlaps []Overlap `json:"overlaps"`
	// UnreservedBlockerCodes marks blocker codes of no known namespace (C-021).
	UnreservedBlockerCodes []string `json:"unreserved_blocker_codes,omitempty"`
}

// Overlap is one live claim of another item that shares paths or symbols.
type Overlap struct {
	WorkItemID     string   `json:"work_item_id"`
	WorkerAgentUID string   `json:"worker_agent_uid"`
	ExpiresAtUTC   Time     `json:"expires_at_utc"`
	Paths          []string `json:"paths,omitempty"`
	Symbols        []string `json:"symbols,omitempty"`
}
