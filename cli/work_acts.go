package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"signalbox/model/acop"
	"signalbox/model/text"
)

// actFlags are the flags that the lead's acts share; each command shows those
// that it knows.
type actFlags struct {
	reason     string
	to         string
	ttl        time.Duration
	hold       bool
	claim      string
	kind       string
	summary    string
	details    string
	supersedes []string
	code       string
	ifRevision uint64
}

// workAct describes one act on a work item as a command.
type workAct struct {
	use, short, example string
	flags               func(*cobra.Command, *actFlags)
	// make turns the item as it stands into the act, or says why not.
	make func(*acop.Detail, *actFlags) (acop.Act, error)
	done string // the past tense, for the sentence
}

// command builds the command of a: it reads the item, decides on what it read
// and sends that revision along, so that the act cannot land on something else.
func (a *workAct) command(g *globals) *cobra.Command {
	f := &actFlags{}
	cmd := &cobra.Command{
		Use:   a.use + " WORK_ITEM_ID",
		Short: a.short, Example: a.example,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.workAct(cmd.Context(), a, f, args[0])
		},
	}
	a.flags(cmd, f)
	cmd.Flags().Uint64Var(&f.ifRevision, "if-revision", 0, "only if the item is still at this revision (default: as it stands)")
	return cmd
}

func (g *globals) workAct(ctx context.Context, a *workAct, f *actFlags, id string) error {
	w, done, err := g.openWork(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	what := strings.Fields(a.use)[0] + " " + id
	d, err := w.c.Detail(ctx, id)
	if err != nil {
		return workError(what, err)
	}
	act, err := a.make(d, f)
	if err != nil {
		return workError(what, err)
	}
	if act.IfRevision = f.ifRevision; act.IfRevision == 0 {
		act.IfRevision = d.Item.Revision
	}
	if act.Verb == acop.VerbPost {
		act.IfRevision = 0 // an entry changes nothing that could have moved on
	}
	r, err := w.c.Do(ctx, act)
	if err != nil {
		return workError(what, err)
	}
	return w.told(r, "%s %s%s", a.done, text.ID(id), outcome(r))
}

// outcome words what an act came to.
func outcome(r *acop.Receipt) string {
	var b strings.Builder
	if r.Status != "" {
		b.WriteString(": " + string(r.Status))
	}
	if c := r.Claim; c != nil && c.ClaimStatus == acop.ClaimActive {
		fmt.Fprintf(&b, " by %s until %s (%s)", text.ID(c.WorkerAgentUID), c.ExpiresAtUTC, withKind("claim", c.ClaimID))
	} else if c != nil {
		fmt.Fprintf(&b, ", the claim of %s is %s", text.ID(c.WorkerAgentUID), c.ClaimStatus)
	}
	if len(r.Released) > 0 {
		b.WriteString(", now ready: " + text.ID(strings.Join(r.Released, " ")))
	}
	if r.Entry != nil {
		b.WriteString(", " + withKind("entry", r.Entry.EntryID))
	}
	return b.String()
}

func reasonFlag(name, help string) func(*cobra.Command, *actFlags) {
	return func(cmd *cobra.Command, f *actFlags) {
		cmd.Flags().StringVar(&f.reason, name, "", help)
	}
}

// reasoned refuses an act that needs words and got none.
func reasoned(flag string, f *actFlags) error {
	if strings.TrimSpace(f.reason) == "" {
		return fmt.Errorf("--%s is missing: say why, others will read it", flag)
	}
	return nil
}

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

func newWorkGrant(g *globals) *cobra.Command {
	return (&workAct{
		use: "grant", short: "Grant the waiting request for an item, or the item to --to WORKER", done: "granted",
		flags: func(cmd *cobra.Command, f *actFlags) {
			cmd.Flags().StringVar(&f.to, "to", "", "identity of the worker")
			cmd.Flags().DurationVar(&f.ttl, "ttl", 0, "term of the lease (default: as asked for, or 15m)")
			cmd.Flags().StringVar(&f.reason, "reason", "", "why a waiting request is granted, for the log")
		},
		make: func(d *acop.Detail, f *actFlags) (acop.Act, error) {
			if f.ttl < 0 || f.ttl > 0 && f.ttl < time.Second {
				return acop.Act{}, fmt.Errorf("--ttl must be at least 1s")
			}
			ttl := int64(f.ttl / time.Second)
			intent, err := waiting(d, f.to)
			switch {
			case err != nil:
				return acop.Act{}, err
			case intent != "":
				return acop.Act{Verb: acop.VerbGrant, WorkItemID: d.Item.ID(), IntentID: intent, TTLSeconds: ttl, Reason: f.reason}, nil
			case f.to == "":
				return acop.Act{}, fmt.Errorf("nobody waits for this item; name a worker with --to")
			}
			if f.reason != "" {
				return acop.Act{}, fmt.Errorf("--reason goes with a waiting request, and %s has not asked", text.ID(f.to))
			}
			if ttl == 0 {
				ttl = 900
			}
			return acop.Act{Verb: acop.VerbClaim, WorkItemID: d.Item.ID(), Worker: f.to, TTLSeconds: ttl}, nil
		},
	}).command(g)
}

func newWorkDeny(g *globals) *cobra.Command {
	return (&workAct{
		use: "deny", short: "Deny the waiting request for an item", done: "denied the request for",
		flags: func(cmd *cobra.Command, f *actFlags) {
			cmd.Flags().StringVar(&f.to, "to", "", "identity of the worker, where several wait")
			cmd.Flags().StringVar(&f.reason, "reason", "", "why; the worker reads it")
		},
		make: func(d *acop.Detail, f *actFlags) (acop.Act, error) {
			if err := reasoned("reason", f); err != nil {
				return acop.Act{}, err
			}
			intent, err := waiting(d, f.to)
			if err == nil && intent == "" {
				err = fmt.Errorf("nobody waits for this item")
			}
			return acop.Act{Verb: acop.VerbDeny, WorkItemID: d.Item.ID(), IntentID: intent, Reason: f.reason}, err
		},
	}).command(g)
}

func newWorkRevoke(g *globals) *cobra.Command {
	return (&workAct{
		use: "revoke", short: "Take the claim on an item back", done: "revoked the claim on",
		flags: func(cmd *cobra.Command, f *actFlags) {
			cmd.Flags().StringVar(&f.reason, "reason", "", "why; the worker reads it")
			cmd.Flags().BoolVar(&f.hold, "hold", false, "keep the item off the market (released) until it is requeued")
			cmd.Flags().StringVar(&f.claim, "claim", "", "only if this is the claim")
		},
		make: func(d *acop.Detail, f *actFlags) (acop.Act, error) {
			if err := reasoned("reason", f); err != nil {
				return acop.Act{}, err
			}
			if d.Item.Lease == nil {
				return acop.Act{}, acop.Errorf(acop.CodeNotActionable, "nobody holds it; it is %s", d.Item.Status())
			}
			id := d.Item.Lease.Claim.ClaimID
			if f.claim != "" && f.claim != id {
				return acop.Act{}, acop.Errorf(acop.CodeNotActionable, "it is held under another claim now")
			}
			act := acop.Act{Verb: acop.VerbRevoke, WorkItemID: d.Item.ID(), ClaimID: id, Reason: f.reason}
			if f.hold {
				act.Disposition = acop.StatusReleased
			}
			return act, nil
		},
	}).command(g)
}

func newWorkCancel(g *globals) *cobra.Command {
	return (&workAct{
		use: "cancel", short: "Cancel an item for good", done: "cancelled",
		flags: reasonFlag("reason", "why; it stands in the log"),
		make: func(d *acop.Detail, f *actFlags) (acop.Act, error) {
			return acop.Act{Verb: acop.VerbCancel, WorkItemID: d.Item.ID(), Reason: f.reason}, reasoned("reason", f)
		},
	}).command(g)
}

func newWorkAccept(g *globals) *cobra.Command {
	return (&workAct{
		use: "accept", short: "Accept completed work on its evidence", done: "accepted",
		flags: reasonFlag("notes", "notes for the log"),
		make: func(d *acop.Detail, f *actFlags) (acop.Act, error) {
			return acop.Act{Verb: acop.VerbAccept, WorkItemID: d.Item.ID(), Reason: f.reason}, nil
		},
	}).command(g)
}

func newWorkSendBack(g *globals) *cobra.Command {
	return (&workAct{
		use: "send-back", short: "Refuse completed work; a successor carries the reason", done: "sent back",
		flags: func(cmd *cobra.Command, f *actFlags) {
			cmd.Flags().StringVar(&f.reason, "reason", "", "what is wrong; it goes to the successor")
			cmd.Flags().StringVar(&f.kind, "kind", "", "work_kind of the successor: repair (default) or handoff_followup")
		},
		make: func(d *acop.Detail, f *actFlags) (acop.Act, error) {
			return acop.Act{Verb: acop.VerbSendBack, WorkItemID: d.Item.ID(), Reason: f.reason, WorkKind: acop.WorkKind(f.kind)}, reasoned("reason", f)
		},
	}).command(g)
}

func newWorkResolve(g *globals) *cobra.Command {
	return (&workAct{
		use: "resolve", short: "Decide an item that requires attention", done: "resolved",
		flags: func(cmd *cobra.Command, f *actFlags) {
			cmd.Flags().StringVar(&f.to, "to", "ready", "ready or blocked")
			cmd.Flags().StringVar(&f.reason, "note", "", "the decision; it becomes an entry on the blackboard")
			cmd.Flags().StringVar(&f.code, "blocker", acop.BlockerExternalDecision, "with --to blocked: the blocker code")
			cmd.Flags().StringVar(&f.summary, "blocker-summary", "", "with --to blocked: what it waits for (default: the note)")
		},
		make: func(d *acop.Detail, f *actFlags) (acop.Act, error) {
			act := acop.Act{Verb: acop.VerbResolve, WorkItemID: d.Item.ID(), Reason: f.reason, Decision: acop.Status(f.to)}
			switch act.Decision {
			case acop.StatusReady:
			case acop.StatusBlocked:
				act.Blocker = &acop.Blocker{BlockerCode: f.code, Severity: acop.SeverityMedium, Summary: firstOf(f.summary, f.reason)}
			default:
				return act, fmt.Errorf("--to must be ready or blocked, not %q", f.to)
			}
			return act, reasoned("note", f)
		},
	}).command(g)
}

func newWorkPost(g *globals) *cobra.Command {
	return (&workAct{
		use: "post", short: "Post an entry on the blackboard of an item", done: "posted on",
		flags: func(cmd *cobra.Command, f *actFlags) {
			cmd.Flags().StringVar(&f.kind, "kind", string(acop.EntryFinding), "one of "+names(acop.EntryKinds()))
			cmd.Flags().StringVar(&f.summary, "summary", "", "one line")
			cmd.Flags().StringVar(&f.details, "details", "", "the rest")
			cmd.Flags().StringArrayVar(&f.supersedes, "supersedes", nil, "id of an entry this one replaces (repeatable)")
		},
		make: func(d *acop.Detail, f *actFlags) (acop.Act, error) {
			e := &acop.BlackboardEntry{
				WorkItemID: d.Item.ID(), EntryKind: acop.EntryKind(f.kind), Summary: f.summary,
				Details: f.details, SupersedesEntryIDs: f.supersedes,
			}
			if !e.EntryKind.Valid() {
				return acop.Act{}, fmt.Errorf("%q is not a kind of entry; the kinds are %s", f.kind, names(acop.EntryKinds()))
			}
			if strings.TrimSpace(f.summary) == "" {
				return acop.Act{}, fmt.Errorf("--summary is missing")
			}
			return acop.Act{Verb: acop.VerbPost, WorkItemID: d.Item.ID(), Entry: e}, nil
		},
	}).command(g)
}
