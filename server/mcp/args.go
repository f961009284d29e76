package mcp

import "signalbox/model/acop"

// The arguments of the tools. Names are the binding's; the comments of the
// fields stand in the tags, where the model reads them.

type (
	action      string  // what acop_update_claim does
	order       string  // how a list is ordered
	startStatus string  // how a new item may start (D-41)
	seconds     int64   // a term
	score       float64 // 0 to 1
	needed      string  // text that must not be blank
	limit       int     // rows of one page
	offset      uint32  // characters or members
)

const (
	actRenew     action = "renew"
	actHeartbeat action = "heartbeat"
	actRelease   action = "release"
	actComplete  action = "complete"

	// mostRows bounds a list: a model's window is small.
	mostRows = 100
	fewRows  = 20
)

var (
	actions       = []action{actRenew, actHeartbeat, actRelease, actComplete}
	orders        = []order{"latest", "score", "priority"}
	startStatuses = []startStatus{startStatus(acop.StatusReady), startStatus(acop.StatusBlocked), startStatus(acop.StatusRequiresAttention)}
)

type pickupArgs struct {
	Repo   string `json:"repo,omitempty" jsonschema:"only work on this target_repo_id"`
	Branch string `json:"branch,omitempty" jsonschema:"only work on this target_branch"`
	Order  order  `json:"order,omitempty" jsonschema:"latest (default): newest first; score: most actionable first; priority: urgent first"`
	Limit  limit  `json:"limit,omitempty" jsonschema:"how many to list; default 20"`
}

type listArgs struct {
	Agent       string        `json:"agent,omitempty" jsonschema:"only work that concerns this agent identity"`
	Between     []string      `json:"between,omitempty" jsonschema:"exactly two agent identities that both take part"`
	Status      []acop.Status `json:"status,omitempty" jsonschema:"only work in one of these states"`
	Repo        string        `json:"repo,omitempty" jsonschema:"only work on this target_repo_id"`
	Branch      string        `json:"branch,omitempty" jsonschema:"only work on this target_branch"`
	BlockerCode string        `json:"blocker_code,omitempty" jsonschema:"only work with this blocker"`
	Claimable   bool          `json:"claimable,omitempty" jsonschema:"only work that nobody holds and that could be claimed now"`
	Actionable  bool          `json:"actionable,omitempty" jsonschema:"only work that agent, by default you, could pick up now"`
	Q           string        `json:"q,omitempty" jsonschema:"free text to look for in title and summary"`
	Order       order         `json:"order,omitempty" jsonschema:"latest (default), score or priority"`
	Limit       limit         `json:"limit,omitempty" jsonschema:"how many to list; default 20"`
	Cursor      string        `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
}

type itemArgs struct {
	WorkItemID needed `json:"work_item_id" jsonschema:"id of the work item, exactly as listed"`
	readOn
}

// readOn asks for a part of what was left out of a result.
type readOn struct {
	Path   string `json:"path,omitempty" jsonschema:"to read on in what left_out names: its path"`
	Offset offset `json:"offset,omitempty" jsonschema:"with path: how many characters or members to skip"`
}

type boardArgs struct {
	WorkItemID string         `json:"work_item_id,omitempty" jsonschema:"only entries about this work item"`
	Kind       acop.EntryKind `json:"kind,omitempty" jsonschema:"only entries of this kind"`
	Author     string         `json:"author,omitempty" jsonschema:"only entries of this agent identity"`
	EntryID    string         `json:"entry_id,omitempty" jsonschema:"only this one entry, as whole as it fits"`
	Since      uint64         `json:"since,omitempty" jsonschema:"only entries after this revision"`
	Before     uint64         `json:"before,omitempty" jsonschema:"only entries before this revision: the before of the last result brings older ones"`
	Limit      limit          `json:"limit,omitempty" jsonschema:"at most this many, the newest; default 20"`
	readOn
}

type noArgs struct{}

type claimArgs struct {
	WorkItemID          needed  `json:"work_item_id" jsonschema:"id of the work item, exactly as listed by acop_pickup"`
	RequestedTTLSeconds seconds `json:"requested_ttl_seconds,omitempty" jsonschema:"term of the lease in seconds; default 300, the owner may give less"`
	Scope               string  `json:"scope,omitempty" jsonschema:"what you will touch, in your words; default owned_paths"`
	ClaimIntentID       string  `json:"claim_intent_id,omitempty" jsonschema:"id of your request that waits for a lead, from an earlier gate_blocked"`
	AutoRenew           *bool   `json:"auto_renew,omitempty" jsonschema:"true (default): the lease is renewed for you while you show life; false: renew it yourself"`
}

type updateArgs struct {
	ClaimID             needed                   `json:"claim_id" jsonschema:"id of your claim, from acop_claim_work_item or acop_my_claims"`
	Action              action                   `json:"action" jsonschema:"renew prolongs the lease; heartbeat reports progress; release gives the work back; complete says it is done"`
	RequestedTTLSeconds seconds                  `json:"requested_ttl_seconds,omitempty" jsonschema:"renew only: the new term in seconds; default the last one"`
	ProgressStatus      string                   `json:"progress_status,omitempty" jsonschema:"heartbeat only: one word for the state of the work, such as working, testing, waiting, stuck"`
	ProgressSummary     string                   `json:"progress_summary,omitempty" jsonschema:"renew and heartbeat: one sentence of progress for the lead"`
	ReleaseReason       string                   `json:"release_reason,omitempty" jsonschema:"release only: why, for the lead and the next worker"`
	CompletionEvidence  *acop.CompletionEvidence `json:"completion_evidence,omitempty" jsonschema:"complete only: validation_results are the requirement_ids that you verified, artifact_ids what you made"`
}

type createArgs struct {
	WorkItemID             needed                       `json:"work_item_id" jsonschema:"a new unique id of your choice, such as fix-login-timeout"`
	Title                  needed                       `json:"title" jsonschema:"one line that a lead understands"`
	Summary                string                       `json:"summary,omitempty" jsonschema:"what to do and when it is done"`
	WorkKind               acop.WorkKind                `json:"work_kind" jsonschema:"what sort of work it is"`
	Status                 startStatus                  `json:"status,omitempty" jsonschema:"ready (default); blocked, with blockers; requires_attention when a lead must decide first"`
	Priority               acop.Priority                `json:"priority,omitempty" jsonschema:"default medium"`
	ActionabilityScore     *score                       `json:"actionability_score,omitempty" jsonschema:"0 to 1: how well prepared it is; default 0.5"`
	TargetRepoID           string                       `json:"target_repo_id,omitempty"`
	TargetBranch           string                       `json:"target_branch,omitempty"`
	TargetWorktree         string                       `json:"target_worktree,omitempty"`
	TargetAgentUID         string                       `json:"target_agent_uid,omitempty" jsonschema:"the only agent meant to do it; leave out for anybody"`
	ParticipantAgentUIDs   []string                     `json:"participant_agent_uids,omitempty"`
	CorrelationID          string                       `json:"correlation_id,omitempty" jsonschema:"id of the work item this one came from"`
	OwnedPaths             []string                     `json:"owned_paths,omitempty" jsonschema:"files and folders that the work will touch: others are warned of overlaps"`
	OwnedSymbols           []string                     `json:"owned_symbols,omitempty"`
	Blockers               []acop.Blocker               `json:"blockers,omitempty" jsonschema:"why it cannot start; dependency_work_item_pending with depends_on_work_item_id waits for another item"`
	Operations             []acop.Operation             `json:"operations,omitempty" jsonschema:"planned steps"`
	Artifacts              []acop.Artifact              `json:"artifacts,omitempty"`
	ValidationRequirements []acop.ValidationRequirement `json:"validation_requirements,omitempty" jsonschema:"what must be proven before it can be completed"`
}

type acceptArgs struct {
	WorkItemID      needed `json:"work_item_id" jsonschema:"id of the completed work item"`
	AcceptanceNotes string `json:"acceptance_notes,omitempty" jsonschema:"what you checked"`
}

type postArgs struct {
	WorkItemID         needed           `json:"work_item_id" jsonschema:"the work item it is about"`
	EntryKind          acop.EntryKind   `json:"entry_kind" jsonschema:"what sort of note it is"`
	Summary            needed           `json:"summary" jsonschema:"one or two sentences"`
	Details            string           `json:"details,omitempty"`
	EntryID            string           `json:"entry_id,omitempty" jsonschema:"an id of your choice; leave it out unless you may post the same entry twice"`
	Status             acop.EntryStatus `json:"status,omitempty" jsonschema:"default active"`
	ArtifactIDs        []string         `json:"artifact_ids,omitempty"`
	OperationIDs       []string         `json:"operation_ids,omitempty"`
	Confidence         *score           `json:"confidence,omitempty" jsonschema:"0 to 1"`
	SupersedesEntryIDs []string         `json:"supersedes_entry_ids,omitempty" jsonschema:"entries that this one replaces; entries are never changed"`
}
