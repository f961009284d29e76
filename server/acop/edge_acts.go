package acop

import (
	"cmp"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	core "signalbox/model/acop"
)

// maxTTL is the longest term that is a number of seconds at all; what is above
// the owner's own bound but below this is clamped.
const maxTTL = 1 << 31

// parser turns an envelope into the act it asks for. id is the path's.
type bodyParser func(e *envelope, id string) (*request, *core.Error)

// actBody holds the members of all small bodies; the schema of each verb says
// which of them it knows.
type actBody struct {
	WorkerAgentUID      string                   `json:"worker_agent_uid"`
	RequestedTTLSeconds int64                    `json:"requested_ttl_seconds"`
	TTLSeconds          int64                    `json:"ttl_seconds"`
	ProgressStatus      string                   `json:"progress_status"`
	ProgressSummary     string                   `json:"progress_summary"`
	ObservedAtUTC       core.Time                `json:"observed_at_utc"`
	ReleaseReason       string                   `json:"release_reason"`
	CompletionEvidence  *core.CompletionEvidence `json:"completion_evidence"`
	AcceptingAgentUID   string                   `json:"accepting_agent_uid"`
	AcceptanceNotes     string                   `json:"acceptance_notes"`
	Reason              string                   `json:"reason"`
	Note                string                   `json:"note"`
	Disposition         core.Status              `json:"disposition"`
	Decision            core.Status              `json:"decision"`
	SupersededBy        string                   `json:"superseded_by_work_item_id"`
	WorkKind            core.WorkKind            `json:"work_kind"`
	Blocker             *core.Blocker            `json:"blocker"`
	BlockerCode         string                   `json:"blocker_code"`
	GrantMode           *core.GrantMode          `json:"grant_mode"`
	Rules               []core.GrantRule         `json:"rules"`
	Frozen              *bool                    `json:"frozen"`
}

// small parses a verb with a small body about a claim, an item or an intent.
func small(verb core.Verb, schemaName string, target func(*core.Act, string)) bodyParser {
	return func(e *envelope, id string) (*request, *core.Error) {
		var b actBody
		if refused := e.check(schemaName, &b); refused != nil {
			return nil, refused
		}
		r := &request{observedAt: b.ObservedAtUTC, progressStatus: b.ProgressStatus}
		r.Act = core.Act{
			Verb: verb, Worker: cmp.Or(b.WorkerAgentUID, b.AcceptingAgentUID), TTLSeconds: cmp.Or(b.RequestedTTLSeconds, b.TTLSeconds),
			Reason:      cmp.Or(b.Reason, b.Note, b.ReleaseReason, b.ProgressSummary, b.AcceptanceNotes),
			Disposition: b.Disposition, Decision: b.Decision, Blocker: b.Blocker, BlockerCode: b.BlockerCode,
			SupersededBy: b.SupersededBy, WorkKind: b.WorkKind, Evidence: b.CompletionEvidence,
		}
		if verb == core.VerbSettings {
			r.Settings = &core.SettingsChange{GrantMode: b.GrantMode, Rules: b.Rules, Frozen: b.Frozen, Reason: b.Reason}
		}
		target(&r.Act, id)
		return r, nil
	}
}

func onClaim(a *core.Act, id string)  { a.ClaimID = id }
func onItem(a *core.Act, id string)   { a.WorkItemID = id }
func onIntent(a *core.Act, id string) { a.IntentID = id }
func onOwner(*core.Act, string)       {}

// parseClaim takes a claim intent, flat or nested, and fills the two members
// that may be left out before it is judged as a record (D-25).
func parseClaim(e *envelope, _ string) (*request, *core.Error) {
	if refused := e.unwrap("claim_intent"); refused != nil {
		return nil, refused
	}
	_, hasID := e.members["claim_intent_id"]
	_, hasTime := e.members["requested_at_utc"]
	if !hasID {
		e.set("claim_intent_id", "-")
	}
	if !hasTime {
		e.set("requested_at_utc", "2000-01-01T00:00:00Z")
	}
	var in core.ClaimIntent
	if refused := e.check("claim", &in); refused != nil {
		return nil, refused
	}
	switch {
	case in.RequestedTTLSeconds > maxTTL:
		return nil, violation("requested_ttl_seconds is more than %d", maxTTL)
	}
	if refused := usableIDs("work_item_id", in.WorkItemID, "worker_agent_uid", in.WorkerAgentUID, "claim_intent_id", in.ClaimIntentID); refused != nil {
		return nil, refused
	}
	r := &request{}
	r.Act = core.Act{Verb: core.VerbClaim, WorkItemID: in.WorkItemID, Worker: in.WorkerAgentUID, TTLSeconds: in.RequestedTTLSeconds, Scope: in.Scope}
	if hasID {
		r.IntentID = in.ClaimIntentID
	}
	if hasTime {
		r.requestedAt = in.RequestedAtUTC
	}
	return r, nil
}

// usableIDs checks pairs of a member's name and its value.
func usableIDs(pairs ...string) *core.Error {
	for i := 0; i < len(pairs); i += 2 {
		switch name, id := pairs[i], pairs[i+1]; {
		case id == "":
			return violation("%s must not be empty", name)
		case len(id) > core.MaxIDBytes:
			return violation("%s has %d bytes; at most %d fit into an address", name, len(id), core.MaxIDBytes)
		}
	}
	return nil
}

// parsePost takes an entry, flat or nested; only its id may be left out (D-45).
func parsePost(e *envelope, _ string) (*request, *core.Error) {
	if refused := e.unwrap("entry"); refused != nil {
		return nil, refused
	}
	_, hasID := e.members["entry_id"]
	if !hasID {
		e.set("entry_id", "-")
	}
	var entry core.BlackboardEntry
	if refused := e.check("post", &entry); refused != nil {
		return nil, refused
	}
	if refused := usableIDs("entry_id", entry.EntryID, "author_agent_uid", entry.AuthorAgentUID, "work_item_id", entry.WorkItemID); refused != nil {
		return nil, refused
	}
	if !hasID {
		entry.EntryID = ""
	}
	r := &request{}
	r.Act = core.Act{Verb: core.VerbPost, WorkItemID: entry.WorkItemID, Entry: &entry}
	return r, nil
}

// parsePut takes a whole document. A newer minor version is rewritten to ours
// before the schema looks at it (D-26).
func parsePut(e *envelope, _ string) (*request, *core.Error) {
	e.set("protocol_version", core.ProtocolVersion)
	inner, _ := e.tree["work_item"].(map[string]any)
	if inner != nil {
		if refused := e.lower(inner); refused != nil {
			return nil, refused
		}
	}
	doc := &core.Document{}
	if refused := e.check("put", doc); refused != nil {
		return nil, refused
	}
	if refused := usableIDs("work_item.work_item_id", doc.WorkItem.WorkItemID); refused != nil {
		return nil, refused
	}
	r := &request{present: make(map[string]bool, len(inner))}
	for name := range inner {
		r.present[name] = true
	}
	r.Act = core.Act{Verb: core.VerbPut, WorkItemID: doc.WorkItem.WorkItemID, Document: doc}
	return r, nil
}

// lower rewrites the version of the work item inside a document to ours.
func (e *envelope) lower(inner map[string]any) *core.Error {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(e.members["work_item"], &members); err != nil {
		return violation("work_item is not valid")
	}
	v, given := members["protocol_version"]
	if !given {
		return nil
	}
	newer, refused := parseVersion(v, "work_item.protocol_version")
	if refused != nil {
		return refused
	}
	e.newer = e.newer || newer
	if inner["protocol_version"] == core.ProtocolVersion {
		return nil
	}
	item := envelope{members: members, tree: inner}
	item.set("protocol_version", core.ProtocolVersion)
	e.members["work_item"] = item.bytes()
	return nil
}

// readDeadline is how long a read may wait for a revision.
const readDeadline = 5 * time.Second
