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

// actFlags are the flags that the acts share; each command shows those that its row
// of the table names.
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
	severity   string
	dependsOn  string
	by         string
	evidence   []string
	progress   string
	ifRevision uint64
}

// why is the flag for the words that go with an act.
type why struct {
	name, help string
	must       bool // others will read it: it cannot be left out
}

// workAct describes one act on a work item as a command.
type workAct struct {
	use, short, example string
	done                string // the past tense, for the sentence
	verb                acop.Verb
	// from are the statuses of items that a shell proposes; none means all.
	from []acop.Status
	why  why
	// flags adds what the act needs beside why; nil for nothing.
	flags func(*pflag.FlagSet, *actFlags)
	// check says what is wrong with the flags alone, before anybody is asked; nil for
	// nothing.
	check func(*actFlags) error
	// fill completes the act, which has verb, item and reason already, by the item as
	// it stands, or says why it cannot be; nil where nothing is missing.
	fill func(*acop.Detail, *actFlags, *acop.Act) error
	// mine marks the acts of the holder: the token must be a worker's, and the item
	// held by it.
	mine bool
	// leads marks the acts on claims that only who leads may do: without its token
	// what there is to decide is no matter, and no answer.
	leads bool
	// after goes on when the act is done and may add to the receipt; nil for nothing.
	after func(context.Context, *work, *actFlags, *acop.Receipt) error
}

// command builds the command of a: it reads the item, decides on what it read
// and sends that revision along, so that the act cannot land on something else.
func (a *workAct) command(g *globals) *cobra.Command {
	f := &actFlags{}
	cmd := &cobra.Command{
		Use:   a.use + " WORK_ITEM_ID",
		Short: a.short, Example: a.example,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: g.completeItems(a.from...),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.workAct(cmd.Context(), a, f, args[0])
		},
	}
	fl := cmd.Flags()
	if a.flags != nil {
		a.flags(fl, f)
	}
	if a.why.name != "" {
		fl.StringVar(&f.reason, a.why.name, "", a.why.help)
	}
	if a.verb != acop.VerbPost { // an entry changes nothing that could have moved on
		fl.Uint64Var(&f.ifRevision, "if-revision", 0, "only if the item is still at this revision (default: as it stands)")
	}
	return cmd
}

func (g *globals) workAct(ctx context.Context, a *workAct, f *actFlags, id string) error {
	what := a.use + " " + id
	if err := a.flagsWrong(f); err != nil {
		return failf(exitUsage, "%s: %w", text.Line(what), err)
	}
	w, done, err := g.openWork(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	d, err := w.c.Detail(ctx, id)
	switch {
	case err != nil:
	case a.mine:
		err = w.mustHold(ctx, d)
	case a.leads:
		err = w.mustLead(ctx)
	}
	if err != nil {
		return workError(what, err)
	}
	act, err := a.on(d, f)
	if err != nil {
		return workError(what, err)
	}
	r, err := w.c.Do(ctx, act)
	if err != nil {
		return workError(what, withMissing(d, err))
	}
	var later error
	if a.after != nil {
		later = a.after(ctx, w, f, r)
	}
	return errors.Join(w.told(r, "%s %s%s", a.done, text.ID(id), outcome(id, r)), later)
}

// mustLead refuses where the token is not that of somebody who leads.
func (w *work) mustLead(ctx context.Context) error {
	s, err := w.c.Snapshot(ctx)
	if err != nil || s.Role.LeadVerbs() {
		return err
	}
	return acop.Errorf(acop.CodeForbidden, "only a lead or an orchestrator does this, and the token is that of %s, whose role is %s; give a lead's with --token-file",
		text.ID(s.Identity), text.ID(string(s.Role)))
}

// flagsWrong says what is wrong with the flags, whatever the item is; nil for nothing.
func (a *workAct) flagsWrong(f *actFlags) error {
	if a.why.must && strings.TrimSpace(f.reason) == "" {
		return fmt.Errorf("--%s is missing: say why, others will read it", a.why.name)
	}
	if a.check == nil {
		return nil
	}
	return a.check(f)
}

// on is the act on the item as it stands.
func (a *workAct) on(d *acop.Detail, f *actFlags) (acop.Act, error) {
	act := acop.Act{Verb: a.verb, WorkItemID: d.Item.ID(), Reason: f.reason, IfRevision: f.ifRevision}
	if act.IfRevision == 0 {
		act.IfRevision = d.Item.Revision
	}
	if a.fill == nil {
		return act, nil
	}
	err := a.fill(d, f, &act)
	return act, err
}

// outcome words what an act on an item came to.
func outcome(id string, r *acop.Receipt) string {
	var b strings.Builder
	switch it := r.Item; {
	case it != nil && it.ID() != id: // the successor of work that was sent back
		fmt.Fprintf(&b, ": it goes on as %s, %s", text.ID(it.ID()), it.Status())
	case r.Status != "":
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
