package acmp

import (
	"context"
	"encoding/json"

	"signalbox/model/acmp"
)

// How a task comes to its end.

func (r *runner) onDeadline() bool {
	after := timeoutOf(&r.t.inv.Params)
	e := localError(acmp.CodeTimeout, "Task timed out")
	if r.sends == 0 {
		e = localError(acmp.CodeTimeout, "provider %s could not be reached within %s; the task was not sent", r.t.inv.Provider, after)
	}
	e.Data = map[string]any{"task_id": r.t.id, "method": acmp.MethodInvoke, "timeout_ms": after.Milliseconds()}
	return r.fail(e, "timeout_ms exceeded")
}

func (r *runner) onCancel(reason string) bool {
	if !r.cancelled {
		r.cancelled, r.reason = true, reason
		r.t.file.cancelled(reason)
		r.t.tell(acmp.TaskEvent{Kind: acmp.EventCancelRequested, Detail: reason})
		r.ack.Reset(r.t.b.env.CancelWait)
	}
	if r.sends == 0 {
		e := localError(acmp.CodeCancelled, "cancelled before it was sent")
		e.Data = map[string]any{"task_id": r.t.id}
		return r.fail(e, "")
	}
	r.notifyCancel(reason)
	return false
}

// notifyCancel sends acmp/cancel without waiting for it (B35).
func (r *runner) notifyCancel(reason string) {
	r.t.b.runners.Go(func() { r.t.sendCancel(reason) })
}

// sendCancel sends acmp/cancel once; it goes out even while the buyer closes.
func (t *task) sendCancel(reason string) {
	ctx, cancel := context.WithTimeout(t.b.env.last, notifyTimeout)
	defer cancel()
	if err := t.notify(ctx, acmp.MethodCancel, acmp.Cancel{TaskID: t.id, Reason: reason}); err != nil {
		t.b.env.Log.Warn("acmp/cancel could not be sent", "provider", t.inv.Provider, "cause", plainError(err))
	}
}

// mayRunTwice reports whether the invoke may go to another life of a provider on
// stdio. Its task table died with it, so that sending the task again would run it
// again, unless it keeps the table elsewhere or the user wants it.
func (r *runner) mayRunTwice() bool { return r.memory || r.t.inv.RunTwice }

func (r *runner) providerEnded(cause string) bool {
	e := localError(acmp.CodeInternal, "provider ended: %s; the task is not sent again, for it might run twice", cause)
	if r.cancelled {
		e = localError(acmp.CodeCancelled, "cancelled; the provider ended: %s", cause)
	}
	e.Data = map[string]any{"task_id": r.t.id, "provider_ended": true}
	return r.fail(e, "")
}

func (r *runner) onNoAck() bool {
	e := localError(acmp.CodeCancelled, "cancelled; the provider did not acknowledge within %s", r.t.b.env.CancelWait)
	e.Data = map[string]any{"task_id": r.t.id, "acknowledged": false}
	return r.fail(e, "")
}

func (r *runner) onResult(raw json.RawMessage, d streamed) bool {
	res, msg := checkResult(raw, r.t.inv.Params, d)
	if msg != "" {
		return r.fail(protocolError(r.t.id, "%s", msg), "")
	}
	r.leave("")
	ev := acmp.TaskEvent{Kind: acmp.EventResult, Result: res}
	// Both prices were checked before.
	ev.Overcharge, _ = acmp.Overcharge(res.CostCU, r.t.inv.Params.MaxPriceCU)
	ev.ProofCheck = d.checkProof(res, r.t.inv.Params.ProofMethod)
	r.t.finish(ev)
	return true
}

// fail ends the task with e; with a reason the provider is told to stop.
func (r *runner) fail(e *acmp.Error, cancelReason string) bool {
	r.leave(cancelReason)
	r.t.finish(acmp.TaskEvent{Kind: acmp.EventError, Err: e})
	return true
}

// leave makes the attempt deaf and closes its stream, after acmp/cancel where
// one is to be sent (D-07).
func (r *runner) leave(cancelReason string) {
	if r.att != nil {
		r.att.end()
	}
	stop := r.callCancel
	if cancelReason == "" || r.sends == 0 {
		if stop != nil {
			stop()
		}
		return
	}
	t := r.t
	t.b.runners.Go(func() {
		t.sendCancel(cancelReason)
		if stop != nil {
			stop()
		}
	})
}

// detach leaves the task as it is: the journal keeps it for the next run. A
// cancel that was just asked for still goes out.
func (r *runner) detach() {
	select {
	case reason := <-r.t.cancelC:
		r.t.file.cancelled(reason)
		if r.sends > 0 {
			r.notifyCancel(reason)
		}
	default:
	}
	r.leave("")
	r.t.mu.Lock()
	r.t.ended = true
	r.t.mu.Unlock()
	r.t.q.close()
	close(r.t.over)
}
