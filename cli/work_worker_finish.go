package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/model/text"
)

// outcomeOfRun is how the command of a run ended and what became of the claim.
type outcomeOfRun struct {
	state    *os.ProcessState // nil where it never ran
	startErr error
	cause    error     // why it was stopped; nil where it ended by itself
	ended    *claimEnd // the claim ended under it; nil where it did not
}

// runResult is what `work run --json` prints.
type runResult struct {
	WorkItemID string `json:"work_item_id"`
	ClaimID    string `json:"claim_id"`
	// Outcome is completed, held, released or lost.
	Outcome string `json:"outcome"`
	// ExitStatus is that of the command, -1 where a signal ended it or it never ran.
	ExitStatus int     `json:"exit_status"`
	Seconds    float64 `json:"seconds"`
	Lines      int     `json:"lines"` // new lines that it printed
	Reason     string  `json:"reason,omitempty"`
}

// The outcomes of a run.
const (
	runCompleted = "completed"
	runHeld      = "held"
	runReleased  = "released"
	runLost      = "lost"
)

// finish tells the owner how it ended, and the person.
func (h *held) finish(life, lease context.Context, o *outcomeOfRun) error {
	took := time.Since(h.begin).Round(100 * time.Millisecond)
	res := &runResult{WorkItemID: h.item, ClaimID: h.claim.ClaimID, ExitStatus: -1, Seconds: took.Seconds(), Lines: h.out.lines()}
	how := "never ran"
	if o.state != nil {
		res.ExitStatus = o.state.ExitCode()
		how = fmt.Sprintf("%s after %s", exitWords(o.state), took)
	}
	err := h.settle(life, lease, o, res, how)
	if !h.g.json {
		return err
	}
	return errors.Join(h.printJSON(res), err)
}

// settle decides what becomes of the claim.
func (h *held) settle(life, lease context.Context, o *outcomeOfRun, res *runResult, how string) error {
	var lost *client.LostError
	if o.ended == nil {
		o.ended = h.look(life)
	}
	switch {
	case o.ended != nil && o.ended.mine:
		return h.settledByItself(o, res, how)
	case o.ended != nil || errors.As(o.cause, &lost):
		res.Outcome, res.Reason = runLost, lossWords(o, lost)
		ended := h.called() + " was stopped"
		if o.cause == nil { // it was found out only when the command had ended
			ended = h.called() + ": " + how
		}
		return failf(exitFailed, "run %s: the lease is lost: %s; %s", text.ID(h.item), res.Reason, ended)
	case o.cause != nil:
		return h.giveBack(life, res, "interrupted: "+how, interruption(o.cause))
	case o.startErr != nil:
		return h.giveBack(life, res, "the command could not be started", failf(exitUsage, "run %s: %w", text.ID(h.item), o.startErr))
	case !o.state.Success():
		return h.giveBack(life, res, h.called()+": "+how, failf(exitFailed, "run %s: %s: %s", text.ID(h.item), h.called(), how))
	case !h.f.complete:
		res.Outcome = runHeld
		h.remark("%s: %s; %s is held on, `signalbox work complete` says that it is done", h.called(), how, text.ID(h.item))
		return nil
	}
	return h.complete(life, lease, res, how)
}

// settledByItself is a command that has completed or released its item.
func (h *held) settledByItself(o *outcomeOfRun, res *runResult, how string) error {
	res.Outcome, res.Reason = runReleased, o.ended.words
	if o.ended.completed {
		res.Outcome = runCompleted
	}
	if errors.Is(o.cause, errSettled) {
		return failf(exitFailed, "run %s: %s was stopped: it went on for %s after the item was %s", text.ID(h.item), h.called(), settledGrace, res.Outcome)
	}
	if o.state == nil || !o.state.Success() {
		return failf(exitFailed, "run %s: %s: %s; the item was %s before", text.ID(h.item), h.called(), how, o.ended.words)
	}
	h.remark("%s: %s; %s was %s", h.called(), how, text.ID(h.item), o.ended.words)
	return nil
}

// lossWords is why the lease was lost, from the owner if it could be asked.
func lossWords(o *outcomeOfRun, lost *client.LostError) string {
	if o.ended != nil {
		return o.ended.words
	}
	var e *acop.Error
	if errors.As(lost.Err, &e) {
		return refusalWords(e)
	}
	return text.Line(lost.Err.Error())
}

// look asks the owner once whether the claim has ended; nil where it has not, or where
// the owner does not say.
func (h *held) look(life context.Context) *claimEnd {
	ctx, cancel := context.WithTimeout(life, lookTime)
	defer cancel()
	d, err := h.c.Detail(ctx, h.item)
	if err != nil {
		return unknownItem(err)
	}
	return h.endIn(d)
}

// lookTime bounds asking how a claim ended.
const lookTime = 3 * time.Second

// interruption is the cause of an end that somebody asked for, with its exit code.
func interruption(cause error) error {
	var ee *exitError
	if errors.As(cause, &ee) {
		return ee
	}
	return failf(exitInterrupted, "interrupted")
}

// finisher is a client that does not give up soon: an outcome must arrive.
func (h *held) finisher(ctx context.Context) (*client.Client, error) {
	return h.g.connect(ctx, h.log, finishPatience)
}

// giveBack releases the item with the reason and returns err, with a word on what
// became of the claim.
func (h *held) giveBack(life context.Context, res *runResult, reason string, err error) error {
	ctx, cancel := context.WithTimeout(life, releaseTime)
	defer cancel()
	if last := h.out.last(); h.f.contents && last != "" {
		reason += ": " + last
	}
	res.Outcome, res.Reason = runReleased, reason
	c, refused := h.finisher(ctx)
	if refused == nil {
		defer c.Close()
		_, refused = c.Do(ctx, acop.Act{Verb: acop.VerbRelease, ClaimID: h.claim.ClaimID, Reason: reason})
	}
	if refused != nil {
		res.Outcome = runHeld
		return also(err, "; it could not be released ("+shortly(refused)+"), and is held until its lease ends")
	}
	return also(err, "; "+text.ID(h.item)+" is released")
}

// releaseTime bounds giving an item back: what is not released, time releases.
const releaseTime = 10 * time.Second

// also adds words to an error and keeps its exit code.
func also(err error, words string) error {
	var ee *exitError
	if errors.As(err, &ee) {
		return &exitError{code: ee.code, err: fmt.Errorf("%w%s", ee.err, words)}
	}
	return fmt.Errorf("%w%s", err, words)
}

// shortly words an error of the owner or of the way there.
func shortly(err error) string {
	var e *acop.Error
	if errors.As(err, &e) {
		return refusalWords(e)
	}
	return text.Line(err.Error())
}

// complete tells the owner that the work is done, and leaves a note on how.
func (h *held) complete(life, lease context.Context, res *runResult, how string) error {
	c, err := h.finisher(life)
	if err != nil {
		return err
	}
	defer c.Close()
	res.Outcome = runHeld // until the owner says otherwise
	ctx, stop := h.signals.until(lease)
	defer stop()
	_, err = c.Do(ctx, acop.Act{Verb: acop.VerbComplete, ClaimID: h.claim.ClaimID, Evidence: h.ev})
	var lost *client.LostError
	var refused *acop.Error
	switch cause := context.Cause(lease); {
	case err == nil:
	case errors.As(cause, &lost):
		res.Outcome, res.Reason = runLost, lossWords(&outcomeOfRun{ended: h.look(life)}, lost)
		return failf(exitFailed, "run %s: %s: %s, but the lease was lost before the item could be completed: %s", text.ID(h.item), h.called(), how, res.Reason)
	case h.signals.ctx.Err() != nil && !errors.As(err, &refused):
		return also(interruption(context.Cause(h.signals.ctx)), "; whether "+text.ID(h.item)+" is completed the owner did not say: `signalbox work show` tells")
	default:
		res.Reason = shortly(err)
		return failf(exitFailed, "run %s: %s: %s, but the item is not completed: %s; it is held until its lease ends", text.ID(h.item), h.called(), how, res.Reason)
	}
	res.Outcome = runCompleted
	w := &work{g: h.g, c: c}
	details := ""
	if last := h.out.last(); h.f.contents && last != "" {
		details = "Its last line: " + last
	}
	ctx, stopNote := h.signals.until(life) // the lease is over
	defer stopNote()
	if _, err := w.postNote(ctx, h.item, h.called()+": "+how, details); err != nil {
		return workError("run "+h.item+": the item is completed, but the note on how is not posted", err)
	}
	h.remark("%s: %s; %s is completed", h.called(), how, text.ID(h.item))
	return nil
}
