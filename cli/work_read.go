package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/model/text"
)

// listFlags are the flags of `work list`.
type listFlags struct {
	q      client.Query
	status []string
	with   string
}

func newWorkList(g *globals) *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List work items, the latest first",
		Long: `List work items, one a line: the latest first by created_at_utc; of one instant the
higher actionability_score first, then by id. With --order score or priority that comes
first, and the rest as before. Long ids lose their middle and long titles their end; a
blocker code that stands several times is counted; --json prints all of everything.`,
		Example: "  signalbox work list --status requires_attention --status completed\n" +
			"  signalbox work list --agent agent:kestrel --actionable --json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.workList(cmd.Context(), f) },
	}
	f.register(cmd.Flags())
	cmd.Flags().StringVar(&f.q.Order, "order", "", "latest (default), score or priority")
	cmd.Flags().IntVar(&f.q.Limit, "limit", 100, "at most this many")
	return cmd
}

// register adds the flags that select work items.
func (f *listFlags) register(fl *pflag.FlagSet) {
	fl.StringArrayVar(&f.status, "status", nil, "only items in this status (repeatable)")
	fl.StringVar(&f.q.Agent, "agent", "", "only items for this identity")
	fl.StringVar(&f.with, "with", "", "with --agent: only items both take part in")
	fl.StringVar(&f.q.Repo, "repo", "", "only items of this target_repo_id")
	fl.StringVar(&f.q.Branch, "branch", "", "only items of this target_branch")
	fl.StringVar(&f.q.BlockerCode, "blocker", "", "only items blocked on this code")
	fl.BoolVar(&f.q.Claimable, "claimable", false, "only items that can be claimed now")
	fl.BoolVar(&f.q.Actionable, "actionable", false, "only items that are ready (for --agent)")
	fl.StringVar(&f.q.Text, "text", "", "only items that contain this text")
}

// settle turns the flags into the query, or says what is wrong with them.
func (f *listFlags) settle() error {
	for _, s := range f.status {
		st := acop.Status(s)
		if !st.Valid() {
			return failf(exitUsage, "%q is not a status of a work item; the statuses are %s", text.Clip(text.Line(s), 40), names(acop.Statuses()))
		}
		f.q.Status = append(f.q.Status, st)
	}
	switch {
	case !slices.Contains([]string{"", "latest", "score", "priority"}, f.q.Order):
		return failf(exitUsage, "--order must be latest, score or priority, not %q", text.Clip(text.Line(f.q.Order), 40))
	case f.with != "" && f.q.Agent == "":
		return failf(exitUsage, "--with needs --agent")
	case f.with != "":
		f.q.Between, f.q.Agent = [2]string{f.q.Agent, f.with}, ""
	}
	return nil
}

// settlePage is settle for a command whose rows are limited by a flag.
func (f *listFlags) settlePage() error {
	if err := f.settle(); err != nil {
		return err
	}
	if f.q.Limit < 1 {
		return failf(exitUsage, "--limit must be at least 1")
	}
	return nil
}

// workList reads pages until limit or the end.
func (g *globals) workList(ctx context.Context, f *listFlags) error {
	if err := f.settlePage(); err != nil {
		return err
	}
	w, done, err := g.openWork(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	all, err := w.list(ctx, f.q, f.q.Limit)
	if err != nil {
		return workError("list work", err)
	}
	if g.json {
		return w.printJSON(all)
	}
	return w.printRows(all)
}

func (w *work) printRows(l *client.List) error {
	now := time.Now()
	t := newTable("WORK ITEM", "STATUS", "PRIORITY", "KIND", "WORKER", "LEASE", "BLOCKED BY", "TITLE")
	for _, r := range l.WorkItems {
		worker, lease := r.WorkItem.TargetAgentUID, ""
		if r.Claim != nil {
			worker, lease = r.Claim.WorkerAgentUID, leaseLeft(r.Claim.ExpiresAtUTC, now)
		}
		t.add(keyCell(r.WorkItem.WorkItemID), string(r.Status), string(r.WorkItem.Priority), string(r.WorkItem.WorkKind),
			cell(worker), lease, cells(counted(r.BlockerCodes)), text.Clip(text.Line(r.WorkItem.Title), cellText))
	}
	if err := w.printf("%s", t.String()); err != nil {
		return err
	}
	if l.NextCursor != "" {
		return w.printf("more items follow; raise --limit or narrow the list\n")
	}
	if len(l.WorkItems) == 0 {
		return w.printf("no work items match\n")
	}
	return nil
}

func newWorkShow(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "show WORK_ITEM_ID",
		Short: "Show everything about one work item",
		Args:  cobra.ExactArgs(1),

		ValidArgsFunction: g.completeItems(),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, done, err := g.openWork(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer done()
			d, err := w.c.Detail(cmd.Context(), args[0])
			if err != nil {
				return workError("show "+args[0], err)
			}
			if g.json {
				return w.printJSON(d)
			}
			return w.printf("%s", detailText(d, time.Now()))
		},
	}
}

// eventFlags are the flags of `work events`.
type eventFlags struct {
	after  int64
	item   string
	family string
}

func newWorkEvents(g *globals) *cobra.Command {
	f := &eventFlags{}
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Follow what happens at the owner until interrupted",
		Long: `Follow the owner's log: one line per event, with --json one object per line.
Without --after it begins now; --after 0 begins with the oldest event that is
kept, --after N behind revision N. A broken connection is resumed by itself.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.workEvents(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.Int64Var(&f.after, "after", -1, "begin behind this revision (default: now)")
	fl.Lookup("after").DefValue = "0" // so that help does not show the -1
	fl.StringVar(&f.item, "item", "", "only events of this work item")
	fl.StringVar(&f.family, "family", "", "only events of this family: "+names(acop.Families()))
	return cmd
}

func (g *globals) workEvents(ctx context.Context, f *eventFlags) error {
	q := client.EventQuery{WorkItem: f.item, Family: acop.Family(f.family)}
	if f.family != "" && !q.Family.Valid() {
		return failf(exitUsage, "%q is not a family of events; the families are %s", text.Clip(text.Line(f.family), 40), names(acop.Families()))
	}
	if f.after < -1 {
		return failf(exitUsage, "--after needs a revision, 0 or more, not %d", f.after)
	}
	w, done, err := g.openWork(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	if f.after >= 0 {
		q.After = uint64(f.after)
	} else {
		snap, err := w.c.Snapshot(ctx)
		if err != nil {
			return workError("follow the events", err)
		}
		q.After = snap.Revision
	}
	err = w.c.Events(ctx, q, func(events []acop.Event) error {
		for i := range events {
			if err := w.printEvent(&events[i]); err != nil {
				return err
			}
		}
		return nil
	}, w.cut)
	return workError("follow the events", err)
}

// cut tells a person that the stream broke; scripts see it in the revisions.
func (w *work) cut(err error, wait time.Duration) {
	if !w.g.json {
		_ = w.printf("-- %s; trying again in %s\n", text.Line(err.Error()), wait.Round(100*time.Millisecond))
	}
}

func (w *work) printEvent(e *acop.Event) error {
	if w.g.json {
		return w.printJSON(e)
	}
	return w.printf("%s\n", eventLine(e))
}
