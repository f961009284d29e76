package acop

import (
	"cmp"
	"strings"

	core "signalbox/model/acop"
)

// compatTTL is what these clients ask for when nobody says how long, in seconds.
const compatTTL = 300

// compatClaim reads E-14.
func compatClaim(c *compatBody) (object, *core.Error) {
	out := object{"worker_agent_uid": c.caller.Identity, "requested_ttl_seconds": compatTTL}
	c.copy(out, "work_item_id")
	c.copy(out, "worker_agent_uid")
	c.copy(out, "requested_ttl_seconds", "ttl_seconds")
	c.copy(out, "claim_intent_id")
	c.copy(out, "requested_at_utc")
	paths := object{}
	c.words(paths, "owned_paths")
	c.skip("owned_symbols", "scope")
	scope, _ := c.in["scope"].(string)
	scopeID, _ := c.scoped("scope_id").(string)
	if list, _ := paths["owned_paths"].([]any); scope == "" && len(list) > 0 {
		scope = "owned_paths"
	}
	out["scope"] = cmp.Or(scope, c.text("coordination_scope_id"), scopeID, "work_item")
	c.keep("coordination_scope_id", "agent_capabilities", "repo_id")
	return out, nil
}

// compatRenew and the two after it read E-15 and E-16.
func compatRenew(c *compatBody) (object, *core.Error) {
	out := object{}
	c.copy(out, "worker_agent_uid")
	c.copy(out, "requested_ttl_seconds", "renew_seconds")
	c.copy(out, "progress_summary")
	return out, c.same("claim_id")
}

func compatRelease(c *compatBody) (object, *core.Error) {
	out := object{}
	c.copy(out, "worker_agent_uid")
	c.copy(out, "release_reason", "reason")
	return out, c.same("claim_id")
}

func compatComplete(c *compatBody) (object, *core.Error) {
	out := object{}
	c.copy(out, "worker_agent_uid")
	c.copy(out, "completion_evidence") // never made up: without it, requirements stay unmet
	c.keep("progress_summary", "summary", "changed_paths")
	return out, c.same("claim_id")
}

// compatAccept reads E-18.
func compatAccept(c *compatBody) (object, *core.Error) {
	out := object{}
	c.copy(out, "accepting_agent_uid")
	c.copy(out, "acceptance_notes", "notes")
	allow, _ := c.get("allow_self_acceptance").(bool)
	c.strictSelf = !allow
	switch kind := c.text("acceptance_kind"); strings.ToLower(kind) {
	case "", "reviewed", "accepted":
	case "released":
		c.consume = true
	default:
		return nil, violation("acceptanceKind must be Reviewed, Accepted or Released")
	}
	c.skip("implementation_claim_id")
	return out, c.same("work_item_id")
}

// compatPost reads E-19.
func compatPost(c *compatBody) (object, *core.Error) {
	if inner, nested := c.in["entry"].(map[string]any); nested {
		c.in = inner
	}
	out := object{"author_agent_uid": c.caller.Identity, "status": string(core.EntryActive), "created_at_utc": c.now}
	for _, n := range []string{"work_item_id", "author_agent_uid", "created_at_utc", "entry_id", "summary", "details", "confidence"} {
		c.copy(out, n)
	}
	if kind := c.text("entry_kind"); kind != "" {
		out["entry_kind"] = snake(kind)
	}
	if st := c.text("status"); st != "" {
		out["status"] = strings.ToLower(st)
	}
	c.words(out, "artifact_ids", "linked_artifact_ids")
	c.words(out, "supersedes_entry_ids")
	c.words(out, "operation_ids")
	c.skip("coordination_scope_id")
	return out, nil
}

// compatPut reads E-12 and E-17: flat members become a work item; when and by
// whom it was made is kept on repeats, for a repeat is no change.
func compatPut(c *compatBody) (object, *core.Error) {
	doc := object{}
	for _, n := range []string{"blockers", "operations", "artifacts", "validation_requirements", "blackboard_entries"} {
		c.copy(doc, n)
	}
	if inner, nested := c.in["work_item"].(map[string]any); nested {
		c.in = inner
	}
	w := object{"protocol_version": core.ProtocolVersion, "producer": c.caller.Identity, "created_at_utc": c.now, "status": string(core.StatusReady),
		"priority": string(core.PriorityMedium), "actionability_score": 0.5}
	id := c.text("work_item_id")
	if it, known := c.item(id); known {
		w["producer"], w["created_at_utc"], w["status"] = it.WorkItem.Producer, it.WorkItem.CreatedAtUTC, string(it.SubmittedStatus)
	}
	for _, n := range []string{"work_item_id", "producer", "created_at_utc", "status", "title", "summary", "actionability_score", "target_repo_id",
		"target_workspace_root", "target_branch", "target_worktree", "target_agent_uid", "correlation_id", "source_handoff_id"} {
		c.copy(w, n)
	}
	if p := c.text("priority"); p != "" {
		w["priority"] = strings.ToLower(p)
	}
	kind := core.WorkKind(snake(c.text("work_kind")))
	if !kind.Valid() {
		return nil, violation("workKind must be one of implement, refactor, review, validate, repair, handoff_followup and merge_prepare")
	}
	w["work_kind"] = string(kind)
	for _, n := range []string{"owned_paths", "owned_symbols", "participant_agent_uids"} {
		c.words(w, n)
	}
	c.keep("coordination_scope_id", "stage_id", "required_capabilities")
	c.skip("protocol_version")
	doc["work_item"] = w
	return doc, nil
}
