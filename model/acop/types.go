package acop

// ProtocolVersion is the highest version of ACOP core this program speaks
// (core "Versioning policy").
const ProtocolVersion = "acop/1.0"

// Status is the state of a work item (core "Status"). The set is closed in 1.x.
type Status string

// The eleven states of a work item.
const (
	StatusReady             Status = "ready"
	StatusRequiresAttention Status = "requires_attention"
	StatusBlocked           Status = "blocked"
	StatusClaimed           Status = "claimed"
	StatusInProgress        Status = "in_progress"
	StatusCompleted         Status = "completed"
	StatusAccepted          Status = "accepted"
	StatusReleased          Status = "released"
	StatusConsumed          Status = "consumed"
	StatusCancelled         Status = "cancelled"
	StatusSuperseded        Status = "superseded"
)

// WorkKind says what sort of work an item is (core "WorkKind"). Closed in 1.x.
type WorkKind string

// The seven kinds of work.
const (
	KindImplement       WorkKind = "implement"
	KindRefactor        WorkKind = "refactor"
	KindReview          WorkKind = "review"
	KindValidate        WorkKind = "validate"
	KindRepair          WorkKind = "repair"
	KindHandoffFollowup WorkKind = "handoff_followup"
	KindMergePrepare    WorkKind = "merge_prepare"
)

// Priority orders items for pickup (schema `priority`).
type Priority string

// The four priorities, lowest first.
const (
	PriorityLow    Priority = "low"
	PriorityMedium Priority = "medium"
	PriorityHigh   Priority = "high"
	PriorityUrgent Priority = "urgent"
)

// Severity grades a blocker (schema `severity`).
type Severity string

// The four severities, mildest first.
const (
	SeverityLow      Severity = "low"
	SeverityMedium   Severity = "medium"
	SeverityHigh     Severity = "high"
	SeverityCritical Severity = "critical"
)

// Readiness of an artifact (schema `readiness`).
type Readiness string

// The three readiness values of an artifact.
const (
	ReadinessReady      Readiness = "ready"
	ReadinessContingent Readiness = "contingent"
	ReadinessBlocked    Readiness = "blocked"
)

// ClaimStatus is the state of a claim (core "Claim"). Closed in 1.x.
type ClaimStatus string

// The four states of a claim; only active can change.
const (
	ClaimActive   ClaimStatus = "active"
	ClaimReleased ClaimStatus = "released"
	ClaimExpired  ClaimStatus = "expired"
	ClaimRevoked  ClaimStatus = "revoked"
)

// EntryKind is the kind of a blackboard entry (core "BlackboardEntry"). Closed in 1.x.
type EntryKind string

// The eight kinds of blackboard entry.
const (
	EntryFinding         EntryKind = "finding"
	EntryHypothesis      EntryKind = "hypothesis"
	EntryPartialResult   EntryKind = "partial_result"
	EntryRisk            EntryKind = "risk"
	EntryDecision        EntryKind = "decision"
	EntryConstraint      EntryKind = "constraint"
	EntryReviewRequest   EntryKind = "review_request"
	EntryIntegrationNote EntryKind = "integration_note"
)

// EntryStatus is the status an entry was posted with. It never changes
// afterwards (D-46): readers derive "superseded" from links.
type EntryStatus string

// The five statuses an entry may be posted with.
const (
	EntryActive     EntryStatus = "active"
	EntrySuperseded EntryStatus = "superseded"
	EntryAccepted   EntryStatus = "accepted"
	EntryRejected   EntryStatus = "rejected"
	EntryResolved   EntryStatus = "resolved"
)

// The reserved core blocker codes (core "Blocker code namespaces"). They are
// used only with the meanings given there (C-022).
const (
	BlockerSeamExtraction   = "seam_extraction_required"
	BlockerHostContract     = "host_contract_unresolved"
	BlockerBranchConflict   = "branch_conflict_risk"
	BlockerNoValidationEnv  = "validation_environment_missing"
	BlockerReviewRequired   = "review_required"
	BlockerDependency       = "dependency_work_item_pending"
	BlockerExternalDecision = "external_decision_pending"
	BlockerArtifactMissing  = "artifact_unavailable"
)

// MaxIDBytes bounds an id in bytes: percent-encoded, three bytes for one, it must
// still fit into the path of a request, or the object could never be named again.
const MaxIDBytes = 16 << 10

// WorkItem is the schema's work_item: what a producer says about one unit of
// coordinated work (core "WorkItem"). Status is the owner's live status.
type WorkItem struct {
	WorkItemID           string   `json:"work_item_id"`
	ProtocolVersion      string   `json:"protocol_version"`
	WorkKind             WorkKind `json:"work_kind"`
	CreatedAtUTC         Time     `json:"created_at_utc"`
	Producer             string   `json:"producer"`
	Status               Status   `json:"status"`
	Priority             Priority `json:"priority"`
	ActionabilityScore   float64  `json:"actionability_score"`
	Title                string   `json:"title,omitempty"`
	Summary              string   `json:"summary,omitempty"`
	TargetRepoID         string   `json:"target_repo_id,omitempty"`
	TargetWorkspaceRoot  string   `json:"target_workspace_root,omitempty"`
	TargetBranch         string   `json:"target_branch,omitempty"`
	TargetWorktree       string   `json:"target_worktree,omitempty"`
	SourceHandoffID      string   `json:"source_handoff_id,omitempty"`
	CorrelationID        string   `json:"correlation_id,omitempty"`
	TargetAgentUID       string   `json:"target_agent_uid,omitempty"`
	ParticipantAgentUIDs []string `json:"participant_agent_uids,omitempty"`
	OwnedPaths           []string `json:"owned_paths,omitempty"`
	OwnedSymbols         []string `json:"owned_symbols,omitempty"`
}

// Blocker says why an item cannot be picked up (core "Blocker").
type Blocker struct {
	BlockerCode               string   `json:"blocker_code"`
	Severity                  Severity `json:"severity"`
	Summary                   string   `json:"summary"`
	ArtifactID                string   `json:"artifact_id,omitempty"`
	OperationID               string   `json:"operation_id,omitempty"`
	DependsOnWorkItemID       string   `json:"depends_on_work_item_id,omitempty"`
	DependsOnExternalDecision *bool    `json:"depends_on_external_decision,omitempty"`
	SuggestedResolution       string   `json:"suggested_resolution,omitempty"`
}

// Operation is a planned step of an item (core "Operation").
type Operation struct {
	OperationID           string   `json:"operation_id"`
	Kind                  string   `json:"kind"`
	Description           string   `json:"description"`
	DependsOnOperationIDs []string `json:"depends_on_operation_ids,omitempty"`
	OutcomeTarget         string   `json:"outcome_target,omitempty"`
	ArtifactIDs           []string `json:"artifact_ids,omitempty"`
	ValidationFocus       []string `json:"validation_focus,omitempty"`
}

// Artifact is a stable object the item refers to (core "Artifact").
type Artifact struct {
	ArtifactID       string    `json:"artifact_id"`
	ArtifactKind     string    `json:"artifact_kind"`
	ArtifactRole     string    `json:"artifact_role"`
	ResourceURI      string    `json:"resource_uri,omitempty"`
	RepoRelativePath string    `json:"repo_relative_path,omitempty"`
	NamespaceHint    string    `json:"namespace_hint,omitempty"`
	SymbolHint       string    `json:"symbol_hint,omitempty"`
	Readiness        Readiness `json:"readiness,omitempty"`
}

// ValidationRequirement is evidence that must exist before an item can be
// completed (core "ValidationRequirement").
type ValidationRequirement struct {
	RequirementID string   `json:"requirement_id"`
	Kind          string   `json:"kind"`
	Summary       string   `json:"summary"`
	ArtifactIDs   []string `json:"artifact_ids,omitempty"`
}

// BlackboardEntry is one append-only coordination note (core "BlackboardEntry").
type BlackboardEntry struct {
	EntryID            string      `json:"entry_id"`
	WorkItemID         string      `json:"work_item_id"`
	EntryKind          EntryKind   `json:"entry_kind"`
	AuthorAgentUID     string      `json:"author_agent_uid"`
	CreatedAtUTC       Time        `json:"created_at_utc"`
	Status             EntryStatus `json:"status"`
	Summary            string      `json:"summary,omitempty"`
	Details            string      `json:"details,omitempty"`
	ArtifactIDs        []string    `json:"artifact_ids,omitempty"`
	OperationIDs       []string    `json:"operation_ids,omitempty"`
	Confidence         *float64    `json:"confidence,omitempty"` // 0..1; nil when not given
	SupersedesEntryIDs []string    `json:"supersedes_entry_ids,omitempty"`
}

// ClaimIntent is a worker's wish to own an item (core "ClaimIntent").
type ClaimIntent struct {
	ClaimIntentID       string `json:"claim_intent_id"`
	WorkItemID          string `json:"work_item_id"`
	WorkerAgentUID      string `json:"worker_agent_uid"`
	RequestedAtUTC      Time   `json:"requested_at_utc"`
	RequestedTTLSeconds int64  `json:"requested_ttl_seconds"` // seconds, at least 1
	Scope               string `json:"scope"`
}

// Claim is granted temporary ownership of an item (core "Claim"). A claim that
// is not active never changes again.
type Claim struct {
	ClaimID        string      `json:"claim_id"`
	WorkItemID     string      `json:"work_item_id"`
	WorkerAgentUID string      `json:"worker_agent_uid"`
	GrantedAtUTC   Time        `json:"granted_at_utc"`
	ExpiresAtUTC   Time        `json:"expires_at_utc"`
	ClaimStatus    ClaimStatus `json:"claim_status"`
}

// LeaseHeartbeat is a sign of life of the holder of a claim. It never moves
// expires_at_utc (core "LeaseHeartbeat", C-047).
type LeaseHeartbeat struct {
	ClaimID         string `json:"claim_id"`
	ObservedAtUTC   Time   `json:"observed_at_utc"`
	ProgressStatus  string `json:"progress_status,omitempty"`
	ProgressSummary string `json:"progress_summary,omitempty"`
}

// CompletionEvidence is what a worker submits with complete (binding
// "Complete", D-51, D-52).
type CompletionEvidence struct {
	ValidationResults []string `json:"validation_results"` // requirement ids that hold
	ArtifactIDs       []string `json:"artifact_ids"`
}

// Document is the schema's top level object: the body of PUT work-items. A nil
// collection means "unchanged", an empty one "cleared" (D-40).
type Document struct {
	ProtocolVersion        string                  `json:"protocol_version"`
	WorkItem               WorkItem                `json:"work_item"`
	Blockers               []Blocker               `json:"blockers,omitempty"`
	Operations             []Operation             `json:"operations,omitempty"`
	Artifacts              []Artifact              `json:"artifacts,omitempty"`
	ValidationRequirements []ValidationRequirement `json:"validation_requirements,omitempty"`
	BlackboardEntries      []BlackboardEntry       `json:"blackboard_entries,omitempty"`
	ClaimIntent            *ClaimIntent            `json:"claim_intent,omitempty"`
	Claim                  *Claim                  `json:"claim,omitempty"`
	LeaseHeartbeat         *LeaseHeartbeat         `json:"lease_heartbeat,omitempty"`
}
