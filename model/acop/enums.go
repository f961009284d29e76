package acop

import "slices"

var (
	statuses = []Status{
		StatusReady, StatusRequiresAttention, StatusBlocked, StatusClaimed, StatusInProgress, StatusCompleted,
		StatusAccepted, StatusReleased, StatusConsumed, StatusCancelled, StatusSuperseded,
	}
	workKinds = []WorkKind{
		KindImplement, KindRefactor, KindReview, KindValidate, KindRepair, KindHandoffFollowup, KindMergePrepare,
	}
	priorities    = []Priority{PriorityLow, PriorityMedium, PriorityHigh, PriorityUrgent}
	severities    = []Severity{SeverityLow, SeverityMedium, SeverityHigh, SeverityCritical}
	readinesses   = []Readiness{ReadinessReady, ReadinessContingent, ReadinessBlocked}
	claimStatuses = []ClaimStatus{ClaimActive, ClaimReleased, ClaimExpired, ClaimRevoked}
	entryKinds    = []EntryKind{
		EntryFinding, EntryHypothesis, EntryPartialResult, EntryRisk, EntryDecision, EntryConstraint,
		EntryReviewRequest, EntryIntegrationNote,
	}
	entryStatuses = []EntryStatus{EntryActive, EntrySuperseded, EntryAccepted, EntryRejected, EntryResolved}
	roles         = []Role{RoleWorker, RoleProducer, RoleLead, RoleOrchestrator, RoleReader}
	families      = []Family{
		FamilyWorkOffer, FamilyWorkUpdate, FamilyClaimIntent, FamilyClaimGrant, FamilyClaimRelease, FamilyBlockerUpdate,
		FamilyArtifactUpdate, FamilyValidationUpdate, FamilyCompletionNotice, FamilySupersessionNotice,
		FamilyBlackboard, FamilyLeaseHeartbeat, FamilySettings,
	}
)

// Statuses lists the eleven states of a work item in the matrix's order.
func Statuses() []Status { return slices.Clone(statuses) }

// WorkKinds lists the seven kinds of work.
func WorkKinds() []WorkKind { return slices.Clone(workKinds) }

// Priorities lists the four priorities, lowest first.
func Priorities() []Priority { return slices.Clone(priorities) }

// Severities lists the four severities, mildest first.
func Severities() []Severity { return slices.Clone(severities) }

// ClaimStatuses lists the four states of a claim.
func ClaimStatuses() []ClaimStatus { return slices.Clone(claimStatuses) }

// EntryKinds lists the eight kinds of blackboard entry.
func EntryKinds() []EntryKind { return slices.Clone(entryKinds) }

// EntryStatuses lists the five statuses an entry may be posted with.
func EntryStatuses() []EntryStatus { return slices.Clone(entryStatuses) }

// Roles lists the five roles.
func Roles() []Role { return slices.Clone(roles) }

// Families lists the ten families of the core and the owner's three.
func Families() []Family { return slices.Clone(families) }

// Valid reports whether s is one of the eleven states (C-013).
func (s Status) Valid() bool { return slices.Contains(statuses, s) }

// Valid reports whether k is one of the seven kinds (C-011, D-43).
func (k WorkKind) Valid() bool { return slices.Contains(workKinds, k) }

// Valid reports whether p is one of the four priorities (C-014).
func (p Priority) Valid() bool { return slices.Contains(priorities, p) }

// Rank orders priorities: low 0 to urgent 3; an unknown one ranks as -1.
func (p Priority) Rank() int { return slices.Index(priorities, p) }

// Valid reports whether s is one of the four severities (C-019).
func (s Severity) Valid() bool { return slices.Contains(severities, s) }

// Rank orders severities: low 0 to critical 3; an unknown one ranks as -1.
func (s Severity) Rank() int { return slices.Index(severities, s) }

// Valid reports whether r is one of the three readiness values (C-028).
func (r Readiness) Valid() bool { return slices.Contains(readinesses, r) }

// Valid reports whether s is one of the four states of a claim (C-044).
func (s ClaimStatus) Valid() bool { return slices.Contains(claimStatuses, s) }

// Valid reports whether k is one of the eight kinds of entry (C-033).
func (k EntryKind) Valid() bool { return slices.Contains(entryKinds, k) }

// Valid reports whether s is one of the five entry statuses (C-034).
func (s EntryStatus) Valid() bool { return slices.Contains(entryStatuses, s) }

// Valid reports whether f is a family this program knows.
func (f Family) Valid() bool { return slices.Contains(families, f) }

// Valid reports whether m is one of the three grant modes.
func (m GrantMode) Valid() bool { return m == GrantAuto || m == GrantLead || m == GrantRules }
