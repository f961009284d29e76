package acmp

import "signalbox/model/acmp"

// What the journal keeps of layer 6: the key, so that an offer_id is still known for
// what it is, and each acceptance, so that it binds once.

// acceptedOnDisk returns when the acceptance of id is kept: only then may it be told.
func (p *Provider) acceptedOnDisk(id string) *acmp.Error {
	if p.journal == nil {
		return nil
	}
	p.offers.mu.Lock()
	a := p.offers.accepted[id]
	if a == nil { // as old as outcomes may be: nothing to keep
		p.offers.mu.Unlock()
		return nil
	}
	rec := a.record()
	p.offers.mu.Unlock()
	if p.journal.append(rec) != nil { // the journal has told the log
		return internalErrorValue("", "the acceptance cannot be recorded")
	}
	return nil
}

// record is the acceptance as the journal keeps it. The lock of the offers is held.
func (a *accepted) record() record {
	return record{Principal: a.principal, At: a.at, Price: a.terms.price, Offer: &offerRecord{
		ID: a.id, Capability: a.terms.capability, Escrow: a.escrow, Proof: a.terms.proof, Until: a.terms.until, Used: a.used,
	}}
}

// records gives the key and what is accepted, oldest first.
func (o *offers) records(write func(record) error) error {
	o.mu.Lock()
	o.evictLocked()
	recs := []record{{OfferKey: o.key[:]}}
	for el := o.oldest.Front(); el != nil; el = el.Next() {
		recs = append(recs, el.Value.(*accepted).record())
	}
	o.mu.Unlock()
	for _, r := range recs {
		if err := write(r); err != nil {
			return err
		}
	}
	return nil
}

// restore takes what one record tells of offers. Records come in the order in which
// they were written, and the same may come twice.
func (o *offers) restore(r record) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(r.OfferKey) == len(o.key) {
		copy(o.key[:], r.OfferKey)
	}
	if a := o.accepted[r.Uses]; a != nil {
		a.used = true
	}
	f := r.Offer
	if f == nil {
		return
	}
	if a := o.accepted[f.ID]; a != nil {
		a.used = a.used || f.Used
		return
	}
	o.holdLocked(&accepted{id: f.ID, principal: r.Principal, escrow: f.Escrow, at: r.At, used: f.Used,
		terms: terms{capability: f.Capability, price: r.Price, proof: f.Proof, until: f.Until}})
}
