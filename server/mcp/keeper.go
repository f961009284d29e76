package mcp

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"signalbox/model/acop"
)

const (
	// tellLost is how long a lost claim is told in every result: a model may
	// overlook it once.
	tellLost = 10 * time.Minute
	// keepRetry bounds the pause between two tries of a renewal.
	keepRetry = 5 * time.Second
)

// keeper remembers the claims of those who call and renews them. What it
// remembers is never truth, only what was last seen and what was asked for.
type keeper struct {
	staleAfter time.Duration
	stateless  bool // over HTTP: each call renews, and nothing is adopted
	log        *slog.Logger
	poke       chan struct{} // something may be due

	mu    sync.Mutex
	life  time.Time // the last sign of life of the agent on stdio
	known map[string]map[string]*mark
	// seen are the identities whose claims were listed before: what is new to such
	// a one was granted while this process lives, by itself or by a lead.
	seen map[string]bool
}

// mark is what is remembered of one claim.
type mark struct {
	item    string
	manual  bool      // auto_renew false
	adopted bool      // claimed or reported on through this process
	seen    bool      // was among the live claims
	gone    bool      // is no longer, and nobody has asked why
	beat    acop.Time // receipt of the last heartbeat, by the owner's clock
	term    time.Duration
	due     time.Time // when to renew, by this process's clock
	lost    *loss
	lostAt  time.Time
}

func newKeeper(staleAfter time.Duration, log *slog.Logger) *keeper {
	return &keeper{staleAfter: staleAfter, log: log, poke: make(chan struct{}, 1), known: map[string]map[string]*mark{}, seen: map[string]bool{}}
}

// alive notes a sign of life of the agent.
func (k *keeper) alive() {
	k.mu.Lock()
	k.life = time.Now()
	k.mu.Unlock()
	k.wake()
}

func (k *keeper) wake() {
	select {
	case k.poke <- struct{}{}:
	default:
	}
}

// mark finds or makes what is remembered of a claim. k.mu is held.
func (k *keeper) mark(who, claimID, item string) *mark {
	claims := k.known[who]
	if claims == nil {
		claims = map[string]*mark{}
		k.known[who] = claims
	}
	m := claims[claimID]
	if m == nil {
		m = &mark{item: item}
		claims[claimID] = m
	}
	return m
}

// adopt makes this process answer for a claim; auto, when not nil, says whether
// it renews it.
func (k *keeper) adopt(who string, c *acop.Claim, auto *bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.mark(who, c.ClaimID, c.WorkItemID)
	m.adopted = true
	if auto != nil {
		m.manual = !*auto
	}
}

// forget drops a claim that its holder ended.
func (k *keeper) forget(who, claimID string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(who, claimID)
}

func (k *keeper) drop(who, claimID string) {
	delete(k.known[who], claimID)
	if len(k.known[who]) == 0 {
		delete(k.known, who)
	}
}

// observe takes over what the owner says that an identity holds.
func (k *keeper) observe(who string, held *Claims) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	live := map[string]bool{}
	for i := range held.Claims {
		h := &held.Claims[i]
		live[h.Claim.ClaimID] = true
		m := k.mark(who, h.Claim.ClaimID, h.Claim.WorkItemID)
		m.adopted = m.adopted || !m.seen && k.seen[who]
		left := leftOf(held.AtUTC, h)
		m.term = termOf(h)
		m.due = now.Add(left - m.term*2/5) // 60 % of the term is over
		if h.Lease != nil && !h.Lease.HeartbeatAtUTC.Equal(m.beat) {
			if m.seen { // a heartbeat that came past this process, such as a hook's
				k.life = now
			}
			m.beat = h.Lease.HeartbeatAtUTC
		}
		m.seen, m.gone = true, false
	}
	for id, m := range k.known[who] {
		m.gone = !live[id] && m.lost == nil
	}
	if !k.stateless {
		k.seen[who] = true
	}
	k.wake()
}

// leftOf is what is left of a lease, by the owner's clock where it was told.
func leftOf(at acop.Time, h *Held) time.Duration {
	if at.IsZero() {
		at = acop.NewTime(time.Now())
	}
	return max(0, h.Claim.ExpiresAtUTC.Sub(at))
}

func termOf(h *Held) time.Duration {
	if h.Lease != nil && h.Lease.TTLSeconds > 0 {
		return time.Duration(h.Lease.TTLSeconds) * time.Second
	}
	return h.Claim.ExpiresAtUTC.Sub(h.Claim.GrantedAtUTC)
}

// holding is a live claim as its holder is told of it.
func (k *keeper) holding(who string, at acop.Time, h *Held, http bool) holding {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.mark(who, h.Claim.ClaimID, h.Claim.WorkItemID)
	return holding{ClaimID: h.Claim.ClaimID, WorkItemID: h.Claim.WorkItemID, WorkItemStatus: h.Status, ExpiresAtUTC: h.Claim.ExpiresAtUTC,
		SecondsLeft: int64(leftOf(at, h) / time.Second), AutoRenew: !m.manual && (http || m.adopted), left: !m.manual && !http && !m.adopted}
}

// renewAll renews what an identity holds, because it has just called. It reports
// whether anything was renewed. A lease that is as good as new is left alone.
func (k *keeper) renewAll(ctx context.Context, o Owner, who string, held *Claims) (renewed bool) {
	for i := range held.Claims {
		h := &held.Claims[i]
		k.mu.Lock()
		manual := k.mark(who, h.Claim.ClaimID, h.Claim.WorkItemID).manual
		k.mu.Unlock()
		term := termOf(h)
		if manual || term-leftOf(held.AtUTC, h) < min(time.Second, term/10) {
			continue
		}
		_, err := o.Do(ctx, acop.Act{Verb: acop.VerbRenew, ClaimID: h.Claim.ClaimID})
		renewed = renewed || err == nil
		if err != nil {
			k.log.Info("a lease was not renewed", "claim_id", h.Claim.ClaimID, "error", err)
		}
	}
	return renewed
}

// run renews the claims of the agent on stdio until ctx ends.
func (k *keeper) run(ctx context.Context, o Owner) {
	for {
		var due <-chan time.Time // nil: nothing to wait for
		if at := k.nextDue(); !at.IsZero() {
			due = time.After(time.Until(at))
		}
		select {
		case <-ctx.Done():
			return
		case <-k.poke:
		case <-due:
			k.look(ctx, o)
		}
	}
}

// mine reports whether this process renews the claim.
func (m *mark) mine() bool { return m.adopted && !m.manual && m.seen && !m.gone && m.lost == nil }

// nextDue is when the first lease is to be renewed; zero for never.
func (k *keeper) nextDue() (at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, claims := range k.known {
		for _, m := range claims {
			if m.mine() && (at.IsZero() || m.due.Before(at)) {
				at = m.due
			}
		}
	}
	return at
}

// look asks the owner anew, then renews what is due while the agent is alive.
func (k *keeper) look(ctx context.Context, o Owner) {
	k.mu.Lock()
	who := ""
	for id := range k.known { // on stdio there is one
		who = id
	}
	k.mu.Unlock()
	if who == "" {
		return // given back meanwhile; without a name everybody's claims would be read
	}
	held, err := o.Claims(ctx, who)
	if err != nil {
		k.later(who)
		return
	}
	k.observe(who, held)
	for i := range held.Claims {
		k.renewDue(ctx, o, who, held.Claims[i].Claim.ClaimID)
	}
}

// later puts off what is due: nobody answered, or the agent shows no life.
func (k *keeper) later(who string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	for _, m := range k.known[who] {
		if m.due.Before(now) {
			m.due = now.Add(max(50*time.Millisecond, min(keepRetry, m.term/10)))
		}
	}
}

func (k *keeper) renewDue(ctx context.Context, o Owner, who, claimID string) {
	k.mu.Lock()
	m := k.known[who][claimID]
	sent := time.Now()
	due := m != nil && m.mine() && !sent.Before(m.due)
	alive := time.Since(k.life) < k.staleAfter
	k.mu.Unlock()
	if !due {
		return
	}
	if !alive {
		k.log.Info("a lease is not renewed: the agent has shown no life", "claim_id", claimID, "for", k.staleAfter)
		k.later(who)
		return
	}
	_, err := o.Do(ctx, acop.Act{Verb: acop.VerbRenew, ClaimID: claimID})
	if err != nil {
		k.log.Info("a lease was not renewed", "claim_id", claimID, "error", err)
		k.later(who)
		return
	}
	k.mu.Lock()
	m.due = sent.Add(m.term * 3 / 5)
	k.mu.Unlock()
}

// losses finds out why claims ended and tells of each for a while.
func (k *keeper) losses(ctx context.Context, o Owner, who string) []loss {
	k.mu.Lock()
	var ask []string
	for id, m := range k.known[who] {
		if m.gone {
			ask = append(ask, id)
		}
	}
	k.mu.Unlock()
	for _, id := range ask {
		k.settle(who, id, why(ctx, o, id))
	}
	return k.told(who)
}

// told lists the losses that are still news, and drops the others.
func (k *keeper) told(who string) (out []loss) {
	k.mu.Lock()
	defer k.mu.Unlock()
	defer func() { slices.SortFunc(out, func(a, b loss) int { return strings.Compare(a.ClaimID, b.ClaimID) }) }()
	for id, m := range k.known[who] {
		switch {
		case m.lost == nil:
		case time.Since(m.lostAt) > tellLost:
			k.drop(who, id)
		default:
			out = append(out, *m.lost)
		}
	}
	return out
}

// settle notes what became of a claim that is no longer held.
func (k *keeper) settle(who, id string, l *loss) {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.known[who][id]
	if m == nil || l == nil {
		return // ended by its holder meanwhile, or nobody could tell: asked again next time
	}
	switch l.ClaimStatus {
	case acop.ClaimActive: // granted after the list was made
		m.gone = false
	case acop.ClaimReleased: // its holder gave it back or completed it
		k.drop(who, id)
	default:
		m.gone, m.lost, m.lostAt = false, l, time.Now()
	}
}

// why asks what became of a claim; nil when the owner cannot tell now.
func why(ctx context.Context, o Owner, id string) *loss {
	c, err := o.Claim(ctx, id)
	if err != nil {
		var e *acop.Error
		if errors.As(err, &e) && e.Code == acop.CodeClaimNotFound {
			return &loss{ClaimID: id, ClaimStatus: acop.ClaimReleased} // of another log
		}
		return nil
	}
	l := &loss{ClaimID: id, WorkItemID: c.WorkItemID, ClaimStatus: c.ClaimStatus}
	if c.ClaimStatus != acop.ClaimRevoked {
		return l
	}
	d, err := o.Detail(ctx, c.WorkItemID)
	if err != nil {
		return l
	}
	for _, e := range d.Events {
		if e.ClaimID == id && e.Verb != string(acop.VerbRefused) || e.Claim != nil && e.Claim.ClaimID == id {
			l.By, l.Reason = e.Actor, e.Reason // the last one is what ended it
		}
	}
	return l
}
