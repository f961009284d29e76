package acop

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"signalbox/model/acop"
)

// granted makes a claim of ttl as of the fake clock.
func granted(ttl time.Duration) acop.Claim {
	now := acop.NewTime(time.Now())
	return acop.Claim{ClaimID: "c/1", WorkItemID: "w", WorkerAgentUID: "me", GrantedAtUTC: now, ExpiresAtUTC: now.Add(ttl), ClaimStatus: acop.ClaimActive}
}

func renewed(c acop.Claim, ttl time.Duration) *http.Response {
	return respond(200, nil, fmt.Sprintf(`{"revision":1,"work_item_status":"in_progress","claim":{"claim_id":"c/1","work_item_id":"w","worker_agent_uid":"me","granted_at_utc":%q,"expires_at_utc":%q,"claim_status":"active"}}`,
		c.GrantedAtUTC, acop.NewTime(time.Now().Add(ttl))))
}

// lossOf waits for the lease to end and tells when and why.
func lossOf(t *testing.T, ctx context.Context, start time.Time) (time.Duration, error) {
	t.Helper()
	<-ctx.Done()
	var lost *LostError
	if !errors.As(context.Cause(ctx), &lost) {
		t.Fatalf("cause = %v, want a LostError", context.Cause(ctx))
	}
	return time.Since(start), lost
}

// TestKeepRenewsInTime covers H-034: every renewal at 50 to 80 % of the term.
func TestKeepRenewsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 10 * time.Second
		claim := granted(ttl)
		last := time.Now()
		n := 0
		c := tripClient(t, 0, func(*http.Request) (*http.Response, error) {
			if gap := time.Since(last); gap < ttl/2 || gap > ttl*8/10 {
				t.Errorf("renewal after %s", gap)
			}
			last = time.Now()
			n++
			return renewed(claim, ttl), nil
		})
		ctx, k := c.Keep(t.Context(), KeepOptions{Claim: claim, Progress: func() string { return "on it" }})
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if n < 37 || n > 60 || ctx.Err() != nil {
			t.Errorf("%d renewals, ctx %v", n, context.Cause(ctx))
		}
		k.Stop()
		if context.Cause(ctx) != context.Canceled {
			t.Errorf("cause after Stop = %v", context.Cause(ctx))
		}
	})
}

// TestKeepSilentOwner covers B50: an owner that never answers, and one whose
// packets are dropped, lead to "lost" at the end of the term, not minutes later.
func TestKeepSilentOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tripClient(t, 0, func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		start := time.Now()
		ctx, k := c.Keep(t.Context(), KeepOptions{Claim: granted(10 * time.Second)})
		defer k.Stop()
		after, err := lossOf(t, ctx, start)
		if after > 10*time.Second || after < 9900*time.Millisecond {
			t.Errorf("lost after %s: %v", after, err)
		}
	})
}

// TestKeepSurvivesFailures covers B51: 503, then a time-out, then 200, all within
// the term: the lease is kept.
func TestKeepSurvivesFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claim := granted(20 * time.Second)
		n := 0
		c := tripClient(t, 0, func(r *http.Request) (*http.Response, error) {
			n++
			switch n {
			case 1:
				return respond(503, map[string]string{"Retry-After": "1"}, refusal("backend_unavailable", "")), nil
			case 2:
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return renewed(claim, 20*time.Second), nil
		})
		ctx, k := c.Keep(t.Context(), KeepOptions{Claim: claim})
		time.Sleep(25 * time.Second)
		synctest.Wait()
		if ctx.Err() != nil || n < 3 {
			t.Errorf("after %d requests: %v", n, context.Cause(ctx))
		}
		k.Stop()
	})
}

// TestKeepRefused: a refusal for good ends the lease at once (C.3).
func TestKeepRefused(t *testing.T) {
	for _, code := range []acop.Code{acop.CodeClaimRevoked, acop.CodeLeaseExpired, acop.CodeClaimReleased, acop.CodeUnauthorizedWorker, acop.CodeForbidden} {
		t.Run(string(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := tripClient(t, 0, func(*http.Request) (*http.Response, error) {
					return respond(acop.Info(code).Status, nil, refusal(string(code), "")), nil
				})
				start := time.Now()
				ctx, k := c.Keep(t.Context(), KeepOptions{Claim: granted(10 * time.Second)})
				defer k.Stop()
				after, err := lossOf(t, ctx, start)
				if after > 8*time.Second || !isCode(err, code) {
					t.Errorf("lost after %s: %v", after, err)
				}
			})
		})
	}
}

// TestKeepClamped: where the owner grants less than asked for, the shorter term
// counts.
func TestKeepClamped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claim := granted(10 * time.Second)
		last := time.Now()
		c := tripClient(t, 0, func(*http.Request) (*http.Response, error) {
			if gap := time.Since(last); gap > 8*time.Second {
				t.Errorf("renewal after %s of a 10 s term", gap)
			}
			last = time.Now()
			return renewed(claim, 10*time.Second), nil
		})
		ctx, k := c.Keep(t.Context(), KeepOptions{Claim: claim, TTL: time.Hour})
		time.Sleep(2 * time.Minute)
		if ctx.Err() != nil {
			t.Errorf("lost: %v", context.Cause(ctx))
		}
		k.Stop()
	})
}

// TestKeepSuspended: the time for which the machine sleeps counts. A lease that
// ended meanwhile is lost at once, and one that is near its end is renewed at once,
// whatever Go's clock says; also while a renewal is under way.
func TestKeepSuspended(t *testing.T) {
	const ttl = time.Minute
	for name, c := range map[string]struct {
		awake, asleep time.Duration
		silent, lost  bool
	}{
		"beyond the end":                  {10 * time.Second, time.Hour, false, true},
		"beyond the end, without answers": {50 * time.Second, time.Hour, true, true},
		"near the end":                    {10 * time.Second, 45 * time.Second, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				claim := granted(ttl)
				var slept atomic.Int64
				slept.Store(int64(24 * time.Hour)) // before the keeper began; it means nothing
				var asked atomic.Int64
				cl := tripClient(t, 0, func(r *http.Request) (*http.Response, error) {
					asked.Add(1)
					if c.silent {
						<-r.Context().Done()
						return nil, r.Context().Err()
					}
					return renewed(claim, ttl+c.asleep), nil
				})
				ctx, k := cl.keep(t.Context(), KeepOptions{Claim: claim}, func() time.Duration { return time.Duration(slept.Load()) })
				defer k.Stop()
				time.Sleep(c.awake)
				if ctx.Err() != nil {
					t.Fatalf("lost before: %v", context.Cause(ctx))
				}
				slept.Add(int64(c.asleep))
				time.Sleep(lookAgain)
				synctest.Wait()
				if c.lost {
					if err := context.Cause(ctx); !errors.Is(err, errRanOut) {
						t.Errorf("a second after waking up: %v", err)
					}
					return
				}
				if n := asked.Load(); n != 1 || ctx.Err() != nil {
					t.Errorf("%d renewals at waking up: %v", n, context.Cause(ctx))
				}
			})
		})
	}
}

// TestKeepTermOfNoTime: an owner whose clock went back, or that says nonsense,
// may tell an end that lies before the beginning. The lease is lost then, and
// nothing else happens.
func TestKeepTermOfNoTime(t *testing.T) {
	for name, terms := range map[string][2]time.Duration{
		"from the first":    {-time.Minute, 0},
		"since the renewal": {10 * time.Second, -time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				claim := granted(terms[0])
				c := tripClient(t, 0, func(*http.Request) (*http.Response, error) { return renewed(claim, terms[1]), nil })
				start := time.Now()
				ctx, k := c.Keep(t.Context(), KeepOptions{Claim: claim})
				defer k.Stop()
				if after, err := lossOf(t, ctx, start); after > 8*time.Second || !errors.Is(err, errRanOut) {
					t.Errorf("lost after %s: %v", after, err)
				}
			})
		})
	}
}
