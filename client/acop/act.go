package acop

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"signalbox/model/acop"
)

const (
	// defaultTTL is the term of a claim that names none: the binding demands one.
	defaultTTL = 300
	// defaultScope is the scope of a claim that names none; it is opaque (D-59).
	defaultScope = "owned_paths"
)

// wireAct is an act as a request: method, path segments and body members.
type wireAct struct {
	method string
	path   []string
	body   map[string]any
}

// encode composes the request of act after table C.4 and the owner's extension
// verbs. A missing target is an error here: an empty segment would address
// something else.
func (c *Client) encode(ctx context.Context, act *acop.Act) (*wireAct, error) {
	switch act.Verb {
	case acop.VerbPut:
		return encodePut(act)
	case acop.VerbClaim:
		return c.encodeClaim(ctx, act)
	case acop.VerbPost:
		return c.encodePost(ctx, act)
	case acop.VerbRenew, acop.VerbRelease, acop.VerbComplete, acop.VerbHeartbeat, acop.VerbRevoke:
		return encodeClaimVerb(act)
	case acop.VerbAccept, acop.VerbCancel, acop.VerbSupersede, acop.VerbSendBack, acop.VerbBlock,
		acop.VerbUnblock, acop.VerbResolve, acop.VerbRequeue, acop.VerbConsume:
		return encodeItemVerb(act)
	case acop.VerbGrant, acop.VerbDeny:
		return encodeIntentVerb(act)
	case acop.VerbSettings:
		if act.Settings == nil {
			return nil, missing(act, "settings")
		}
		return encodeSettings(act)
	}
	return nil, fmt.Errorf("%q is not an act that can be asked of an owner", act.Verb)
}

func missing(act *acop.Act, what string) error {
	return fmt.Errorf("%s: no %s given", act.Verb, what)
}

// members collects body members and leaves empty ones out.
type members map[string]any

func (m members) str(key, value string) members {
	if value != "" {
		m[key] = value
	}
	return m
}

func (m members) num(key string, value int64) members {
	if value != 0 {
		m[key] = value
	}
	return m
}

// wireDocument is acop.Document with a nil collection left out and an empty one
// sent, because they mean "unchanged" and "cleared" (D-40).
type wireDocument struct {
	WorkItem               acop.WorkItem                `json:"work_item"`
	Blockers               []acop.Blocker               `json:"blockers,omitzero"`
	Operations             []acop.Operation             `json:"operations,omitzero"`
	Artifacts              []acop.Artifact              `json:"artifacts,omitzero"`
	ValidationRequirements []acop.ValidationRequirement `json:"validation_requirements,omitzero"`
	BlackboardEntries      []acop.BlackboardEntry       `json:"blackboard_entries,omitzero"`
}

func encodePut(act *acop.Act) (*wireAct, error) {
	d := act.Document
	if d == nil || d.WorkItem.WorkItemID == "" {
		return nil, missing(act, "document with a work_item_id")
	}
	body, err := asMembers(wireDocument{
		WorkItem:               d.WorkItem,
		Blockers:               d.Blockers,
		Operations:             d.Operations,
		Artifacts:              d.Artifacts,
		ValidationRequirements: d.ValidationRequirements,
		BlackboardEntries:      d.BlackboardEntries,
	})
	if err != nil {
		return nil, err
	}
	if len(act.Empty) > 0 {
		item, err := asMembers(d.WorkItem)
		if err != nil {
			return nil, err
		}
		for _, name := range act.Empty {
			if _, has := item[name]; !has {
				item[name] = ""
			}
		}
		body["work_item"] = item
	}
	return &wireAct{method: http.MethodPut, path: []string{"work-items"}, body: body}, nil
}

// asMembers turns a record into body members.
func asMembers(v any) (members, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	m := make(members, len(raw)+1)
	for k, r := range raw {
		m[k] = r
	}
	return m, nil
}

func (c *Client) encodeClaim(ctx context.Context, act *acop.Act) (*wireAct, error) {
	if act.WorkItemID == "" {
		return nil, missing(act, "work item")
	}
	worker := act.Worker
	if worker == "" {
		var err error
		if worker, err = c.Identity(ctx); err != nil {
			return nil, err
		}
	}
	ttl, scope := act.TTLSeconds, act.Scope
	if ttl == 0 {
		ttl = defaultTTL
	}
	if scope == "" {
		scope = defaultScope
	}
	body := members{
		"work_item_id":          act.WorkItemID,
		"worker_agent_uid":      worker,
		"requested_ttl_seconds": ttl,
		"scope":                 scope,
	}
	body.str("claim_intent_id", act.IntentID)
	return &wireAct{method: http.MethodPost, path: []string{"claims"}, body: body}, nil
}

// encodePost sends the entry nested, as the fixtures do, and fills in what
// everybody can know: author, time and status.
func (c *Client) encodePost(ctx context.Context, act *acop.Act) (*wireAct, error) {
	if act.Entry == nil {
		return nil, missing(act, "entry")
	}
	e := *act.Entry
	if e.WorkItemID == "" {
		e.WorkItemID = act.WorkItemID
	}
	if e.WorkItemID == "" {
		return nil, missing(act, "work item")
	}
	if e.AuthorAgentUID == "" {
		id, err := c.Identity(ctx)
		if err != nil {
			return nil, err
		}
		e.AuthorAgentUID = id
	}
	if e.CreatedAtUTC.IsZero() {
		e.CreatedAtUTC = acop.NewTime(time.Now())
	}
	if e.Status == "" {
		e.Status = acop.EntryActive
	}
	entry, err := asMembers(e)
	if err != nil {
		return nil, err
	}
	if e.EntryID == "" {
		delete(entry, "entry_id") // the owner makes one (H-056)
	}
	return &wireAct{method: http.MethodPost, path: []string{"blackboard"}, body: members{"entry": entry}}, nil
}

func encodeClaimVerb(act *acop.Act) (*wireAct, error) {
	if act.ClaimID == "" {
		return nil, missing(act, "claim")
	}
	body := members{}
	switch act.Verb {
	case acop.VerbRenew:
		body.str("worker_agent_uid", act.Worker).num("requested_ttl_seconds", act.TTLSeconds).
			str("progress_summary", act.Reason)
	case acop.VerbRelease:
		body.str("worker_agent_uid", act.Worker).str("release_reason", act.Reason)
	case acop.VerbComplete:
		body.str("worker_agent_uid", act.Worker)
		body["completion_evidence"] = evidence(act.Evidence)
	case acop.VerbHeartbeat:
		body.str("progress_status", act.ProgressStatus).str("progress_summary", act.Reason)
		body["observed_at_utc"] = acop.NewTime(time.Now())
	case acop.VerbRevoke:
		body["reason"] = act.Reason
		body.str("disposition", string(act.Disposition))
	}
	return &wireAct{
		method: http.MethodPost,
		path:   []string{"claims", act.ClaimID, string(act.Verb)},
		body:   body,
	}, nil
}

// evidence gives the two lists, never null.
func evidence(e *acop.CompletionEvidence) acop.CompletionEvidence {
	out := acop.CompletionEvidence{ValidationResults: []string{}, ArtifactIDs: []string{}}
	if e != nil {
		out.ValidationResults = append(out.ValidationResults, e.ValidationResults...)
		out.ArtifactIDs = append(out.ArtifactIDs, e.ArtifactIDs...)
	}
	return out
}

func encodeItemVerb(act *acop.Act) (*wireAct, error) {
	if act.WorkItemID == "" {
		return nil, missing(act, "work item")
	}
	body, verb := members{}, string(act.Verb)
	switch act.Verb {
	case acop.VerbAccept:
		body.str("accepting_agent_uid", act.Worker).str("acceptance_notes", act.Reason)
	case acop.VerbCancel:
		body["reason"] = act.Reason
	case acop.VerbSupersede:
		body.str("superseded_by_work_item_id", act.SupersededBy).str("reason", act.Reason)
	case acop.VerbSendBack:
		verb = "send-back"
		body["reason"] = act.Reason
		body.str("work_kind", string(act.WorkKind))
	case acop.VerbResolve:
		body["decision"] = act.Decision
		body["note"] = act.Reason
		if act.Blocker != nil {
			body["blocker"] = act.Blocker
		}
	case acop.VerbBlock:
		body.str("note", act.Reason)
		if act.Blocker != nil {
			body["blocker"] = act.Blocker
		}
	case acop.VerbUnblock:
		body.str("note", act.Reason).str("blocker_code", act.BlockerCode)
	case acop.VerbRequeue, acop.VerbConsume:
		body.str("note", act.Reason)
	}
	return &wireAct{
		method: http.MethodPost,
		path:   []string{"work-items", act.WorkItemID, verb},
		body:   body,
	}, nil
}

func encodeIntentVerb(act *acop.Act) (*wireAct, error) {
	if act.IntentID == "" {
		return nil, missing(act, "claim intent")
	}
	body := members{}
	if act.Verb == acop.VerbGrant {
		body.num("ttl_seconds", act.TTLSeconds).str("reason", act.Reason)
	} else {
		body["reason"] = act.Reason
	}
	return &wireAct{
		method: http.MethodPost,
		path:   []string{"claim-intents", act.IntentID, string(act.Verb)},
		body:   body,
	}, nil
}

func encodeSettings(act *acop.Act) (*wireAct, error) {
	s := act.Settings
	body := members{}
	if s.GrantMode != nil {
		body["grant_mode"] = *s.GrantMode
	}
	if s.Rules != nil {
		body["rules"] = s.Rules // also an empty list: it clears
	}
	if s.Frozen != nil {
		body["frozen"] = *s.Frozen
	}
	body.str("reason", s.Reason)
	return &wireAct{method: http.MethodPut, path: []string{"settings"}, body: body}, nil
}
