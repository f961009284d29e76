package demo

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	buyer "signalbox/client/acmp"
	client "signalbox/client/acop"
	"signalbox/model/acmp"
	"signalbox/model/acop"
)

// World says where the story takes place. OwnerURL and Token are needed.
type World struct {
	// OwnerURL is the base of the owner's API.
	OwnerURL string
	// Token makes the bearer token of an identity; it is called once for each.
	Token func(identity string, role acop.Role) string
	// Providers are the ACMP endpoints that workers consult, and that Invoke may
	// name. Empty: nobody consults or invokes.
	Providers []ProviderAt
	// Invoke starts a task as the lead's own buyer, so that it shows on the
	// lead's screen; nil: none are started.
	Invoke func(context.Context, acmp.Invocation) (string, error)
	// Seed makes the story and the workers' choices repeatable.
	Seed uint64
	// Log takes what a person who looks for a fault needs; nil discards it.
	Log *slog.Logger
}

// ProviderAt is one provider of the demo: its name in this program, the URL of
// its MCP endpoint and the names of what it can do on this machine.
type ProviderAt struct {
	Name, URL    string
	Capabilities []string
}

// offers reports whether a provider of the demo can do this here.
func (s *stage) offers(provider, capability string) bool {
	return slices.ContainsFunc(s.Providers, func(p ProviderAt) bool {
		return p.Name == provider && slices.Contains(p.Capabilities, capability)
	})
}

// stage is a World with what its actors share.
type stage struct {
	World
	started time.Time
}

// Run plays until ctx ends and then waits for every actor to leave. It returns
// nil unless the world cannot be entered at all.
func Run(ctx context.Context, w World) error {
	if w.OwnerURL == "" || w.Token == nil {
		return errors.New("the demo needs an owner and a way to get tokens")
	}
	if w.Log == nil {
		w.Log = slog.New(slog.DiscardHandler)
	}
	st := &stage{World: w, started: time.Now()}
	planner, err := st.enter(producerID, acop.RoleProducer)
	if err != nil {
		return err
	}
	conduct, err := st.enter(conductorID, acop.RoleOrchestrator)
	if err != nil {
		return err
	}
	var actors sync.WaitGroup
	actors.Go(func() { (&producer{actor: planner, teller: newTeller(w.Seed)}).live(ctx) })
	actors.Go(func() { (&conductor{actor: conduct}).live(ctx) })
	for _, m := range castOf {
		a, err := st.enter(m.id, acop.RoleWorker)
		if err != nil {
			return err
		}
		actors.Go(func() { newWorker(a, m).live(ctx) })
	}
	if w.Invoke != nil {
		actors.Go(func() { (&caller{stage: st}).live(ctx) })
	}
	actors.Wait()
	return nil
}

// actor is one identity with its own client and its own dice.
type actor struct {
	st  *stage
	id  string
	c   *client.Client
	rng *rand.Rand
	log *slog.Logger
}

func (s *stage) enter(id string, role acop.Role) (*actor, error) {
	c, err := client.New(client.Options{
		BaseURL: s.OwnerURL, Token: client.Token(s.Token(id, role)), Identity: id, Log: s.Log.With("actor", id),
	})
	if err != nil {
		return nil, fmt.Errorf("enter the demo as %s: %w", id, err)
	}
	h := fnv.New64a()
	h.Write([]byte(id))
	return &actor{st: s, id: id, c: c, rng: rand.New(rand.NewPCG(s.Seed, h.Sum64())), log: s.Log.With("actor", id)}, nil
}

// do carries out an act and logs a refusal; what follows from it is the
// caller's decision.
func (a *actor) do(ctx context.Context, act acop.Act) (*acop.Receipt, error) {
	r, err := a.c.Do(ctx, act)
	if err != nil && ctx.Err() == nil {
		a.log.Debug("refused", "verb", act.Verb, "item", act.WorkItemID, "error", err)
	}
	return r, err
}

// post writes on the blackboard and gives the entry's id, "" if that failed.
func (a *actor) post(ctx context.Context, item string, e acop.BlackboardEntry) string {
	e.WorkItemID = item
	r, err := a.do(ctx, acop.Act{Verb: acop.VerbPost, WorkItemID: item, Entry: &e})
	if err != nil {
		return ""
	}
	return r.Entry.EntryID
}

// note posts a short entry.
func (a *actor) note(ctx context.Context, item string, kind acop.EntryKind, summary, details string) string {
	return a.post(ctx, item, acop.BlackboardEntry{EntryKind: kind, Summary: summary, Details: details})
}

// between waits a random time in [lo, hi] and reports whether ctx still runs.
func (a *actor) between(ctx context.Context, lo, hi time.Duration) bool {
	return wait(ctx, lo+upTo(a.rng, hi-lo))
}

// wait reports whether d passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// codeOf is the code of a refusal, "" for anything else.
func codeOf(err error) acop.Code {
	var e *acop.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// consult opens a buyer of the actor's own, told goes each event of its tasks.
func (a *actor) consult(told func(acmp.TaskEvent)) (*buyer.Buyer, error) {
	var specs []buyer.ProviderSpec
	for _, p := range a.st.Providers {
		specs = append(specs, buyer.ProviderSpec{Name: p.Name, URL: p.URL})
	}
	return buyer.New(buyer.Options{Providers: specs, Events: told, Log: a.log, NoReattach: true, ProbeEvery: time.Minute})
}

// upTo is a random time from 0 to d.
func upTo(rng *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(d) + 1))
}
