package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/model/text"
)

// claimEnd is how a claim ended under its holder.
type claimEnd struct {
	words     string // who did what, and why
	mine      bool   // by the holder itself
	completed bool
}

// errClaimOver ends following the events.
var errClaimOver = errors.New("the claim is over")

const (
	// watchAgain is the pause before the claim is looked at again after the owner's
	// events could not be followed. The keeper of the lease asks besides.
	watchAgain = 5 * time.Second
	// settledGrace is how long a command may go on after it has completed or
	// released its own item.
	settledGrace = 30 * time.Second
)

// watch follows the item until ctx ends or the claim is over, and then ends the
// command: at once if it was taken away, later if the command did it itself. A
// renewal would tell it only after half the term. unlease lets the command outlive its
// lease.
func (h *held) watch(ctx context.Context, end context.CancelCauseFunc, unlease func() bool) *claimEnd {
	for ctx.Err() == nil {
		over := h.follow(ctx)
		switch {
		case over != nil && over.mine:
			unlease()
			select {
			case <-ctx.Done():
			case <-time.After(settledGrace):
				end(errSettled)
			}
			return over
		case over != nil:
			end(&client.LostError{ClaimID: h.claim.ClaimID, Err: errors.New(over.words)})
			return over
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchAgain):
		}
	}
	return nil
}

// follow reads the item and then its events; nil tells that they cannot be followed
// now, or that ctx has ended.
func (h *held) follow(ctx context.Context) *claimEnd {
	d, err := h.c.Detail(ctx, h.item)
	if err != nil {
		return unknownItem(err)
	}
	if over := h.endIn(d); over != nil {
		return over
	}
	var over *claimEnd
	err = h.c.Events(ctx, client.EventQuery{After: d.Revision, WorkItem: h.item}, func(events []acop.Event) error {
		for i := range events {
			if endsClaim(&events[i], h.claim.ClaimID) {
				over = h.endBy(&events[i])
				return errClaimOver
			}
		}
		return nil
	}, nil)
	if over == nil && ctx.Err() == nil {
		h.log.Warn("the item's events cannot be followed", "item", h.item, "error", err)
	}
	return over
}

// unknownItem is the end of every claim on an item that the owner does not know, be it
// that another one took its place; nil for any other failure. No item is ever deleted.
func unknownItem(err error) *claimEnd {
	var e *acop.Error
	if errors.As(err, &e) && e.Code == acop.CodeItemNotFound {
		return &claimEnd{words: "the owner does not know the item any more"}
	}
	return nil
}

// endBy is the end of our claim that e tells.
func (h *held) endBy(e *acop.Event) *claimEnd {
	how := acop.ClaimRevoked
	if e.Claim != nil {
		how = e.Claim.ClaimStatus
	}
	mine := e.Actor == h.claim.WorkerAgentUID && how == acop.ClaimReleased
	return &claimEnd{words: eventEnd(e, how), mine: mine, completed: mine && e.Verb == string(acop.VerbComplete)}
}

// endIn is the end of our claim as the item shows it, nil while it is live.
func (h *held) endIn(d *acop.Detail) *claimEnd {
	if l := d.Item.Lease; l != nil && l.Claim.ClaimID == h.claim.ClaimID {
		return nil
	}
	for i := len(d.Events) - 1; i >= 0; i-- {
		if e := &d.Events[i]; endsClaim(e, h.claim.ClaimID) {
			return h.endBy(e)
		}
	}
	for i := range d.Claims {
		if c := &d.Claims[i]; c.ClaimID == h.claim.ClaimID && c.ClaimStatus != acop.ClaimActive {
			return &claimEnd{words: endWords(d, c)}
		}
	}
	if c := d.Item.Completion; c != nil && c.ClaimID == h.claim.ClaimID {
		return &claimEnd{words: "completed by " + text.ID(c.CompletedBy), mine: true, completed: true}
	}
	return &claimEnd{words: "the item is " + string(d.Item.Status())}
}

// report sends a heartbeat when the command begins, and then when it has printed
// something new, at most every beatEvery: a sign of life without progress would hide
// that there is none (B57).
func (h *held) report(ctx context.Context) {
	h.beat(ctx, h.called()+" begins")
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.out.news:
		}
		note := plural(h.out.lines(), "line", "lines") + " of output"
		if h.f.contents {
			note = h.out.last()
		}
		h.beat(ctx, h.called()+": "+note)
		select {
		case <-ctx.Done():
			return
		case <-time.After(beatEvery):
		}
	}
}

func (h *held) beat(ctx context.Context, note string) {
	_, err := h.c.Do(ctx, acop.Act{Verb: acop.VerbHeartbeat, ClaimID: h.claim.ClaimID, ProgressStatus: "working", Reason: note})
	if err != nil && ctx.Err() == nil { // the keeper and the watch see to a claim that is over
		h.log.Warn("a heartbeat was not taken", "claim", h.claim.ClaimID, "error", err)
	}
}

// beatEvery is the least pause between two heartbeats.
const beatEvery = 10 * time.Second

// caught are the signals that end a run.
type caught struct {
	ctx  context.Context // ends with the first of them as its cause
	stop func()
}

// catchSignals lets the first signal that asks a program to end end the context, and
// the second one the program. What was ignored when the program began, as SIGHUP is
// under nohup, stays ignored. suspended is called when a terminal asks to suspend it,
// which it does not do.
func catchSignals(parent context.Context, suspended func()) *caught {
	ctx, cancel := context.WithCancelCause(parent)
	ends := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(ends, s)
		}
	}
	others := make(chan os.Signal, 1)
	// A reader of the output that goes away must be an error to us, not our end.
	signal.Notify(others, append(suspendSignals(), syscall.SIGPIPE)...)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case s := <-ends:
				signal.Stop(ends)
				cancel(signalled(s))
			case s := <-others:
				if s != syscall.SIGPIPE {
					suspended()
				}
			}
		}
	}()
	return &caught{ctx: ctx, stop: func() { cancel(nil); signal.Stop(ends); signal.Stop(others) }}
}

// until is ctx that ends with the first signal as well.
func (c *caught) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(c.ctx, cancel)
	return ctx, func() { unhook(); cancel() }
}

// reason is err, or the signal where that ended it.
func (c *caught) reason(err error) error {
	var ee *exitError
	if errors.As(context.Cause(c.ctx), &ee) {
		return ee
	}
	return err
}
