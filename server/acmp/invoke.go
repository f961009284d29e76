package acmp

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"signalbox/model/acmp"
)

type invokeFunc = func(context.Context, *mcp.ServerSession, *invokeParams) (*invokeResult, error)

// call is one JSON-RPC request for acmp/invoke.
type call struct {
	principal string
	sink      sink
	gone      <-chan struct{} // closed when the caller has gone away
	onAdmit   func(taskID string)
}

// errCallerGone is what the SDK is told when nobody waits any more; it is never
// written anywhere.
var errCallerGone = errors.New("the caller has gone")

// invoke carries one request from its params to its answer. It returns when the
// task has its outcome or the caller is gone.
func (p *Provider) invoke(ctx context.Context, params *invokeParams, c call) (*invokeResult, error) {
	ip, bad := parseInvoke(params.raw)
	if bad != nil {
		return nil, toWire(bad)
	}
	t, bad := p.admit(ip, c.principal)
	if c.onAdmit != nil {
		c.onAdmit(ip.TaskID)
	}
	if bad != nil {
		return nil, toWire(bad)
	}
	stream := ip.Stream && !p.opts.NoStreaming
	o, err := p.follow(ctx, t, stream, c)
	if err != nil {
		return nil, err
	}
	res, bad := p.answer(t, o, stream)
	if bad != nil {
		return nil, toWire(bad)
	}
	return res, nil
}

// admit finds the task of an invoke, or makes it and lets it run. The checks have
// the order of D-09; a refusal is an outcome like any other (D-10).
func (p *Provider) admit(ip acmp.InvokeParams, principal string) (*Task, *acmp.Error) {
	if e := p.table.find(ip.TaskID); e != nil {
		return p.seen(e, ip, principal)
	}
	t := p.newTask(ip, principal)
	a := p.table.add(t)
	switch {
	case a.closed:
		return nil, internalErrorValue(ip.TaskID, errClosing.Error())
	case a.busy:
		return nil, internalErrorValue(ip.TaskID, "the provider runs as many tasks as it can")
	case !a.fresh:
		return p.seen(a.entry, ip, principal)
	}
	if a.cancel != nil {
		t.refuse(cancelledError(t.id, a.cancel.reason))
		return t, nil
	}
	if bad := p.check(t); bad != nil {
		t.refuse(&outcome{err: bad})
		return t, nil
	}
	for _, chunk := range a.chunks {
		p.takeChunk(t, chunk)
	}
	t.start(p.log)
	return t, nil
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
	if !sameWork(t.params, ip) {
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
	t := &Task{
		id: ip.TaskID, principal: principal, params: ip, limits: &p.opts.Limits,
		deadline: time.Now().Add(timeout),
		interval: p.opts.HeartbeatInterval, grace: p.opts.Grace,
		input: newInput(), returned: make(chan struct{}), onDone: p.table.ended,
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
	t.cap = p.caps[ip.Capability]
	if t.cap == nil {
		return newError(acmp.CodeCapabilityNotFound, "Capability not found", t.id,
			map[string]any{"capability": ip.Capability})
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
	price := priceOf(t.cap)
	if ip.MaxPriceCU != nil {
		if cmp, err := acmp.CompareCU(price, *ip.MaxPriceCU); err != nil || cmp > 0 {
			return newError(acmp.CodeBudgetExceeded, "Budget exceeded", t.id, map[string]any{
				"min_price_cu": price,
				"detail":       "Minimum price for " + ip.Capability + " is " + price.String() + " CU."})
		}
	}
	return p.checkEscrow(t)
}

func (p *Provider) checkEscrow(t *Task) *acmp.Error {
	if t.params.EscrowID == "" {
		return nil
	}
	if p.opts.Escrow == nil {
		p.log.Info("an escrow id is accepted unverified", "task", t.id)
		return nil
	}
	if err := p.opts.Escrow(t.ctx, &t.params); err != nil {
		p.log.Info("an escrow id was refused", "task", t.id, "err", err)
		return newError(acmp.CodeEscrowInvalid, "Escrow invalid", t.id,
			map[string]any{"escrow_id": t.params.EscrowID})
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
func (p *Provider) answer(t *Task, o *outcome, stream bool) (*invokeResult, *acmp.Error) {
	if o.err != nil {
		return nil, o.err
	}
	res := acmp.Result{
		TaskID: t.id, Output: o.output, TokensUsed: o.tokens,
		CostCU: priceOf(t.cap), ProviderID: p.opts.ProviderID, ResultType: "complete",
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
	return &invokeResult{Result: res}, nil
}

// priceOf is what a capability costs, in CU; one that names no price is free.
func priceOf(c *Capability) json.Number {
	if c.Info.PriceCU == "" {
		return "0"
	}
	return c.Info.PriceCU
}
