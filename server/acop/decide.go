package acop

import (
	"math"
	"net/http"
	"time"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

// ownerActor is the actor of what the owner writes down by itself.
const ownerActor = "signalbox"

// intentsKept is how long a decided intent stays listed with its outcome, and
// mostIntents how many of an item do: each act writes the whole item anew.
const (
	intentsKept = 24 * time.Hour
	mostIntents = 64
)

// Caller is an authenticated identity with its role (H-073, D.4).
type Caller struct {
	Identity string
	Role     core.Role
}

// book is what a decision may read. All values are immutable.
type book interface {
	Item(id string) (*core.Item, bool)
	Claim(claimID string) (core.Claim, bool)
	LostClaim(workItemID, worker string) (core.Claim, bool)
	Entry(entryID string) (core.Posted, bool)
	ItemOfIntent(intentID string) (string, bool)
	Dependents(workItemID string) []string
	LiveLeases() []*core.Item
}

// request is an act with what only the wire can say about it.
type request struct {
	core.Act
	// present names the members of work_item that the body had; nil takes those
	// that are not empty. An absent member means "unchanged" (D-40).
	present map[string]bool
	// requestedAt is the requested_at_utc of a claim, if given.
	requestedAt core.Time
	// observedAt and progressStatus belong to a heartbeat.
	observedAt     core.Time
	progressStatus string
	// ifAny asks only that the target exists (If-Match: *).
	ifAny bool
	// consume and strictSelf come from the compat mount: accept goes on to
	// consume, and who completed the work may not accept it whatever the policy.
	consume, strictSelf bool
}

// desk is everything a decision may look at: it does no I/O and reads no clock.
type desk struct {
	now      core.Time
	caller   Caller
	policy   Policy
	settings core.Settings
	book     book
	// newID makes an id that nobody used yet, such as "claim:…".
	newID func(prefix string) string
}

// verdict is what a decision came to: what to write and what to answer.
type verdict struct {
	changes []store.Change
	// main is the index of the change whose object the answer is about.
	main   int
	answer answer
	// refuse, when set, is answered although something was written (a claim
	// that has to wait for a lead).
	refuse *core.Error
}

// decide carries out one act on the present state, or refuses it. A reader is told
// what does not exist, as everybody is, before that it may not act (D-62).
func decide(d *desk, r *request) (*verdict, *core.Error) {
	f, ok := decisions[r.Verb]
	if !ok {
		return nil, core.Errorf(core.CodeInternal, "there is no rule for the act %q", r.Verb)
	}
	v, refused := f(d, r)
	if d.caller.Role == core.RoleReader && !isNotFound(refused) {
		return nil, core.Errorf(core.CodeForbidden, "a reader may look but not change anything")
	}
	return v, refused
}

func isNotFound(e *core.Error) bool {
	return e != nil && (e.Code == core.CodeItemNotFound || e.Code == core.CodeClaimNotFound || e.Code == core.CodeIntentNotFound)
}

// decisions maps each verb that can be asked for to its rule.
var decisions = map[core.Verb]func(*desk, *request) (*verdict, *core.Error){
	core.VerbPut:       decidePut,
	core.VerbClaim:     decideClaim,
	core.VerbRenew:     decideRenew,
	core.VerbRelease:   decideRelease,
	core.VerbComplete:  decideComplete,
	core.VerbAccept:    decideAccept,
	core.VerbPost:      decidePost,
	core.VerbHeartbeat: decideHeartbeat,
	core.VerbRevoke:    decideRevoke,
	core.VerbCancel:    decideCancel,
	core.VerbSupersede: decideSupersede,
	core.VerbSendBack:  decideSendBack,
	core.VerbBlock:     decideBlock,
	core.VerbUnblock:   decideUnblock,
	core.VerbResolve:   decideResolve,
	core.VerbRequeue:   decideRequeue,
	core.VerbConsume:   decideConsume,
	core.VerbGrant:     decideGrant,
	core.VerbDeny:      decideDeny,
	core.VerbSettings:  decideSettings,
}

// actsAs tells in whose name the caller acts (D-38 step 2).
func (d *desk) actsAs(uid string) (string, *core.Error) {
	if uid == "" || uid == d.caller.Identity {
		return d.caller.Identity, nil
	}
	if d.caller.Role.OnBehalf() {
		return uid, nil
	}
	return "", core.Errorf(core.CodeForbidden, "the body names another identity than the credential").
		With("reason", "identity_mismatch")
}

// find gets the item or refuses with work_item_not_found.
func (d *desk) find(id string) (*core.Item, *core.Error) {
	if it, ok := d.book.Item(id); ok {
		return it, nil
	}
	return nil, core.Errorf(core.CodeItemNotFound, "there is no work item with this id").With("work_item_id", id)
}

// lead refuses callers without the lead verbs (D.4).
func (d *desk) lead() *core.Error {
	if d.caller.Role.LeadVerbs() {
		return nil
	}
	return core.Errorf(core.CodeForbidden, "only a lead or an orchestrator may do this").With("reason", "role")
}

// creatorOrLead refuses callers that neither created the item nor lead (D-33).
func (d *desk) creatorOrLead(it *core.Item) *core.Error {
	if d.caller.Role.LeadVerbs() || it.CreatedBy == d.caller.Identity {
		return nil
	}
	return core.Errorf(core.CodeForbidden, "only the creator of the item, a lead or an orchestrator may do this").With("reason", "role")
}

// seen refuses an act that was decided on an older revision of the item.
func (r *request) seen(it *core.Item) *core.Error {
	if r.IfRevision == 0 || r.IfRevision == it.Revision {
		return nil
	}
	return core.Errorf(core.CodeRevisionMismatch, "the work item has changed since revision %d; it is now at %d", r.IfRevision, it.Revision).
		With("work_item_id", it.ID()).With("current_revision", it.Revision).With("current", it)
}

// refusal is the answer to a move that the item's status does not allow.
func refusal(it *core.Item, want string) *core.Error {
	code := core.RefusalCode(it.Status())
	e := core.Errorf(code, "the work item is %s and cannot be %s", it.Status(), want).
		With("work_item_id", it.ID()).With("work_item_status", it.Status())
	if it.SupersededBy != "" {
		e.With("superseded_by_work_item_id", it.SupersededBy)
	}
	if len(it.Blockers) > 0 && it.Status() == core.StatusBlocked {
		e.With("blocker_codes", it.BlockerCodes())
	}
	return e
}

// clampTTL applies the owner's upper bound, in seconds (D-55).
func (d *desk) clampTTL(ttl int64) int64 { return min(ttl, d.policy.MaxTTLSeconds) }

// secondsLeft is the honest retry hint of a conflict: 1..60 (D-55).
func secondsLeft(until, now core.Time) int64 {
	s := int64(math.Ceil(until.Sub(now).Seconds()))
	return min(max(s, 1), 60)
}

// one is the verdict of a single changed item.
func one(dr *draft, a answer) (*verdict, *core.Error) {
	if dr.err != nil {
		return nil, dr.err
	}
	return &verdict{changes: []store.Change{dr.change()}, answer: a}, nil
}

// same is the verdict that nothing needs to be written.
func same(a answer) (*verdict, *core.Error) { return &verdict{answer: a}, nil }

// answer is the body of a successful act, without its revision.
type answer struct {
	status int
	// claimID, when set, is where Location points.
	claimID string

	ProtocolVersion string      `json:"protocol_version"`
	Claim           *core.Claim `json:"claim,omitempty"`
	// RevokedClaim is the claim that a cancel or supersede ended.
	RevokedClaim           *core.Claim                  `json:"revoked_claim,omitempty"`
	WorkItem               *core.WorkItem               `json:"work_item,omitempty"`
	WorkItemStatus         core.Status                  `json:"work_item_status,omitempty"`
	Blockers               []core.Blocker               `json:"blockers,omitzero"`
	Operations             []core.Operation             `json:"operations,omitzero"`
	Artifacts              []core.Artifact              `json:"artifacts,omitzero"`
	ValidationRequirements []core.ValidationRequirement `json:"validation_requirements,omitzero"`
	Released               []string                     `json:"released,omitzero"`
	Superseded             *core.WorkItem               `json:"superseded_work_item,omitempty"`
	Entry                  *core.BlackboardEntry        `json:"entry,omitempty"`
	Intent                 *core.Intent                 `json:"intent,omitempty"`
	Settings               *core.Settings               `json:"settings,omitempty"`
}

func ok(status int) answer {
	return answer{status: status, ProtocolVersion: core.ProtocolVersion}
}

func okItem(it *core.Item) answer {
	a := ok(http.StatusOK)
	w := it.WorkItem
	a.WorkItem, a.WorkItemStatus = &w, w.Status
	return a
}

func okClaim(status int, c core.Claim, it *core.Item) answer {
	a := ok(status)
	a.Claim, a.WorkItemStatus = &c, it.Status()
	return a
}
