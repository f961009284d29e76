package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"signalbox/model/acop"
	"signalbox/model/text"
)

func (c *call) claim(ctx context.Context, a *claimArgs, out *claimResult) (string, *acop.Error) {
	r, err := c.owner.Do(ctx, acop.Act{Verb: acop.VerbClaim, WorkItemID: string(a.WorkItemID), TTLSeconds: int64(a.RequestedTTLSeconds),
		Scope: a.Scope, IntentID: a.ClaimIntentID})
	if err != nil {
		refused := refusalOf(err)
		if refused.Code == acop.CodeClaimConflict && detail(refused, "current_worker_agent_uid") != c.who {
			out.AlsoReady = c.alsoReady(ctx)
		}
		return "", refused
	}
	auto := a.AutoRenew == nil || *a.AutoRenew
	c.s.keeper.adopt(c.who, r.Claim, &auto)
	out.Claim, out.WorkItemStatus = r.Claim, r.Status
	said := fmt.Sprintf("%s is yours until %s (claim %s).", text.ID(r.Claim.WorkItemID), r.Claim.ExpiresAtUTC, text.ID(r.Claim.ClaimID))
	if d, err := c.owner.Detail(ctx, r.Claim.WorkItemID); err == nil { // else the claim stands all the same
		out.ValidationRequirements, out.Overlaps = d.Item.ValidationRequirements, d.Overlaps
		said += "\n" + describe(d, c.who)
	}
	return said, nil
}

// alsoReady lists a few things that the caller could take instead.
func (c *call) alsoReady(ctx context.Context) []brief {
	page, err := c.owner.Items(ctx, Query{Agent: c.who, Actionable: true, Order: "priority", Limit: 5})
	if err != nil {
		return nil
	}
	return briefs(page.Rows)
}

func (c *call) update(ctx context.Context, a *updateArgs, out *updateResult) (string, *acop.Error) {
	if refused := a.belong(); refused != nil {
		return "", refused
	}
	act := acop.Act{ClaimID: string(a.ClaimID), Reason: cmp.Or(a.ProgressSummary, a.ReleaseReason)}
	switch a.Action {
	case actRenew:
		act.Verb, act.TTLSeconds = acop.VerbRenew, int64(a.RequestedTTLSeconds)
	case actHeartbeat:
		act.Verb, act.ProgressStatus = acop.VerbHeartbeat, a.ProgressStatus
	case actRelease:
		act.Verb = acop.VerbRelease
	case actComplete:
		act.Verb, act.Evidence = acop.VerbComplete, a.CompletionEvidence
	}
	r, err := c.owner.Do(ctx, act)
	if err != nil {
		return "", refusalOf(err)
	}
	out.Claim, out.WorkItemStatus = r.Claim, r.Status
	switch a.Action {
	case actRelease, actComplete:
		c.s.keeper.forget(c.who, string(a.ClaimID))
	default:
		if r.Claim != nil {
			c.s.keeper.adopt(c.who, r.Claim, nil)
		}
	}
	return a.done(r), nil
}

// belong refuses arguments of another action: they would be lost in silence.
func (a *updateArgs) belong() *acop.Error {
	for _, m := range []struct {
		name  string
		given bool
		of    []action
	}{
		{"requested_ttl_seconds", a.RequestedTTLSeconds != 0, []action{actRenew}},
		{"progress_status", a.ProgressStatus != "", []action{actHeartbeat}},
		{"progress_summary", a.ProgressSummary != "", []action{actRenew, actHeartbeat}},
		{"release_reason", a.ReleaseReason != "", []action{actRelease}},
		{"completion_evidence", a.CompletionEvidence != nil, []action{actComplete}},
	} {
		fits := false
		words := make([]string, len(m.of))
		for i, of := range m.of {
			fits, words[i] = fits || of == a.Action, string(of)
		}
		if m.given && !fits {
			return badArguments("%s does not belong to the action %s, only to %s", m.name, a.Action, strings.Join(words, " and "))
		}
	}
	return nil
}

func (a *updateArgs) done(r *acop.Receipt) string {
	item := "the work item"
	if r.Claim != nil {
		item = text.ID(r.Claim.WorkItemID)
	}
	switch a.Action {
	case actRenew:
		return fmt.Sprintf("Renewed: %s is yours until %s.", item, r.Claim.ExpiresAtUTC)
	case actHeartbeat:
		return fmt.Sprintf("Noted for the lead; %s is %s.", item, r.Status)
	case actRelease:
		return fmt.Sprintf("Given back: %s is %s and no longer yours.", item, r.Status)
	}
	return fmt.Sprintf("Done: %s is %s and waits for somebody else to accept it. It is no longer yours. Find more work with %s.", item, r.Status, toolPickup)
}

// create offers a new item, and never writes over one that exists.
func (c *call) create(ctx context.Context, a *createArgs, out *workResult) (string, *acop.Error) {
	id := string(a.WorkItemID)
	var e *acop.Error
	switch d, err := c.owner.Detail(ctx, id); {
	case err == nil:
		if w := d.Item.WorkItem; w.Producer == c.who && w.Title == string(a.Title) && w.WorkKind == a.WorkKind {
			out.WorkItem = &w
			return fmt.Sprintf("%s was there already, offered by you; it is %s. Nothing was changed.", text.ID(id), w.Status), nil
		}
		return "", acop.Errorf(acop.CodeItemConflict, "there is a work item with this id already").With("work_item_id", id)
	case !errors.As(err, &e) || e.Code != acop.CodeItemNotFound:
		return "", refusalOf(err)
	}
	prepared := score(0.5)
	if a.ActionabilityScore != nil {
		prepared = *a.ActionabilityScore
	}
	w := acop.WorkItem{WorkItemID: id, ProtocolVersion: acop.ProtocolVersion, WorkKind: a.WorkKind, CreatedAtUTC: acop.NewTime(time.Now()),
		Producer: c.who, Status: acop.Status(cmp.Or(a.Status, startStatus(acop.StatusReady))), Priority: cmp.Or(a.Priority, acop.PriorityMedium),
		ActionabilityScore: float64(prepared), Title: string(a.Title), Summary: a.Summary,
		TargetRepoID: a.TargetRepoID, TargetBranch: a.TargetBranch, TargetWorktree: a.TargetWorktree, TargetAgentUID: a.TargetAgentUID,
		ParticipantAgentUIDs: a.ParticipantAgentUIDs, CorrelationID: a.CorrelationID, OwnedPaths: a.OwnedPaths, OwnedSymbols: a.OwnedSymbols}
	r, err := c.owner.Do(ctx, acop.Act{Verb: acop.VerbPut, WorkItemID: id, Document: &acop.Document{ProtocolVersion: acop.ProtocolVersion, WorkItem: w,
		Blockers: a.Blockers, Operations: a.Operations, Artifacts: a.Artifacts, ValidationRequirements: a.ValidationRequirements}})
	if err != nil {
		return "", refusalOf(err)
	}
	out.WorkItem = &r.Item.WorkItem
	return fmt.Sprintf("Offered: %s is %s.", text.ID(id), r.Status), nil
}

func (c *call) accept(ctx context.Context, a *acceptArgs, out *workResult) (string, *acop.Error) {
	r, err := c.owner.Do(ctx, acop.Act{Verb: acop.VerbAccept, WorkItemID: string(a.WorkItemID), Reason: a.AcceptanceNotes})
	if err != nil {
		return "", refusalOf(err)
	}
	out.WorkItem, out.Released = &r.Item.WorkItem, r.Released
	said := fmt.Sprintf("Accepted: %s is %s.", text.ID(string(a.WorkItemID)), r.Status)
	for _, id := range r.Released {
		said += "\nIt freed " + text.ID(id) + "."
	}
	return said, nil
}

func (c *call) post(ctx context.Context, a *postArgs, out *postResult) (string, *acop.Error) {
	e := acop.BlackboardEntry{EntryID: a.EntryID, WorkItemID: string(a.WorkItemID), EntryKind: a.EntryKind, AuthorAgentUID: c.who,
		CreatedAtUTC: acop.NewTime(time.Now()), Status: cmp.Or(a.Status, acop.EntryActive), Summary: string(a.Summary), Details: a.Details,
		ArtifactIDs: a.ArtifactIDs, OperationIDs: a.OperationIDs, Confidence: (*float64)(a.Confidence), SupersedesEntryIDs: a.SupersedesEntryIDs}
	r, err := c.owner.Do(ctx, acop.Act{Verb: acop.VerbPost, WorkItemID: e.WorkItemID, Entry: &e})
	if err != nil {
		refused := refusalOf(err)
		if there := c.posted(ctx, &e, refused); there != nil {
			out.Entry = there
			return fmt.Sprintf("%s was there already, posted by you. Nothing was changed.", text.ID(e.EntryID)), nil
		}
		return "", refused
	}
	out.Entry = r.Entry
	return fmt.Sprintf("Posted as %s to %s.", text.ID(r.Entry.EntryID), text.ID(e.WorkItemID)), nil
}

// posted is the entry that stands in the way of e, if it is the same but for the time:
// an agent that was cut off posts again.
func (c *call) posted(ctx context.Context, e *acop.BlackboardEntry, refused *acop.Error) *acop.BlackboardEntry {
	if refused.Code != acop.CodeEntryExists || e.EntryID == "" {
		return nil
	}
	entries, err := c.owner.Entries(ctx, EntryQuery{EntryID: e.EntryID, Newest: 1})
	if err != nil || len(entries) != 1 {
		return nil
	}
	there := entries[0].Entry
	same := *e
	same.CreatedAtUTC = there.CreatedAtUTC
	was, err := json.Marshal(there)
	is, err2 := json.Marshal(same)
	if err != nil || err2 != nil || !bytes.Equal(was, is) {
		return nil
	}
	return &there
}
