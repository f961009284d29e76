package demo

import (
	"context"
	"fmt"
	"time"

	buyer "signalbox/client/acmp"
	client "signalbox/client/acop"
	"signalbox/model/acmp"
	"signalbox/model/acop"
)

// worker is one simulated agent: it looks for work, claims it, works on it with
// signs of life, completes it, and stops when it is told to.
type worker struct {
	*actor
	member
	shifts int                  // begun
	avoid  map[string]time.Time // items not to try again before
	// buyer and results serve a consulter: the outcome of its present task.
	buyer   *buyer.Buyer
	results chan acmp.TaskEvent
}

func newWorker(a *actor, m member) *worker {
	return &worker{actor: a, member: m, avoid: map[string]time.Time{}, results: make(chan acmp.TaskEvent, 1)}
}

func (w *worker) live(ctx context.Context) {
	defer w.c.Close()
	if !wait(ctx, w.arrive) {
		return
	}
	if w.habit == consulter && len(w.st.Providers) > 0 {
		w.openBuyer()
		defer w.closeBuyer(ctx)
	}
	for ctx.Err() == nil {
		if w.habit == reviewer { // it has no time for work of its own
			w.review(ctx)
			w.between(ctx, 2*time.Second, 4*time.Second)
			continue
		}
		row := w.pick(ctx)
		if row == nil {
			w.between(ctx, 700*time.Millisecond, 1800*time.Millisecond)
			continue
		}
		w.take(ctx, row)
		w.between(ctx, 600*time.Millisecond, 2500*time.Millisecond)
	}
}

// pick asks for the latest actionable work and chooses with the worker's dice.
func (w *worker) pick(ctx context.Context) *client.Row {
	list, err := w.c.Items(ctx, client.Query{Agent: w.actor.id, Actionable: true, Order: "priority", Limit: 30})
	if err != nil {
		return nil
	}
	now := time.Now()
	var free []*client.Row
	for i := range list.WorkItems {
		r := &list.WorkItems[i]
		if now.Before(w.avoid[r.WorkItem.WorkItemID]) {
			continue
		}
		if r.WorkItem.TargetAgentUID == w.actor.id || w.habit == collider && len(r.Overlaps) > 0 {
			return r
		}
		if len(r.Overlaps) > 0 {
			continue // the rules would leave it to the lead
		}
		free = append(free, r)
	}
	if len(free) == 0 {
		return nil
	}
	return free[w.rng.IntN(min(3, len(free)))]
}

// take claims an item, waits for the lead where the owner says so, and works.
func (w *worker) take(ctx context.Context, row *client.Row) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := row.WorkItem.WorkItemID
	news := w.listen(ctx, id, row.Revision)
	act := acop.Act{Verb: acop.VerbClaim, WorkItemID: id, TTLSeconds: w.ttl}
	sent := time.Now()
	r, err := w.do(ctx, act)
	if codeOf(err) == acop.CodeGateBlocked {
		r, sent, err = w.await(ctx, act, news, err)
	}
	if err != nil {
		w.avoid[id] = time.Now().Add(20 * time.Second)
		return
	}
	if r.Replayed {
		// The stored answer may describe the past (B63).
		if c, err := w.c.Claim(ctx, r.Claim.ClaimID); err != nil || c.ClaimStatus != acop.ClaimActive {
			return
		}
	}
	w.shifts++
	s := &shift{worker: w, row: row, claim: *r.Claim, granted: sent, news: news}
	s.work(ctx)
}

// await waits until a lead has decided on the request that err told of.
func (w *worker) await(ctx context.Context, act acop.Act, news <-chan acop.Event, err error) (*acop.Receipt, time.Time, error) {
	intent, _ := detail(err, "claim_intent_id").(string)
	if intent == "" { // frozen, or denied before: nothing to wait for
		w.between(ctx, 4*time.Second, 8*time.Second)
		return nil, time.Time{}, err
	}
	enough := time.After(4 * time.Minute)
	for {
		select {
		case <-ctx.Done():
			return nil, time.Time{}, ctx.Err()
		case <-enough:
			return nil, time.Time{}, err
		case e, ok := <-news:
			if !ok {
				return nil, time.Time{}, err
			}
			switch decision(&e, intent) {
			case acop.IntentGranted:
				act.IntentID = intent
				sent := time.Now()
				r, err := w.do(ctx, act)
				return r, sent, err
			case acop.IntentDenied, acop.IntentExpired, acop.IntentWithdrawn:
				w.note(ctx, act.WorkItemID, acop.EntryIntegrationNote, fmt.Sprintf("%s takes other work: the request was refused", w.actor.id), e.Reason)
				w.avoid[act.WorkItemID] = time.Now().Add(2 * time.Minute)
				return nil, time.Time{}, err
			}
		}
	}
}

// decision is what an event says about an intent, "" for nothing.
func decision(e *acop.Event, intent string) acop.IntentState {
	if e.Intent != nil && e.Intent.ClaimIntent.ClaimIntentID == intent && e.Intent.State != acop.IntentWaiting {
		return e.Intent.State
	}
	if e.Item != nil {
		for _, n := range e.Item.Intents {
			if n.ClaimIntent.ClaimIntentID == intent && n.State != acop.IntentWaiting {
				return n.State
			}
		}
	}
	return ""
}

// detail reads one detail of a refusal.
func detail(err error, key string) any {
	var e *acop.Error
	if !asError(err, &e) {
		return nil
	}
	return e.Details[key]
}

// listen follows the events of one item. The channel is closed when the stream
// ends for good.
func (w *worker) listen(ctx context.Context, item string, after uint64) <-chan acop.Event {
	news := make(chan acop.Event, 64)
	go func() {
		defer close(news)
		_ = w.c.Events(ctx, client.EventQuery{WorkItem: item, After: after}, func(events []acop.Event) error {
			for _, e := range events {
				if e.Actor == w.actor.id {
					continue
				}
				select {
				case news <- e:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		}, nil)
	}()
	return news
}

// patience is how long completed work and questions are left to the lead before
// the reviewer helps out, so that a box whose lead looks elsewhere stays lively.
const patience = 40 * time.Second

// review does one thing that the lead has left for long: it accepts completed
// work of others or answers a question. It reports whether there was one.
func (w *worker) review(ctx context.Context) bool {
	snap, err := w.c.Snapshot(ctx)
	if err != nil {
		return false
	}
	var oldest *acop.Item
	for _, i := range snap.Items {
		if i.Status() != acop.StatusCompleted || i.Completion == nil || i.Completion.CompletedBy == w.actor.id {
			continue
		}
		if oldest == nil || i.StatusSinceUTC.Before(oldest.StatusSinceUTC) {
			oldest = i
		}
	}
	if oldest != nil && snap.AtUTC.Sub(oldest.StatusSinceUTC) > patience {
		_, err := w.do(ctx, acop.Act{Verb: acop.VerbAccept, WorkItemID: oldest.ID(), IfRevision: oldest.Revision,
			Reason: "evidence read, looks right"})
		return err == nil
	}
	return w.answer(ctx, snap)
}

// answer decides the oldest open question when it has waited for long.
func (w *worker) answer(ctx context.Context, snap *acop.Snapshot) bool {
	var open []*acop.BlackboardEntry
	answered := map[string]bool{}
	for i := range snap.Entries {
		e := &snap.Entries[i].Entry
		for _, id := range e.SupersedesEntryIDs {
			answered[id] = true
		}
	}
	for i := range snap.Entries {
		e := &snap.Entries[i].Entry
		if e.EntryKind == acop.EntryReviewRequest && !answered[e.EntryID] {
			open = append(open, e)
		}
	}
	if len(open) == 0 || snap.AtUTC.Sub(open[0].CreatedAtUTC) < patience {
		return false
	}
	return w.post(ctx, open[0].WorkItemID, acop.BlackboardEntry{
		EntryKind: acop.EntryDecision, Summary: "answered: keep it as it is", SupersedesEntryIDs: []string{open[0].EntryID},
	}) != ""
}

func (w *worker) openBuyer() {
	b, err := w.consult(func(e acmp.TaskEvent) {
		if e.Kind == acmp.EventResult || e.Kind == acmp.EventError {
			select {
			case w.results <- e:
			default:
			}
		}
	})
	if err == nil {
		w.buyer = b
	}
}

func (w *worker) closeBuyer(ctx context.Context) {
	if w.buyer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = w.buyer.Close(ctx)
}
