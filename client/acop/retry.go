package acop

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"signalbox/model/acop"
)

const (
	backoffBase = 500 * time.Millisecond // H-067
	backoffCap  = 30 * time.Second
	// maxWait bounds any wait a server can ask for, so that a broken
	// Retry-After does not silence a dashboard for ever (B78).
	maxWait = time.Hour
)

// backoff is the pause before try n+2 (n counts from 0): 500 ms doubling to
// 30 s, plus up to a quarter, so that many clients do not come back as one.
func backoff(n int) time.Duration {
	d := backoffCap
	if n < 6 {
		d = backoffBase << n
	}
	return d + rand.N(d/4)
}

// pause is the wait before the next try after err: the backoff, or longer where
// the owner asked for it (H-068).
func pause(n int, err error) time.Duration {
	d := backoff(n)
	var e *acop.Error
	if errors.As(err, &e) {
		if min := seconds(e.RetryAfterSeconds); min > d {
			d = min
		}
	}
	return d
}

// seconds converts without overflow and bounds the result (B78).
func seconds(n int64) time.Duration {
	if n <= 0 {
		return 0
	}
	if n > int64(maxWait/time.Second) {
		return maxWait
	}
	return time.Duration(n) * time.Second
}

// retryAfter reads the header (seconds or a date) and the body member and gives
// the larger of the valid ones in seconds, saturating; 0 when neither is (B78).
func retryAfter(header string, member json.RawMessage, now time.Time) int64 {
	const huge = int64(maxWait / time.Second)
	var best int64
	take := func(n int64) { best = max(best, min(n, huge)) }
	if n, err := strconv.ParseInt(header, 10, 64); err == nil {
		take(n)
	} else if errors.Is(err, strconv.ErrRange) && header[0] != '-' {
		take(huge)
	} else if at, err := http.ParseTime(header); err == nil {
		take(int64((at.Sub(now) + time.Second - 1) / time.Second))
	}
	var f float64
	if len(member) > 0 && json.Unmarshal(member, &f) == nil && f > 0 {
		if f >= float64(huge) {
			take(huge)
		} else {
			take(int64(f + 0.999999999))
		}
	}
	return best
}

// transient reports whether err may pass by itself: nobody answered, or the
// owner said "not now" (table C.3). A claim conflict is not: another worker
// holds the item, and what to do about that is the caller's decision.
func transient(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, ErrProtocol) {
		return false
	}
	var e *acop.Error
	if !errors.As(err, &e) {
		return errors.Is(err, ErrUnreachable)
	}
	switch e.Code {
	case acop.CodeRateLimited, acop.CodeInternal, acop.CodeUnavailable:
		return true
	}
	return e.Status >= 500 || e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout
}

// exchange sends r until it is answered, refused for good, or until patience or
// ctx leave no room for another try; then the last failure is returned.
func (c *Client) exchange(ctx context.Context, r *request) (*answer, error) {
	start := time.Now()
	for n := 0; ; n++ {
		ans, err := c.send(ctx, r)
		// A certificate mends itself, but not within the time that an act is tried.
		if err == nil || !transient(err) || errors.Is(err, ErrUntrusted) || ctx.Err() != nil {
			return ans, err
		}
		wait := pause(n, err)
		if c.patience < 0 || time.Since(start)+wait > c.patience {
			return nil, err
		}
		if end, ok := ctx.Deadline(); ok && time.Now().Add(wait).After(end) {
			return nil, err
		}
		c.log.Info("the owner did not answer as hoped, trying again",
			"method", r.method, "try", n+2, "wait", wait, "error", err)
		if sleep(ctx, wait) != nil {
			return nil, err
		}
	}
}

// sleep waits for d or until ctx ends, which is an error.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
