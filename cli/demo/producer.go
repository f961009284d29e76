package demo

import (
	"context"
	"time"

	"signalbox/model/acop"
)

const (
	// wanted is how many open items the producer keeps on the board.
	wanted = 26
	// maxAsks bounds the items that wait for a decision at the same time.
	maxAsks = 4
	// refillEvery is how often the producer looks at the board.
	refillEvery = 3 * time.Second
)

// producer puts the story on the board and keeps it full.
type producer struct {
	*actor
	teller *teller
}

func (p *producer) live(ctx context.Context) {
	defer p.c.Close()
	for range opening {
		s := p.teller.next(true)
		if !p.put(ctx, &s, func(string) bool { return true }) && ctx.Err() != nil {
			return
		}
	}
	for wait(ctx, refillEvery) {
		p.refill(ctx)
	}
}

// refill adds one or two scenes when the board is getting empty.
func (p *producer) refill(ctx context.Context) {
	snap, err := p.c.Snapshot(ctx)
	if err != nil {
		return
	}
	open, asks := map[string]bool{}, 0
	for _, i := range snap.Items {
		switch i.Status() {
		case acop.StatusAccepted, acop.StatusCompleted:
			continue
		case acop.StatusRequiresAttention:
			asks++
		}
		open[i.ID()] = true
	}
	for n := 0; n < 2 && len(open)+n < wanted; n++ {
		s := p.teller.next(asks < maxAsks) // else the lead has enough to decide
		p.put(ctx, &s, func(id string) bool { return open[id] })
	}
}

func (p *producer) put(ctx context.Context, s *scene, open func(string) bool) bool {
	d := s.document(p.id, time.Now(), open)
	_, err := p.do(ctx, acop.Act{Verb: acop.VerbPut, WorkItemID: s.id, Document: d})
	return err == nil
}
