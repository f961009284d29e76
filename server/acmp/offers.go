package acmp

import (
	"container/list"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"signalbox/model/acmp"
)

// offers is the provider's side of layer 6. A quote holds nothing here: the
// offer_id itself carries the terms under a key, so that a flood of requests costs no
// memory. State begins with the acceptance; with a data folder it and the key outlive
// this process.
type offers struct {
	key   [32]byte
	limit int
	age   time.Duration
	now   func() time.Time

	mu       sync.Mutex
	accepted map[string]*accepted // by offer_id
	escrows  map[string]*accepted // the same, by principal and escrow_id
	oldest   *list.List           // *accepted
}

// accepted is an offer whose terms bind.
type accepted struct {
	id        string
	principal string
	escrow    string
	terms     terms
	at        time.Time
	used      bool // it has served its one task
	place     *list.Element
}

// terms are what an offer promises.
type terms struct {
	capability string
	price      json.Number
	proof      string
	until      time.Time
}

const (
	offerPrefix   = "offer_"
	offerMac      = 16
	offerHead     = 8 + 8 + 8 + 1 // nonce, end in ms, capability, proof
	maxOfferValid = 10 * time.Minute
	maxPriceBytes = 64
)

func newOffers(l Limits) *offers {
	o := &offers{limit: l.AcceptedOffers, age: l.OutcomeAge, now: time.Now,
		accepted: map[string]*accepted{}, escrows: map[string]*accepted{}, oldest: list.New()}
	_, _ = rand.Read(o.key[:]) // never fails
	return o
}

func (o *offers) mac(payload []byte, principal string) []byte {
	m := hmac.New(sha256.New, o.key[:])
	m.Write(payload)
	m.Write([]byte(principal))
	return m.Sum(nil)[:offerMac]
}

// seal makes the offer_id that carries t for principal.
func (o *offers) seal(t terms, principal string) string {
	b := make([]byte, offerHead, offerHead+len(t.price)+offerMac)
	_, _ = rand.Read(b[:8]) // never fails
	binary.BigEndian.PutUint64(b[8:], uint64(t.until.UnixMilli()))
	copy(b[16:24], capabilityMark(t.capability))
	if t.proof != "" {
		b[24] = 1
	}
	b = append(b, t.price...)
	return offerPrefix + base64.RawURLEncoding.EncodeToString(append(b, o.mac(b, principal)...))
}

// open reads an offer_id back; ok is false for one that was not made here for
// principal. The capability is told by its mark.
func (o *offers) open(id, principal string) (t terms, mark string, ok bool) {
	text, found := strings.CutPrefix(id, offerPrefix)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if !found || err != nil || len(raw) < offerHead+offerMac || base64.RawURLEncoding.EncodeToString(raw) != text { // one spelling only, or it could be accepted twice
		return terms{}, "", false
	}
	b, sum := raw[:len(raw)-offerMac], raw[len(raw)-offerMac:]
	if !hmac.Equal(sum, o.mac(b, principal)) {
		return terms{}, "", false
	}
	t.until = time.UnixMilli(int64(binary.BigEndian.Uint64(b[8:])))
	t.price = json.Number(b[offerHead:])
	if b[24] == 1 {
		t.proof = acmp.ProofResultHash
	}
	return t, string(b[16:24]), true
}

func capabilityMark(name string) string {
	sum := sha256.Sum256([]byte(name))
	return string(sum[:8])
}

// accept binds an offer, once. The codes are those of layer 6, section 6.
func (o *offers) accept(id, escrow, principal string, capOf func(mark string) string) (terms, *acmp.Error) {
	t, mark, ok := o.open(id, principal)
	if t.capability = capOf(mark); !ok || t.capability == "" {
		return t, offerError(acmp.CodeOfferNotFound, "Offer not found", id)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.evictLocked()
	switch {
	case o.accepted[id] != nil:
		return t, offerError(acmp.CodeAlreadyAccepted, "Offer already accepted", id)
	case o.now().After(t.until):
		return t, offerError(acmp.CodeOfferExpired, "Offer expired", id)
	case o.oldest.Len() >= o.limit:
		return t, internalErrorValue("", "as many accepted offers are held as can be")
	}
	o.holdLocked(&accepted{id: id, principal: principal, escrow: escrow, terms: t, at: o.now()})
	return t, nil
}

func (o *offers) holdLocked(a *accepted) {
	a.place = o.oldest.PushBack(a)
	o.accepted[a.id] = a
	if a.escrow != "" {
		o.escrows[a.principal+"\x00"+a.escrow] = a
	}
}

// evictLocked forgets acceptances that are older than outcomes are held.
func (o *offers) evictLocked() {
	for front := o.oldest.Front(); front != nil; front = o.oldest.Front() {
		a := front.Value.(*accepted)
		if o.now().Sub(a.at) <= o.age {
			return
		}
		o.oldest.Remove(front)
		delete(o.accepted, a.id)
		if key := a.principal + "\x00" + a.escrow; o.escrows[key] == a {
			delete(o.escrows, key)
		}
	}
}

// take gives the accepted offer that binds an invoke, nil where none does: the one it
// names, or the one accepted with its escrow. An offer serves one task.
func (o *offers) take(ip *acmp.InvokeParams, principal string) (*accepted, *acmp.Error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.accepted[ip.OfferID]
	switch {
	case ip.OfferID != "" && (a == nil || a.principal != principal || a.terms.capability != ip.Capability):
		return nil, withTaskID(offerError(acmp.CodeOfferNotFound, "Offer not found", ip.OfferID), ip.TaskID)
	case ip.OfferID != "" && a.used:
		return nil, withTaskID(offerError(acmp.CodeAlreadyAccepted, "Offer already used by another task", ip.OfferID), ip.TaskID)
	case ip.OfferID == "" && ip.EscrowID != "":
		a = o.escrows[principal+"\x00"+ip.EscrowID]
	}
	if a == nil || a.used || a.terms.capability != ip.Capability {
		return nil, nil
	}
	a.used = true
	return a, nil
}

func offerError(code int, message, id string) *acmp.Error {
	return newError(code, message, "", map[string]any{"offer_id": id})
}

// settleTerms gives the task its price: what was agreed, else what is asked.
func (p *Provider) settleTerms(t *Task) *acmp.Error {
	price, uses := priceOf(t.cap), ""
	var bad *acmp.Error
	if p.offers != nil {
		var agreed *accepted
		if agreed, bad = p.offers.take(&t.params, t.principal); agreed != nil {
			price, uses = agreed.terms.price, agreed.id
		}
	}
	t.mu.Lock() // a cancel may be recording the task already
	t.price, t.uses = price, uses
	t.mu.Unlock()
	return bad
}

// negotiation answers a request of layer 6.
func (p *Provider) negotiation(env *envelope, principal string) []byte {
	if env.Method == acmp.MethodAccept {
		a, bad := acmp.DecodeAccept(env.Params)
		if bad != nil {
			return response(env.ID, nil, bad)
		}
		t, bad := p.offers.accept(a.OfferID, a.EscrowID, principal, p.capabilityOf)
		if bad == nil {
			bad = p.acceptedOnDisk(a.OfferID)
		}
		return response(env.ID, acmp.Acceptance{OfferID: a.OfferID, EscrowID: a.EscrowID, PriceCU: t.price, ResultType: "complete"}, bad)
	}
	r, bad := acmp.DecodeOfferRequest(env.Params)
	if bad != nil {
		return response(env.ID, nil, bad)
	}
	offer, bad := p.quote(r, principal)
	return response(env.ID, offer, bad)
}

func (p *Provider) capabilityOf(mark string) string {
	for name := range p.live.Load().caps {
		if capabilityMark(name) == mark {
			return name
		}
	}
	return ""
}

// quote makes an offer (layer 6, 2.1): the list price, for as long as was asked and
// at most as long as is configured.
func (p *Provider) quote(r *acmp.OfferRequest, principal string) (*acmp.Offer, *acmp.Error) {
	now := p.live.Load()
	c := now.caps[r.Capability]
	if c == nil {
		return nil, newError(acmp.CodeCapabilityNotFound, "Capability not found", "", map[string]any{"capability": r.Capability})
	}
	if r.ProofMethod != "" && r.ProofMethod != acmp.ProofResultHash {
		return nil, newError(acmp.CodeProofUnsupported, "Proof method unsupported", "", map[string]any{"proof_method": r.ProofMethod})
	}
	price := priceOf(c)
	if r.MaxPriceCU != nil {
		if over, err := acmp.CompareCU(price, *r.MaxPriceCU); err != nil || over > 0 {
			return nil, budgetExceeded("", r.Capability, price)
		}
	}
	if len(price) > maxPriceBytes {
		return nil, internalErrorValue("", "the price has too many digits for an offer")
	}
	valid := now.offerValid
	if r.OfferValidMS != nil && *r.OfferValidMS < valid.Milliseconds() {
		valid = time.Duration(*r.OfferValidMS) * time.Millisecond
	}
	until := p.offers.now().Add(valid).Truncate(time.Millisecond)
	t := terms{capability: r.Capability, price: price, proof: r.ProofMethod, until: until}
	return &acmp.Offer{OfferID: p.offers.seal(t, principal), Capability: r.Capability, PriceCU: price,
		ValidUntilMS: float64(until.UnixMilli()), ProofMethod: r.ProofMethod, ResultType: "complete"}, nil
}
