package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/model/text"
)

// claimFlags say how an item is asked for.
type claimFlags struct {
	ttl  time.Duration
	wait bool
}

func (f *claimFlags) register(fl *pflag.FlagSet) {
	fl.DurationVar(&f.ttl, "ttl", 10*time.Minute, "term of the lease; the owner may give less")
	fl.BoolVar(&f.wait, "wait", false, "wait for the holder to let go, the lead to decide or the blockers to go")
}

func (f *claimFlags) check() error {
	if f.ttl < time.Second {
		return failf(exitUsage, "--ttl must be at least 1s")
	}
	return nil
}

func newWorkClaim(g *globals) *cobra.Command {
	f := &claimFlags{}
	cmd := &cobra.Command{
		Use:   "claim WORK_ITEM_ID",
		Short: "Take an item, for a term",
		Long: `Ask the owner for an item. Granted, it is yours until the end of the lease that is
printed: renew it in time, or let work run do so. Refused, it is told who holds it
and what else is ready; do not work on it then.`,
		Example: "  signalbox work claim work:shop/checkout --ttl 15m --token-file worker-7.token\n" +
			"  timeout 1h signalbox work claim work:shop/checkout --wait && make fix",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: g.completeItems(acop.StatusReady),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.workClaim(cmd.Context(), f, args[0])
		},
	}
	f.register(cmd.Flags())
	return cmd
}

func (g *globals) workClaim(ctx context.Context, f *claimFlags, id string) error {
	if err := f.check(); err != nil {
		return err
	}
	w, done, err := g.openWork(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	me, err := w.worker(ctx)
	if err != nil {
		return workError("claim "+id, err)
	}
	r, err := w.claim(ctx, f, id, me)
	if err != nil {
		return workError("claim "+id, err)
	}
	return w.told(r, "claimed %s%s", text.ID(id), outcome(id, r))
}

// claim asks for the item in the name of me, with f.wait as often as there is hope.
func (w *work) claim(ctx context.Context, f *claimFlags, id, me string) (*acop.Receipt, error) {
	act := acop.Act{Verb: acop.VerbClaim, WorkItemID: id, TTLSeconds: int64(f.ttl / time.Second)}
	said := ""
	for {
		act.Key = client.NewKey()
		r, err := w.c.Do(ctx, act)
		var e *acop.Error
		switch refused := errors.As(err, &e); {
		case err == nil:
			return r, nil
		case !refused && (said == "" || !errors.Is(err, client.ErrUnreachable)):
			return nil, err
		case !refused: // it was there: a wait outlives a restart of the owner
			e = acop.Errorf(acop.CodeUnavailable, "%s", client.ErrUnreachable)
		case !f.wait || !hopeful(e, me):
			return nil, w.claimRefused(ctx, e, id, me)
		}
		if v := detailWord(e, "claim_intent_id"); v != "" {
			act.IntentID = v // the same request goes on
		}
		if words := waitWords(e); words != said {
			said = words
			w.g.remark("claim %s: %s; waiting", text.ID(id), words)
		}
		if err := w.awaitChange(ctx, id, e); err != nil {
			return nil, err
		}
	}
}

// remark tells a person on standard error what goes on.
func (g *globals) remark(format string, args ...any) {
	fmt.Fprintf(g.sys.Stderr, "signalbox: "+format+"\n", args...)
}

// hopeful reports whether a refusal may pass without the worker doing anything.
func hopeful(e *acop.Error, me string) bool {
	switch e.Code {
	case acop.CodeClaimConflict:
		return detailWord(e, "current_worker_agent_uid") != me
	case acop.CodeGateBlocked:
		return detailWord(e, "reason") != "denied"
	case acop.CodeUnavailable, acop.CodeInternal, acop.CodeRateLimited:
		return true
	case acop.CodeNotActionable:
		switch acop.Status(detailWord(e, "work_item_status")) {
		case acop.StatusBlocked, acop.StatusRequiresAttention, acop.StatusReleased:
			return true
		}
	}
	return false
}

// waitWords is what a wait is for.
func waitWords(e *acop.Error) string {
	if e.Code == acop.CodeClaimConflict {
		return text.ID(detailWord(e, "current_worker_agent_uid")) + " holds it"
	}
	return text.Line(e.Message)
}

const (
	// claimAgain bounds the wait for a change that no event tells, such as the end
	// of a freeze.
	claimAgain = 15 * time.Second
	// claimPause is the least pause between two requests, however often the item
	// changes.
	claimPause = time.Second
)

// awaitChange returns when the item changes, or after the time that the owner names.
func (w *work) awaitChange(ctx context.Context, id string, e *acop.Error) error {
	least := time.NewTimer(claimPause)
	defer least.Stop()
	wait, cancel := context.WithTimeout(ctx, min(max(time.Duration(e.RetryAfterSeconds)*time.Second, claimPause), claimAgain))
	defer cancel()
	switch e.Code {
	case acop.CodeUnavailable, acop.CodeInternal, acop.CodeRateLimited:
		<-wait.Done()
		return ctx.Err()
	}
	// What changed since the refusal is not waited for.
	if d, err := w.c.Detail(wait, id); err == nil && (e.Code == acop.CodeGateBlocked || d.Item.Status() != acop.StatusReady) {
		errChanged := errors.New("changed")
		err = w.c.Events(wait, client.EventQuery{After: d.Revision, WorkItem: id}, func([]acop.Event) error { return errChanged }, nil)
		if !errors.Is(err, errChanged) {
			<-wait.Done() // where no events are told, time has to do
		}
	}
	select {
	case <-least.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// claimRefused adds to a refusal what the worker can do instead.
func (w *work) claimRefused(ctx context.Context, e *acop.Error, id, me string) error {
	told := *e
	switch e.Code {
	case acop.CodeClaimConflict:
		holder, until := detailWord(e, "current_worker_agent_uid"), detailWord(e, "expires_at_utc")
		if holder == me {
			return failf(exitFailed, "claim %s: you hold it already, until %s; go on with it (`signalbox work run --resume` does), or give it back with `signalbox work release`", text.ID(id), text.ID(until))
		}
		told.Message = text.ID(holder) + ", until " + text.ID(until)
	case acop.CodeGateBlocked:
		switch detailWord(e, "reason") {
		case "frozen":
			return &told // nothing else is to be had either
		case "denied":
		default:
			told.Message += "; --wait waits for the lead's word"
		}
	case acop.CodeNotActionable, acop.CodeItemCancelled, acop.CodeItemSuperseded:
	default:
		return &told
	}
	told.Message += w.alsoReady(ctx, id, me)
	return &told
}

// detailWord is one member of the details of a refusal, "" where it is no text.
func detailWord(e *acop.Error, name string) string {
	s, _ := e.Details[name].(string)
	return s
}
