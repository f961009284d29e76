package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"signalbox/model/acop"
	"signalbox/model/text"
)

// waiting is the intent that waits for a lead; "" when there is none or it is
// not clear which is meant.
func waiting(d *acop.Detail, worker string) (string, error) {
	var ids []string
	for _, n := range d.Item.Intents {
		if n.State == acop.IntentWaiting && (worker == "" || n.ClaimIntent.WorkerAgentUID == worker) {
			ids = append(ids, n.ClaimIntent.ClaimIntentID)
		}
	}
	if len(ids) > 1 {
		return "", fmt.Errorf("%d workers wait for this item; say whom you mean with --to", len(ids))
	}
	return strings.Join(ids, ""), nil
}

// grantTTL is the term of a lease that nobody asked for.
const grantTTL = 15 * time.Minute

func fillGrant(d *acop.Detail, f *actFlags, act *acop.Act) error {
	if f.ttl < 0 || f.ttl > 0 && f.ttl < time.Second {
		return errors.New("--ttl must be at least 1s")
	}
	intent, err := waiting(d, f.to)
	act.TTLSeconds = int64(f.ttl / time.Second)
	switch {
	case err != nil:
		return err
	case intent != "":
		act.IntentID = intent
		return nil
	case f.to == "":
		return errors.New("nobody waits for this item; name a worker with --to")
	case f.reason != "":
		return fmt.Errorf("--reason goes with a waiting request, and %s has not asked", text.ID(f.to))
	}
	act.Verb, act.Worker = acop.VerbClaim, f.to
	if act.TTLSeconds == 0 {
		act.TTLSeconds = int64(grantTTL / time.Second)
	}
	return nil
}

func fillDeny(d *acop.Detail, f *actFlags, act *acop.Act) (err error) {
	if act.IntentID, err = waiting(d, f.to); err == nil && act.IntentID == "" {
		err = errors.New("nobody waits for this item")
	}
	return err
}

func fillRevoke(d *acop.Detail, f *actFlags, act *acop.Act) error {
	if d.Item.Lease == nil {
		return acop.Errorf(acop.CodeNotActionable, "nobody holds it; it is %s", d.Item.Status())
	}
	act.ClaimID = d.Item.Lease.Claim.ClaimID
	if f.claim != "" && f.claim != act.ClaimID {
		return acop.Errorf(acop.CodeNotActionable, "it is held under another claim now")
	}
	if f.hold {
		act.Disposition = acop.StatusReleased
	}
	return nil
}

func fillSendBack(_ *acop.Detail, f *actFlags, act *acop.Act) error {
	act.WorkKind = acop.WorkKind(f.kind)
	return nil
}

func fillResolve(_ *acop.Detail, f *actFlags, act *acop.Act) error {
	act.Decision = acop.Status(f.to)
	switch act.Decision {
	case acop.StatusReady:
	case acop.StatusBlocked:
		act.Blocker = &acop.Blocker{BlockerCode: f.code, Severity: acop.SeverityMedium, Summary: firstOf(f.summary, f.reason)}
	default:
		return fmt.Errorf("--to must be ready or blocked, not %q", f.to)
	}
	return nil
}

func fillPost(d *acop.Detail, f *actFlags, act *acop.Act) error {
	act.Entry = &acop.BlackboardEntry{
		WorkItemID: d.Item.ID(), EntryKind: acop.EntryKind(f.kind), Summary: f.summary,
		Details: f.details, SupersedesEntryIDs: f.supersedes,
	}
	if !act.Entry.EntryKind.Valid() {
		return fmt.Errorf("%q is not a kind of entry; the kinds are %s", f.kind, names(acop.EntryKinds()))
	}
	if strings.TrimSpace(f.summary) == "" {
		return errors.New("--summary is missing")
	}
	act.IfRevision = 0 // an entry changes nothing that could have moved on
	return nil
}

func fillBlock(_ *acop.Detail, f *actFlags, act *acop.Act) error {
	b := &acop.Blocker{BlockerCode: f.code, Severity: acop.Severity(f.severity), Summary: f.summary, DependsOnWorkItemID: f.dependsOn}
	switch {
	case !b.Severity.Valid():
		return fmt.Errorf("--severity must be low, medium, high or critical, not %q", f.severity)
	case strings.TrimSpace(f.summary) == "":
		return errors.New("--summary is missing: say what it waits for")
	case b.BlockerCode == "" && f.dependsOn != "":
		b.BlockerCode = acop.BlockerDependency
	case b.BlockerCode == "":
		b.BlockerCode = acop.BlockerExternalDecision
	}
	act.Blocker = b
	return nil
}

func fillUnblock(d *acop.Detail, f *actFlags, act *acop.Act) error {
	act.BlockerCode = f.code
	switch n := len(d.Item.Blockers); {
	case n == 0:
		return acop.Errorf(acop.CodeNotActionable, "it has no blocker; it is %s", d.Item.Status())
	case f.code != "":
	case n == 1:
		act.BlockerCode = d.Item.Blockers[0].BlockerCode
	default:
		return fmt.Errorf("%d blockers are on this item; say which with --blocker", n)
	}
	return nil
}

func fillSupersede(_ *acop.Detail, f *actFlags, act *acop.Act) error {
	if f.by == "" {
		return errors.New("--by is missing: name the work item that takes its place")
	}
	act.SupersededBy = f.by
	return nil
}
