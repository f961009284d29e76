package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	buyer "signalbox/client/acmp"
	"signalbox/model/acmp"
	"signalbox/model/text"
)

// offerHold is how long an offer is asked to hold beyond the wait for all of them.
const offerHold = 10 * time.Second

// acceptWait bounds one acceptance.
const acceptWait = 5 * time.Second

// quote is what one provider answered.
type quote struct {
	provider string
	offer    *acmp.Offer // nil where err says why
	err      error
	note     string // what became of the offer
	again    bool   // asked a second time already
}

// quotes asks several providers for a price at once and takes the cheapest
// (layer 6, section 5: the others simply expire).
type quotes struct {
	g    *globals
	b    *buyer.Buyer
	wait time.Duration
	req  acmp.OfferRequest
	list []*quote
}

// take asks, accepts the cheapest valid offer and puts its terms into p. It gives
// the provider's name, and the offer.
func (f *invokeFlags) take(ctx context.Context, g *globals, b *buyer.Buyer, specs []buyer.ProviderSpec, p *acmp.InvokeParams) (string, *acmp.Offer, error) {
	hold := (f.quoteWait + offerHold).Milliseconds()
	q := &quotes{g: g, b: b, wait: f.quoteWait, req: acmp.OfferRequest{
		Capability: p.Capability, InputTokensEst: p.InputTokensEst, MaxPriceCU: p.MaxPriceCU,
		PreferredTier: p.PreferredTier, ProofMethod: p.ProofMethod, OfferValidMS: &hold,
	}}
	q.ask(ctx, specs)
	won, ack := q.accept(ctx, p.EscrowID)
	q.show()
	if errors.Is(ctx.Err(), context.Canceled) {
		return "", nil, ctx.Err()
	}
	if won == nil {
		return "", nil, q.none()
	}
	p.OfferID, p.MaxPriceCU = ack.OfferID, &ack.PriceCU
	return won.provider, won.offer, nil
}

// tightDeadline warns of a deadline that leaves no room above the latency that the
// provider promises, or gives "".
func tightDeadline(o *acmp.Offer, timeoutMS int64) string {
	if o == nil || o.LatencySLAMS == nil || timeoutMS > *o.LatencySLAMS {
		return ""
	}
	return fmt.Sprintf("the deadline of %d ms is not above the %d ms in which the provider promises to be done", timeoutMS, *o.LatencySLAMS)
}

// ask sends the requests at the same time and waits for all answers, but not
// longer than the wait.
func (q *quotes) ask(ctx context.Context, specs []buyer.ProviderSpec) {
	var wg sync.WaitGroup
	for _, s := range specs {
		one := &quote{provider: s.Name}
		q.list = append(q.list, one)
		wg.Go(func() { q.request(ctx, one) })
	}
	wg.Wait()
}

func (q *quotes) request(ctx context.Context, one *quote) {
	ctx, cancel := context.WithTimeout(ctx, q.wait)
	defer cancel()
	one.offer, one.err = q.b.Quote(ctx, one.provider, q.req)
	var r *buyer.Refusal
	if one.err != nil && ctx.Err() != nil && (!errors.As(one.err, &r) || !r.Unreachable) {
		one.err = errors.New("no offer in time")
	}
}

// accept takes the cheapest offer; one that expired meanwhile is asked for again,
// once, and one that is refused leaves the place to the next.
func (q *quotes) accept(ctx context.Context, escrow string) (*quote, *acmp.Acceptance) {
	for ctx.Err() == nil {
		best := q.cheapest()
		if best == nil {
			return nil, nil
		}
		if !time.Now().After(best.offer.ValidUntil()) {
			ack, err := q.acceptOne(ctx, best, escrow)
			if err == nil {
				best.note = "accepted"
				return best, ack
			}
			var e *acmp.Error
			if !errors.As(err, &e) || e.Code != acmp.CodeOfferExpired {
				best.note = text.Line(err.Error())
				continue
			}
		}
		if best.again {
			best.note = "expired"
			continue
		}
		best.again = true
		q.request(ctx, best)
	}
	return nil, nil
}

func (q *quotes) acceptOne(ctx context.Context, one *quote, escrow string) (*acmp.Acceptance, error) {
	ctx, cancel := context.WithTimeout(ctx, acceptWait)
	defer cancel()
	return q.b.Accept(ctx, one.provider, one.offer, escrow)
}

// cheapest is the best offer that was not tried in vain: by price, then by the
// promised latency, then as the providers were given.
func (q *quotes) cheapest() *quote {
	var open []*quote
	for _, o := range q.list {
		if o.err == nil && o.note == "" {
			open = append(open, o)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return slices.MinFunc(open, func(a, b *quote) int {
		byPrice, _ := acmp.CompareCU(a.offer.PriceCU, b.offer.PriceCU) // both were checked
		return cmp.Or(byPrice, cmp.Compare(latency(a.offer), latency(b.offer)))
	})
}

func latency(o *acmp.Offer) int64 {
	if o.LatencySLAMS == nil {
		return 1 << 62 // nothing promised comes last
	}
	return *o.LatencySLAMS
}

// show tells all offers: a table on stderr, or one line of --json each.
func (q *quotes) show() {
	if q.g.json {
		for _, o := range q.list {
			_, _ = q.g.sys.Stdout.Write(o.jsonLine())
		}
		return
	}
	w := tabwriter.NewWriter(q.g.sys.Stderr, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROVIDER\tPRICE CU\tLATENCY\tOFFER")
	for _, o := range q.list {
		price, sla := "-", "-"
		if o.err == nil {
			price = string(o.offer.PriceCU)
			if o.offer.LatencySLAMS != nil {
				sla = fmt.Sprintf("%d ms", *o.offer.LatencySLAMS)
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", o.provider, price, sla, o.outcome())
	}
	_ = w.Flush()
}

// outcome says in one line what became of the request.
func (o *quote) outcome() string {
	switch {
	case o.err != nil:
		return text.Line(o.err.Error())
	case o.note != "":
		return o.note
	}
	return "not taken"
}

func (o *quote) jsonLine() []byte {
	line := struct {
		Event    string      `json:"event"`
		At       string      `json:"at_utc"`
		Provider string      `json:"provider"`
		Offer    *acmp.Offer `json:"offer,omitempty"`
		Accepted bool        `json:"accepted"`
		Outcome  string      `json:"outcome"`
	}{"offer", stampUTC(time.Now()), o.provider, o.offer, o.note == "accepted", o.outcome()}
	if o.err != nil {
		line.Offer = nil
	}
	b, err := json.Marshal(line)
	if err != nil {
		return nil
	}
	return append(plainASCII(b), '\n')
}

// none is the error where nothing was taken: 3 where nobody could be reached.
func (q *quotes) none() error {
	unreachable := true
	var why []string
	for _, o := range q.list {
		var r *buyer.Refusal
		unreachable = unreachable && errors.As(o.err, &r) && r.Unreachable
		why = append(why, o.provider+": "+o.outcome())
	}
	code := exitFailed
	if unreachable {
		code = exitUnreachable
	}
	return failf(code, "no offer could be taken (%s)", strings.Join(why, "; "))
}
