package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"signalbox/model/acop"
	"signalbox/model/text"
)

// workerActs are the acts of whoever holds an item, for a worker that has nothing
// but a shell. Which claim is meant the owner knows: nothing is kept in between.
var workerActs = []workAct{
	{
		use: "renew", short: "Prolong the lease of an item you hold", done: "renewed",
		example: "  signalbox work renew work:shop/checkout --ttl 30m",
		verb:    acop.VerbRenew, from: heldStatuses, mine: true,
		why: why{name: "note", help: "how far the work is, for the lead"},
		flags: func(fl *pflag.FlagSet, f *actFlags) {
			fl.DurationVar(&f.ttl, "ttl", 0, "term from now on (default: the term it has)")
		},
		fill: fillRenew,
	},
	{
		use: "heartbeat", short: "Report how far an item you hold is", done: "noted on",
		example: "  signalbox work heartbeat work:shop/checkout --note 'the tests of pay pass, mail is next'",
		verb:    acop.VerbHeartbeat, from: heldStatuses, mine: true,
		why: why{name: "note", help: "how far the work is, for the lead"},
		flags: func(fl *pflag.FlagSet, f *actFlags) {
			fl.StringVar(&f.progress, "progress", "working", "the state of the work in one word, such as testing, waiting or stuck")
		},
		fill: fillHeartbeat,
	},
	{
		use: "release", short: "Give an item you hold back", done: "released",
		example: "  signalbox work release work:shop/checkout --reason 'needs a key I do not have'",
		verb:    acop.VerbRelease, from: heldStatuses, mine: true,
		why:  why{name: "reason", help: "why; the lead and the next worker read it", must: true},
		fill: fillHeld,
	},
	{
		use: "complete", short: "Say that an item you hold is done, with its evidence", done: "completed",
		example: "  signalbox work complete work:shop/checkout --evidence validation=r1 \\\n" +
			"      --evidence artifact=art:patch-7 --summary 'cards are charged once; the retry has a key'",
		verb: acop.VerbComplete, from: heldStatuses, mine: true,
		flags: func(fl *pflag.FlagSet, f *actFlags) {
			fl.StringArrayVar(&f.evidence, "evidence", nil, evidenceHelp)
			fl.StringVar(&f.summary, "summary", "", "what was done; it becomes an entry on the blackboard")
		},
		fill: fillComplete, after: postSummary,
	},
}

var heldStatuses = []acop.Status{acop.StatusClaimed, acop.StatusInProgress}

const evidenceHelp = "validation=REQUIREMENT_ID for what you have verified, artifact=ARTIFACT_ID for what you made (repeatable)"

// worker is who the token speaks for, if that is a worker: what a lead does, a lead
// answers for, and would hold the item in the lead's name.
func (w *work) worker(ctx context.Context) (string, error) {
	s, err := w.c.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	if s.Role != acop.RoleWorker {
		return "", failf(exitUsage, "only a worker does this, and the token is that of %s, whose role is %s; give a worker's with --token-file (`signalbox token add NAME --role worker` makes one)",
			text.ID(s.Identity), text.ID(string(s.Role)))
	}
	return s.Identity, nil
}

// mustHold refuses where the item is not held by the worker that asks, and says what
// became of its claim.
func (w *work) mustHold(ctx context.Context, d *acop.Detail) error {
	me, err := w.worker(ctx)
	if err != nil {
		return err
	}
	if h := d.Item.Holder(); h == me {
		return nil
	} else if h != "" {
		return acop.Errorf(acop.CodeClaimConflict, "%s, until %s", text.ID(h), d.Item.Lease.Claim.ExpiresAtUTC)
	}
	for i := len(d.Claims) - 1; i >= 0; i-- {
		if c := &d.Claims[i]; c.WorkerAgentUID == me {
			return goneClaim(d, c)
		}
	}
	return acop.Errorf(acop.CodeNotActionable, "you do not hold it; it is %s; `signalbox work claim` asks for it", d.Item.Status())
}

// goneClaim is the refusal for a claim that has ended.
func goneClaim(d *acop.Detail, c *acop.Claim) error {
	code := acop.CodeLeaseExpired
	switch c.ClaimStatus {
	case acop.ClaimReleased:
		code = acop.CodeClaimReleased
	case acop.ClaimRevoked:
		code = acop.CodeClaimRevoked
	}
	return acop.Errorf(code, "%s; the item is %s", endWords(d, c), d.Item.Status())
}

// endWords says how a claim ended, by whom and why, as far as the item's events tell.
func endWords(d *acop.Detail, c *acop.Claim) string {
	for i := len(d.Events) - 1; i >= 0; i-- {
		if e := &d.Events[i]; endsClaim(e, c.ClaimID) {
			return eventEnd(e, c.ClaimStatus)
		}
	}
	if c.ClaimStatus == acop.ClaimExpired {
		return "it ran out at " + c.ExpiresAtUTC.String()
	}
	return "it is " + string(c.ClaimStatus)
}

// endsClaim reports whether e tells the end of the claim: of itself, or together with
// its item.
func endsClaim(e *acop.Event, claimID string) bool {
	if e.Claim != nil && e.Claim.ClaimID == claimID {
		return e.Claim.ClaimStatus != acop.ClaimActive
	}
	return e.Verb == string(acop.VerbCancel) || e.Verb == string(acop.VerbSupersede)
}

// eventEnd words the end of a claim that e tells.
func eventEnd(e *acop.Event, how acop.ClaimStatus) string {
	if how == acop.ClaimExpired {
		return "it ran out at " + e.AtUTC.String()
	}
	did := string(how)
	switch verb := acop.Verb(e.Verb); verb {
	case acop.VerbComplete:
		did = "completed"
	case acop.VerbCancel:
		did = "the item was cancelled"
	case acop.VerbSupersede:
		did = "the item was superseded"
	}
	return did + " by " + text.ID(e.Actor) + because(e.Reason)
}

// fillHeld names the claim. The id of the claim guards the act, so that the revision
// of the item, which every note moves on, does not have to.
func fillHeld(d *acop.Detail, f *actFlags, act *acop.Act) error {
	act.ClaimID, act.IfRevision = d.Item.Lease.Claim.ClaimID, f.ifRevision
	return nil
}

func fillRenew(d *acop.Detail, f *actFlags, act *acop.Act) error {
	if f.ttl != 0 && f.ttl < time.Second {
		return errors.New("--ttl must be at least 1s")
	}
	act.TTLSeconds = int64(f.ttl / time.Second)
	return fillHeld(d, f, act)
}

func fillHeartbeat(d *acop.Detail, f *actFlags, act *acop.Act) error {
	if strings.TrimSpace(f.reason) == "" {
		return errors.New("--note is missing: say how far the work is")
	}
	act.ProgressStatus = f.progress
	return fillHeld(d, f, act)
}

func fillComplete(d *acop.Detail, f *actFlags, act *acop.Act) (err error) {
	if act.Evidence, err = evidenceOf(f.evidence); err != nil {
		return err
	}
	return fillHeld(d, f, act)
}

// evidenceOf reads the values of --evidence.
func evidenceOf(words []string) (*acop.CompletionEvidence, error) {
	ev := &acop.CompletionEvidence{}
	for _, word := range words {
		kind, ref, _ := strings.Cut(word, "=")
		switch {
		case ref == "":
		case kind == "validation":
			ev.ValidationResults = append(ev.ValidationResults, ref)
			continue
		case kind == "artifact":
			ev.ArtifactIDs = append(ev.ArtifactIDs, ref)
			continue
		}
		return nil, fmt.Errorf("--evidence needs validation=REQUIREMENT_ID or artifact=ARTIFACT_ID, not %q", text.Clip(text.Line(word), 40))
	}
	return ev, nil
}

// withMissing adds to a refusal for lack of evidence what each missing requirement
// asks for.
func withMissing(d *acop.Detail, err error) error {
	var e *acop.Error
	if !errors.As(err, &e) || e.Code != acop.CodeValidationRequired {
		return err
	}
	told := *e
	ids, _ := e.Details["missing_requirement_ids"].([]any)
	for _, id := range ids {
		told.Message += "; missing: " + fmt.Sprint(id)
		for _, r := range d.Item.ValidationRequirements {
			if r.RequirementID == id {
				told.Message += because(r.Summary)
			}
		}
	}
	return &told
}

// postSummary leaves what was done on the blackboard of the completed item.
func postSummary(ctx context.Context, w *work, f *actFlags, r *acop.Receipt) error {
	if strings.TrimSpace(f.summary) == "" {
		return nil
	}
	posted, err := w.postNote(ctx, r.Claim.WorkItemID, f.summary, "")
	if err != nil {
		return workError("the item is completed, but its summary is not posted", err)
	}
	r.Entry = posted
	return nil
}

// postNote posts what those who build on the work should know.
func (w *work) postNote(ctx context.Context, item, summary, details string) (*acop.BlackboardEntry, error) {
	r, err := w.c.Do(ctx, acop.Act{Verb: acop.VerbPost, WorkItemID: item, Entry: &acop.BlackboardEntry{
		WorkItemID: item, EntryKind: acop.EntryIntegrationNote, Summary: summary, Details: details}})
	if err != nil {
		return nil, err
	}
	return r.Entry, nil
}

// workerCommands are the commands of a worker.
func workerCommands(g *globals) []*cobra.Command {
	all := []*cobra.Command{newWorkPickup(g), newWorkClaim(g), newWorkRun(g)}
	for i := range workerActs {
		all = append(all, workerActs[i].command(g))
	}
	return all
}
