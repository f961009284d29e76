package acop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"signalbox/model/acop"
)

// LostError is why a lease ended under its holder: the cause of the context that
// [Client.Keep] returned.
type LostError struct {
	ClaimID string
	// Err is the owner's refusal (*acop.Error), or the last failure to reach it
	// when the time ran out.
	Err error
}

// Error implements error in words for people.
func (e *LostError) Error() string {
	return fmt.Sprintf("lease of claim %s lost: %v", e.ClaimID, e.Err)
}

// Unwrap gives the reason.
func (e *LostError) Unwrap() error { return e.Err }

// KeepOptions shape the keeping of one lease.
type KeepOptions struct {
	// Claim is the granted claim; GrantedFrom this program's clock just before
	// the request that made it was sent, so that the lease is never taken for
	// longer than it is. Zero means now.
	Claim       acop.Claim
	GrantedFrom time.Time
	// TTL is the term to ask for at each renewal; 0 means that of the claim.
	TTL time.Duration
	// Progress, if not nil, gives the progress text of the next renewal. It is
	// called from the keeper's goroutine.
	Progress func() string
	// Renewed, if not nil, hears of each renewal. It is called from the keeper's
	// goroutine and must not block.
	Renewed func(acop.Claim)
}

// Keeper renews one lease until it is stopped or the lease is lost.
type Keeper struct {
	c    *Client
	o    KeepOptions
	ttl  time.Duration
	end  time.Time // of the lease, by the keeper's clock
	stop context.CancelFunc

	asleep func() time.Duration // how long the machine was suspended so far
	slept  time.Duration        // the same when the keeper began
	done   chan struct{}
}

// Keep starts to renew a claim at 50 to 80 % of its term (H-034) and returns a
// context that ends with a [LostError] as its cause in the instant the lease is
// lost: the owner refused a renewal for good, or the term ran out unrenewed,
// also when the owner never answers (B50). One failed renewal gives nothing up:
// it is tried again while the lease lasts (B51). Call [Keeper.Stop] when the work
// is done.
//
// The time for which the machine is suspended counts, as it does at the owner: a
// lease that ended meanwhile is lost within a second of waking up.
func (c *Client) Keep(ctx context.Context, o KeepOptions) (context.Context, *Keeper) {
	return c.keep(ctx, o, asleep)
}

func (c *Client) keep(ctx context.Context, o KeepOptions, asleep func() time.Duration) (context.Context, *Keeper) {
	term := o.Claim.ExpiresAtUTC.Sub(o.Claim.GrantedAtUTC) // both by the owner's clock
	if o.GrantedFrom.IsZero() {
		o.GrantedFrom = time.Now()
	}
	k := &Keeper{
		c: c, o: o, ttl: o.TTL, end: o.GrantedFrom.Add(term), done: make(chan struct{}),
		asleep: asleep, slept: asleep(),
	}
	if k.ttl <= 0 {
		k.ttl = term
	}
	runCtx, stop := context.WithCancel(ctx)
	leaseCtx, lost := context.WithCancelCause(ctx)
	k.stop = stop
	go func() {
		defer close(k.done)
		if err := k.run(runCtx); err != nil {
			lost(&LostError{ClaimID: o.Claim.ClaimID, Err: err})
		}
		// Stopped, or the caller's context ended: the lease context is done for.
		lost(context.Canceled)
	}()
	return leaseCtx, k
}

// Stop ends the renewing and waits for it to end. The claim is not released, and
// the lease context ends with context.Canceled.
func (k *Keeper) Stop() {
	k.stop()
	<-k.done
}

const (
	// lookAgain is how often a wait looks whether the machine was suspended meanwhile.
	lookAgain = time.Second
	// leastSleep is what counts as having slept; less comes from reading two clocks.
	leastSleep = 100 * time.Millisecond
)

// now is the time by the keeper's clock: Go's monotonic one, and what the machine
// slept since the keeper began. Only the differences of its times mean anything.
func (k *Keeper) now() time.Time {
	now := time.Now()
	if d := k.asleep() - k.slept; d >= leastSleep {
		return now.Add(d)
	}
	return now
}

// wait returns at a time of the keeper's clock, or with the error of ctx.
func (k *Keeper) wait(ctx context.Context, at time.Time) error {
	for {
		left := at.Sub(k.now())
		if left <= 0 {
			return ctx.Err()
		}
		if err := sleep(ctx, min(left, lookAgain)); err != nil {
			return err
		}
	}
}

// until gives a context that ends at a time of the keeper's clock.
func (k *Keeper) until(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_ = k.wait(ctx, at) // the context ends either way
	}()
	return ctx, cancel
}

// errRanOut is the reason when the term passed without an answer.
var errRanOut = errors.New("the term ran out before a renewal was answered")

// run renews until ctx ends (nil) or the lease is lost.
func (k *Keeper) run(ctx context.Context) error {
	start := k.o.GrantedFrom
	for {
		span := k.end.Sub(start)
		if span <= 0 { // the owner's clock went back, or it tells nonsense
			return errRanOut
		}
		at := start.Add(span/2 + rand.N(span*3/10+1))
		if k.wait(ctx, at) != nil {
			return nil
		}
		sentAt, claim, err := k.renew(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		start, k.end = sentAt, sentAt.Add(k.granted(claim, sentAt))
		if k.o.Renewed != nil {
			k.o.Renewed(*claim)
		}
	}
}

// granted is the term that a renewal sent at sentAt gave, from sentAt on: what
// was asked for, or less where the owner clamped it. The owner's clock at sentAt
// is taken as the time of the grant plus what has passed here since, which errs
// to the short side.
func (k *Keeper) granted(c *acop.Claim, sentAt time.Time) time.Duration {
	ownerNow := k.o.Claim.GrantedAtUTC.Std().Add(sentAt.Sub(k.o.GrantedFrom))
	return min(k.ttl, c.ExpiresAtUTC.Std().Sub(ownerNow))
}

// renew asks until it is answered, refused for good, or the term is over. Each
// try ends before the term does.
func (k *Keeper) renew(ctx context.Context) (time.Time, *acop.Claim, error) {
	ctx, cancel := k.until(ctx, k.end)
	defer cancel()
	last := errRanOut
	for n := 0; ; n++ {
		sentAt := k.now()
		if !sentAt.Before(k.end) {
			return sentAt, nil, last
		}
		claim, err := k.try(ctx, k.end.Sub(sentAt))
		if err == nil {
			return sentAt, claim, nil
		}
		if !transient(err) && ctx.Err() == nil {
			return sentAt, nil, err
		}
		if ctx.Err() == nil {
			last = fmt.Errorf("%w: %w", errRanOut, err)
			k.c.log.Warn("a renewal failed, the lease still stands",
				"claim", k.o.Claim.ClaimID, "left", k.end.Sub(k.now()), "error", err)
		}
		if sleep(ctx, pause(n, err)) != nil {
			return sentAt, nil, last
		}
	}
}

// try is one renewal, bounded to half of what is left so that another can follow.
// Each try is an act of its own with its own key: the stored answer of an earlier
// one would tell an older end of the lease (B63).
func (k *Keeper) try(ctx context.Context, left time.Duration) (*acop.Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, max(left/2, 50*time.Millisecond))
	defer cancel()
	act := acop.Act{
		Verb:       acop.VerbRenew,
		ClaimID:    k.o.Claim.ClaimID,
		TTLSeconds: int64((k.ttl + time.Second - 1) / time.Second),
	}
	if k.o.Progress != nil {
		act.Reason = k.o.Progress()
	}
	r, err := k.c.once(ctx, act)
	if err != nil {
		return nil, err
	}
	if r.Claim.ClaimStatus != acop.ClaimActive {
		return nil, &acop.Error{Code: acop.CodeClaimReleased, Status: 409, Message: "the claim is " + string(r.Claim.ClaimStatus)}
	}
	return r.Claim, nil
}
