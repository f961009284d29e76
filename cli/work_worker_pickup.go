package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	client "signalbox/client/acop"
	"signalbox/model/text"
)

func newWorkPickup(g *globals) *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:     "pickup",
		Aliases: []string{"ready"},
		Short:   "List what you can take now, the best first",
		Long: `List the work that is ready for the worker whose token is given, in the owner's
order of pickup, and why each is: meant for you, or for anybody. Take one with
work claim before you touch anything.`,
		Example: "  signalbox work pickup --token-file worker-7.token\n" +
			"  signalbox work pickup --limit 1 --json | jq -r '.work_items[].work_item.work_item_id'",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.workPickup(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.q.Repo, "repo", "", "only items of this target_repo_id")
	fl.StringVar(&f.q.Branch, "branch", "", "only items of this target_branch")
	fl.StringVar(&f.q.Order, "order", "", "latest (default), score or priority")
	fl.IntVar(&f.q.Limit, "limit", 20, "at most this many")
	return cmd
}

// offer is one item that the worker can take.
type offer struct {
	client.Row
	Why []string `json:"why"` // for people
}

// offers are the items that a worker can take.
type offers struct {
	You       string  `json:"you"`
	Revision  uint64  `json:"revision"`
	WorkItems []offer `json:"work_items"`
	More      bool    `json:"more"` // there are more than were asked for
}

func (g *globals) workPickup(ctx context.Context, f *listFlags) error {
	if err := f.settlePage(); err != nil {
		return err
	}
	w, done, err := g.openWork(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	me, err := w.worker(ctx)
	if err != nil {
		return workError("pickup", err)
	}
	f.q.Agent, f.q.Actionable = me, true
	all, err := w.list(ctx, f.q, f.q.Limit)
	if err != nil {
		return workError("pickup", err)
	}
	out := &offers{You: me, Revision: all.Revision, WorkItems: []offer{}, More: all.NextCursor != ""}
	for _, r := range all.WorkItems {
		out.WorkItems = append(out.WorkItems, offer{r, whyOffered(&r, me)})
	}
	if g.json {
		return w.printJSON(out)
	}
	return w.printOffers(out)
}

// whyOffered says why me can take the item and what there is to know before.
func whyOffered(r *client.Row, me string) []string {
	why := []string{"for anybody"}
	switch {
	case r.WorkItem.TargetAgentUID == me:
		why[0] = "meant for you"
	case slices.Contains(r.WorkItem.ParticipantAgentUIDs, me):
		why[0] = "you take part"
	}
	for _, o := range r.Overlaps {
		why = append(why, fmt.Sprintf("overlaps with %s, held by %s", cell(o.WorkItemID), cell(o.WorkerAgentUID)))
	}
	return why
}

func (w *work) printOffers(o *offers) error {
	t := newTable("WORK ITEM", "PRIORITY", "SCORE", "KIND", "WHY", "TITLE")
	for i := range o.WorkItems {
		r := &o.WorkItems[i]
		why := r.Why[0]
		for _, more := range r.Why[1:] {
			why += "; " + more
		}
		t.add(keyCell(r.WorkItem.WorkItemID), string(r.WorkItem.Priority), fmt.Sprintf("%.2f", r.WorkItem.ActionabilityScore),
			string(r.WorkItem.WorkKind), text.Clip(why, cellText), text.Clip(text.Line(r.WorkItem.Title), cellText))
	}
	if err := w.printf("%s", t.String()); err != nil {
		return err
	}
	switch {
	case len(o.WorkItems) == 0:
		return w.printf("nothing is ready for %s\n", text.ID(o.You))
	case o.More:
		return w.printf("more is ready; raise --limit or narrow the list\n")
	}
	return nil
}

// alsoReady names a few items that me could take instead of id.
func (w *work) alsoReady(ctx context.Context, id, me string) string {
	l, err := w.c.Items(ctx, client.Query{Agent: me, Actionable: true, Order: "priority", Limit: 5})
	if err != nil { // the refusal says what matters
		return ""
	}
	var ids []string
	for _, r := range l.WorkItems {
		if r.WorkItem.WorkItemID != id {
			ids = append(ids, r.WorkItem.WorkItemID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return "; also ready: " + cells(ids)
}
