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

func checkGrant(f *actFlags) error {
	if f.ttl < 0 || f.ttl > 0 && f.ttl < time.Second {
		return errors.New("--ttl must be at least 1s")
	}
	return nil
}

func fillGrant(d *acop.Detail, f *actFlags, act *acop.Act) error {
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

func checkSendBack(f *actFlags) error {
	switch acop.WorkKind(f.kind) {
	case "", acop.KindRepair, acop.KindHandoffFollowup:
		return nil
	}
	return fmt.Errorf("--kind must be %s or %s, not %s", acop.KindRepair, acop.KindHandoffFollowup, shown(f.kind))
}

func fillSendBack(_ *acop.Detail, f *actFlags, act *acop.Act) error {
	act.WorkKind = acop.WorkKind(f.kind)
	return nil
}

func checkResolve(f *actFlags) error {
	switch to := acop.Status(f.to); {
	case to != acop.StatusReady && to != acop.StatusBlocked:
		return fmt.Errorf("--to must be ready or blocked, not %s", shown(f.to))
	case to == acop.StatusReady && f.code+f.summary != "":
		return errors.New("--blocker and --blocker-summary go with --to blocked")
	}
	return nil
}

func fillResolve(_ *acop.Detail, f *actFlags, act *acop.Act) error {
	if act.Decision = acop.Status(f.to); act.Decision == acop.StatusBlocked {
		act.Blocker = &acop.Blocker{BlockerCode: firstOf(f.code, acop.BlockerExternalDecision), Severity: acop.SeverityMedium, Summary: firstOf(f.summary, f.reason)}
	}
	return nil
}

func checkPost(f *actFlags) error {
	switch {
	case !acop.EntryKind(f.kind).Valid():
		return fmt.Errorf("--kind %s is not a kind of entry; the kinds are %s", shown(f.kind), names(acop.EntryKinds()))
	case strings.TrimSpace(f.summary) == "":
		return errors.New("--summary is missing: say it in one line")
	}
	return nil
}

func fillPost(d *acop.Detail, f *actFlags, act *acop.Act) error {
	act.Entry = &acop.BlackboardEntry{
		WorkItemID: d.Item.ID(), EntryKind: acop.EntryKind(f.kind), Summary: f.summary,
		Details: f.details, SupersedesEntryIDs: f.supersedes,
	}
	act.IfRevision = 0 // an entry changes nothing that could have moved on
	return nil
}

func checkBlock(f *actFlags) error {
	switch {
	case !acop.Severity(f.severity).Valid():
		return fmt.Errorf("--severity must be low, medium, high or critical, not %s", shown(f.severity))
	case strings.TrimSpace(f.summary) == "":
		return errors.New("--summary is missing: say what it waits for")
	}
	return nil
}

func fillBlock(_ *acop.Detail, f *actFlags, act *acop.Act) error {
	code := firstOf(f.code, acop.BlockerExternalDecision)
	if f.code == "" && f.dependsOn != "" {
		code = acop.BlockerDependency
	}
	act.Blocker = &acop.Blocker{BlockerCode: code, Severity: acop.Severity(f.severity), Summary: f.summary, DependsOnWorkItemID: f.dependsOn}
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

func checkSupersede(f *actFlags) error {
	if f.by == "" {
		return errors.New("--by is missing: name the work item that takes its place")
	}
	return nil
}

func fillSupersede(_ *acop.Detail, f *actFlags, act *acop.Act) error {
	act.SupersededBy = f.by
	return nil
}
