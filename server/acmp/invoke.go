package acmp

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"signalbox/model/acmp"
)

// call is where the answer to one JSON-RPC request goes.
type call struct {
	sink sink
	gone <-chan struct{} // closed when the caller has gone away
}

// errCallerGone ends a request that nobody waits for any more.
var errCallerGone = errors.New("the caller has gone")

// find gives the task of an invoke, or makes it and enters it into the table.
func (p *Provider) find(ip acmp.InvokeParams, principal string) (*Task, admitted, *acmp.Error) {
	if e := p.table.find(ip.TaskID); e != nil {
		t, bad := p.seen(e, ip, principal)
		return t, admitted{}, bad
	}
	t := p.newTask(ip, principal)
	a := p.table.add(t)
	if a.closed || a.busy || !a.fresh {
		t.stop(errClosing) // it never runs: nothing of it may stay behind
	}
	switch {
	case a.closed:
		return nil, a, internalErrorValue(ip.TaskID, errClosing.Error())
	case a.busy:
		return nil, a, internalErrorValue(ip.TaskID, "the provider runs as many tasks as it can")
	case !a.fresh:
		t, bad := p.seen(a.entry, ip, principal)
		return t, a, bad
	}
	return t, a, nil
}

// launch lets a new task run, unless it was cancelled before its invoke came or a
// check refuses it. The checks have the order of D-09; a refusal is an outcome like
// any other (D-10). It may block while an escrow is verified.
func (p *Provider) launch(t *Task, a admitted) {
	if a.cancel != nil {
		t.refuse(cancelledError(t.id, a.cancel.reason))
		return
	}
	if bad := p.check(t); bad != nil {
		t.refuse(&outcome{err: bad})
		return
	}
	if err := p.begun(t); err != nil {
		t.refuse(internalError(t.id, err.Error()))
		return
	}
	for _, chunk := range a.chunks {
		p.takeChunk(t, chunk)
	}
	t.start(p.log)
}

// seen answers an invoke whose id is known already: it is never run again.
func (p *Provider) seen(e *entry, ip acmp.InvokeParams, principal string) (*Task, *acmp.Error) {
	if e.principal != principal {
		return nil, invalidParams(ip.TaskID, "task_id already in use")
	}
	t := p.table.taskOf(e)
	if t == nil {
		return nil, internalErrorValue(ip.TaskID, "outcome no longer held")
	}
	if !t.restored && !sameWork(t.params, ip) {
		p.log.Warn("a task_id came again with other parameters; the first ones hold", "task", ip.TaskID)
	}
	return t, nil
}

func sameWork(a, b acmp.InvokeParams) bool {
	a.Stream, b.Stream = false, false
	return reflect.DeepEqual(a, b)
}

func (p *Provider) newTask(ip acmp.InvokeParams, principal string) *Task {
	timeout := time.Duration(ip.TimeoutMS) * time.Millisecond
	now := p.live.Load()
	t := &Task{
		id: ip.TaskID, principal: principal, params: ip, limits: &p.opts.Limits,
		deadline: time.Now().Add(timeout),
		interval: now.interval, grace: now.grace,
		input: newInput(), returned: make(chan struct{}), recorded: make(chan struct{}), onDone: p.ended, all: &p.held,
		waiters: map[*waiter]struct{}{}, room: make(chan struct{}),
	}
	// Its context is no child of the request's: it outlives the request (D-01), and
	// an outcome that is kept must not keep the request.
	t.ctx, t.stop = context.WithCancelCause(p.life)
	t.input.begin(ip.Input, ip.InputStream)
	return t
}

// refuse ends a task that never ran.
func (t *Task) refuse(o *outcome) {
	close(t.returned)
	t.finish(o, errDone)
}

// check decides whether a task may run at all (D-09, behind idempotency).
func (p *Provider) check(t *Task) *acmp.Error {
	ip := &t.params
	t.cap = p.live.Load().caps[ip.Capability]
	if t.cap == nil {
		return newError(acmp.CodeCapabilityNotFound, "Capability not found", t.id,
			map[string]any{"capability": ip.Capability})
	}
	if bad := p.settleTerms(t); bad != nil {
		return bad
	}
	if ip.Stream && p.opts.NoStreaming && !p.opts.IgnoreStream {
		return featureUnsupported(t.id, "output_streaming")
	}
	if ip.InputStream && (p.opts.NoInputStreaming || t.cap.NoInputStream) {
		return featureUnsupported(t.id, "input_streaming")
	}
	if ip.ProofMethod != "" && ip.ProofMethod != acmp.ProofResultHash {
		return newError(acmp.CodeProofUnsupported, "Proof method unsupported", t.id,
			map[string]any{"proof_method": ip.ProofMethod})
	}
	price := t.price
	if ip.MaxPriceCU != nil {
		if cmp, err := acmp.CompareCU(price, *ip.MaxPriceCU); err != nil || cmp > 0 {
			return budgetExceeded(t.id, ip.Capability, price)
		}
	}
	return p.checkEscrow(t)
}

func (p *Provider) checkEscrow(t *Task) *acmp.Error {
	if t.params.EscrowID == "" {
		return nil
	}
	refused := func() *acmp.Error {
		return newError(acmp.CodeEscrowInvalid, "Escrow invalid", t.id, map[string]any{"escrow_id": t.params.EscrowID})
	}
	if p.live.Load().refuseEscrow {
		return refused()
	}
	if p.opts.Escrow == nil {
		p.log.Info("an escrow id is accepted unverified", "task", t.id)
		return nil
	}
	if err := p.opts.Escrow(t.ctx, &t.params); err != nil {
		p.log.Info("an escrow id was refused", "task", t.id, "err", err)
		return refused()
	}
	return nil
}

// cancelTask carries out acmp/cancel.
func (p *Provider) cancelTask(principal string, c acmp.Cancel) {
	if t := p.table.cancel(principal, c); t != nil {
		t.finish(cancelledError(t.id, c.Reason), errCancelled)
	}
}

// inputChunk carries out acmp/inputChunk and gives the task it went to, if any.
func (p *Provider) inputChunk(principal string, c acmp.InputChunk) *Task {
	t := p.table.chunk(principal, c)
	if t == nil || !t.params.InputStream || t.ctx.Err() != nil {
		return nil
	}
	p.takeChunk(t, c)
	return t
}

func (p *Provider) takeChunk(t *Task, c acmp.InputChunk) {
	complete, fits := t.input.add(c, p.opts.Limits.TaskBytes)
	if !fits {
		t.finish(internalError(t.id, "more input is waiting than can be held"), errDone)
		return
	}
	if complete {
		t.inputComplete()
	}
}

// answer makes the response of one request from the outcome of its task.
func (p *Provider) answer(t *Task, o *outcome, stream bool) (*acmp.Result, *acmp.Error) {
	if o.err != nil {
		return nil, o.err
	}
	res := acmp.Result{
		TaskID: t.id, Output: o.output, TokensUsed: o.tokens,
		CostCU: t.price, ProviderID: p.opts.ProviderID, ResultType: "complete",
	}
	whole := o.output
	if o.chunked && (!stream || t.params.ProofMethod != "") {
		chunks, ok := t.allChunks()
		if !ok {
			return nil, internalErrorValue(t.id, errReplayGone.Error())
		}
		out := acmp.Assemble(chunks)
		whole = &out
	}
	if o.chunked && stream {
		res.OutputStreamed = true
	} else {
		res.Output = whole
	}
	if t.params.ProofMethod != "" {
		hash, err := acmp.ResultHash(*whole)
		if err != nil {
			return nil, internalErrorValue(t.id, "the proof cannot be made: "+err.Error())
		}
		res.Proof = &acmp.Proof{Method: t.params.ProofMethod, Hash: hash}
	}
	return &res, nil
}

// priceOf is what a capability costs, in CU; one that names no price is free.
func priceOf(c *Capability) json.Number {
	if c.Info.PriceCU == "" {
		return "0"
	}
	return c.Info.PriceCU
}
