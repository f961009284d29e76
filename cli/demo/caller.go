package demo

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"signalbox/model/acmp"
)

// call is one task that the demo starts through the lead's buyer.
type call struct {
	provider, capability string
	timeout              time.Duration
	ceiling              string // CU; "" for none
	proof                string
	whole                bool // not streamed
}

// firstCalls show each kind of life at once: real lines, progress, silence and
// beating without progress.
var firstCalls = []call{
	{provider: nameWorkshop, capability: "clock-watch", timeout: 3 * time.Minute},
	{provider: nameAnalysts, capability: capReview, timeout: 2 * time.Minute, ceiling: "0.020", proof: "result-hash"},
	{provider: nameAnalysts, capability: capResearch, timeout: 90 * time.Second, ceiling: "0.100"},
	{provider: nameAnalysts, capability: capStuck, timeout: 2 * time.Minute},
	{provider: nameWorkshop, capability: "load-watch", timeout: 2 * time.Minute},
	{provider: nameWorkshop, capability: "git-log", timeout: time.Minute},
}

// longCalls run for about a minute and print as they go. Every other call is one of
// them, so that nearly always something is there to watch.
var longCalls = []call{
	{provider: nameWorkshop, capability: "clock-watch", timeout: 2 * time.Minute},
	{provider: nameWorkshop, capability: "load-watch", timeout: 2 * time.Minute},
}

var shortCalls = []call{
	{provider: nameAnalysts, capability: capSentiment, timeout: 30 * time.Second, whole: true},
	{provider: nameAnalysts, capability: capReview, timeout: 2 * time.Minute, ceiling: "0.020", proof: "result-hash"},
	{provider: nameAnalysts, capability: capTranslate, timeout: 2 * time.Minute},
	{provider: nameWorkshop, capability: "list-tree", timeout: time.Minute},
	{provider: nameWorkshop, capability: "go-version", timeout: time.Minute},
	{provider: nameWorkshop, capability: "go-vet", timeout: 5 * time.Minute},
}

// badCalls end in trouble that only the lead can take off the queue, so they
// come seldom.
var badCalls = []call{
	{provider: nameAnalysts, capability: capReview, timeout: 2 * time.Minute, ceiling: "0.002"}, // too low
	{provider: nameWorkshop, capability: "failing-check", timeout: time.Minute},
	{provider: nameAnalysts, capability: capResearch, timeout: time.Minute},
}

// badEvery is the number of calls of which one ends in trouble.
const badEvery = 16

// caller starts tasks as the lead's own.
type caller struct{ stage *stage }

func (c *caller) live(ctx context.Context) {
	rng := rand.New(rand.NewPCG(c.stage.Seed, 3))
	for _, one := range firstCalls {
		c.start(ctx, &one)
		if !wait(ctx, 500*time.Millisecond) {
			return
		}
	}
	for n := 1; wait(ctx, 12*time.Second+upTo(rng, 18*time.Second)); n++ {
		calls := callsAt(n)
		c.start(ctx, &calls[rng.IntN(len(calls))])
	}
}

// callsAt are those of which the n-th call after the first ones is taken.
func callsAt(n int) []call {
	switch {
	case n%badEvery == 2: // the first one soon
		return badCalls
	case n%2 == 1:
		return longCalls
	}
	return shortCalls
}

// start invokes one task, unless this machine lacks the command.
func (c *caller) start(ctx context.Context, one *call) {
	if !c.stage.offers(one.provider, one.capability) {
		return
	}
	input := text("")
	p := acmp.InvokeParams{
		Capability: one.capability, Input: &input, OutputType: "text", TimeoutMS: one.timeout.Milliseconds(),
		Stream: !one.whole, ProofMethod: one.proof,
	}
	if one.ceiling != "" {
		n := json.Number(one.ceiling)
		p.MaxPriceCU = &n
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := c.stage.Invoke(ctx, acmp.Invocation{Provider: one.provider, Params: p}); err != nil {
		c.stage.Log.Debug("a task was not started", "capability", one.capability, "error", err)
	}
}
