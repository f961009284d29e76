//go:build unix

package store

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acop"
)

// An ended claim is given back whole, also one of which something is not known.
func TestEndedClaimIsWhole(t *testing.T) {
	t.Parallel()
	if n := reflect.TypeFor[acop.Claim]().NumField(); n != 6 {
		t.Fatalf("a claim has %d members: an ended one must keep them all", n)
	}
	whole := acop.Claim{ClaimID: "c", WorkItemID: "w", WorkerAgentUID: "ann", ClaimStatus: acop.ClaimRevoked,
		GrantedAtUTC: acop.NewTime(start.Add(time.Millisecond)), ExpiresAtUTC: acop.NewTime(time.Unix(-5, 0))}
	for _, c := range []acop.Claim{whole, {ClaimID: "d"}} {
		if diff := cmp.Diff(c, newProjection().endedOf(&c).claim(c.ClaimID), cmp.AllowUnexported(acop.Time{})); diff != "" {
			t.Error(diff)
		}
	}
}

// What is remembered of each claim and each answer is small: a box of 60 agents
// makes hundreds of thousands a day. Answers are held for a day (D-56), claims
// for as long as the history is.
func TestMemoryOfThePast(t *testing.T) {
	const n = 100_000
	fresh := func(format string, i int) string { return strings.Clone(fmt.Sprintf(format, i)) }
	p := newProjection()
	for i := range n / 10 {
		p.putItem(newItem(fresh("work-item-%d", i), acop.StatusReady))
	}
	// What earlier tests leave behind may be freed meanwhile: the difference may come
	// out too small, and it must not wrap around.
	grown := func(before uint64) float64 { return float64(int64(heap())-int64(before)) / n }
	heap() // what waits for its finalizer goes with the next collection
	before := heap()
	for i := range n {
		c := acop.Claim{ClaimID: fresh("claim:%020d", i), WorkItemID: fresh("work-item-%d", i/10), WorkerAgentUID: fresh("worker-%d", i%60),
			GrantedAtUTC: acop.NewTime(start), ExpiresAtUTC: acop.NewTime(start), ClaimStatus: acop.ClaimReleased}
		p.applyIndex(index{Ended: &c, Intents: []string{fresh("intent:%020d", i)}, Item: fresh("work-item-%d", i/10)})
	}
	claims := grown(before)
	before = heap()
	day := 24 * time.Hour / n
	for i := range n {
		at := start.Add(time.Duration(i) * day)
		rec := &Idempotency{Scope: fresh("%064d", i), Fingerprint: fresh("%064d", i), Status: 201, Body: make([]byte, 1000)}
		p.answers.add(rec, uint64(i), uint64(i), acop.NewTime(at))
	}
	answers := grown(before)
	t.Logf("%.0f B a claim with its request, %.0f B an answer", claims, answers)
	if claims > 300 || answers > 150 {
		t.Errorf("%.0f B a claim with its request, %.0f B an answer", claims, answers)
	}
	for i := range 2 * n { // two more days: no more are held than of one
		at := start.Add(24*time.Hour + time.Duration(i)*day)
		p.answers.add(&Idempotency{Scope: fmt.Sprint("later ", i)}, uint64(n+i), uint64(n+i), acop.NewTime(at))
	}
	if held, most := len(p.answers.byScope), int(answerKeep/day)+1; held > most || len(p.answers.queue) > most {
		t.Errorf("%d answers are held after three days, a day's are %d", held, n)
	}
	runtime.KeepAlive(p)
}

// The machine's clock is set forward by two days while the owner runs: what was
// answered a second ago is still remembered (H-014, B52).
func TestAnswersOutliveAStep(t *testing.T) {
	var wall atomic.Int64
	s := open(t, Options{Now: func() time.Time { return start.Add(time.Duration(wall.Load())) }})
	keyed := func(scope string, at time.Duration) {
		c := itemChange(newItem(scope, acop.StatusReady))
		c.Record.AtUTC = acop.NewTime(start.Add(at))
		c.Record.Idem = &Idempotency{Scope: scope, Fingerprint: "f", Status: 201, Body: []byte("{}")}
		commit(t, s, c)
	}
	known := func(scope string) bool {
		_, _, ok, err := s.Idempotent(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	keyed("first", 0)
	wall.Store(int64(48 * time.Hour))
	keyed("second", time.Second)
	if !known("first") || !known("second") {
		t.Error("an answer of a second ago is forgotten")
	}
	keyed("late", answerKeep+time.Minute)
	if known("first") || !known("late") {
		t.Error("an answer of more than a day ago is still remembered")
	}
}
