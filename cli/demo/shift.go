package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"
	"time"

	client "signalbox/client/acop"
	"signalbox/model/acmp"
	"signalbox/model/acop"
)

func asError(err error, e **acop.Error) bool { return errors.As(err, e) }

// shift is the work of one worker under one claim.
type shift struct {
	*worker
	row     *client.Row
	claim   acop.Claim
	granted time.Time // our clock just before the claim was asked for
	news    <-chan acop.Event

	needs    []string // requirement ids
	saying   atomic.Pointer[string]
	lastNote string // id of a hypothesis that the end may replace
}

func (s *shift) item() string { return s.row.WorkItem.WorkItemID }

// work goes through the steps under the lease, until done or stopped.
func (s *shift) work(ctx context.Context) {
	lease, stop := s.hold(ctx)
	defer stop()
	if d, err := s.c.Detail(ctx, s.item()); err == nil {
		for _, r := range d.Item.ValidationRequirements {
			s.needs = append(s.needs, r.RequirementID)
		}
	}
	total, pace := 12+s.rng.IntN(16), s.pace
	hangs, gives := s.habit == silent && s.shifts%2 == 1, s.rng.IntN(100) < 5
	switch {
	case s.habit == finisher && s.shifts == 1:
		total, pace = 1, 300*time.Millisecond
	case s.habit == spinner:
		total = 15
	}
	for n := range total {
		if why := s.pause(lease, pace); why != nil {
			s.stopped(ctx, n, total, why)
			return
		}
		switch {
		case hangs && n == hangsAt:
			stop()
			s.hang(ctx)
			return
		case gives && n == 4:
			s.giveUp(ctx)
			return
		}
		if why := s.act(lease, n, total); why != nil {
			s.stopped(ctx, n, total, why)
			return
		}
	}
	s.finish(ctx, lease)
}

// hold renews the lease as the worker's habit has it. The returned context ends
// when the lease is lost.
func (s *shift) hold(ctx context.Context) (context.Context, func()) {
	if s.habit == lateBird {
		return s.holdLate(ctx)
	}
	o := client.KeepOptions{Claim: s.claim, GrantedFrom: s.granted}
	if s.habit != spinner {
		o.Progress = func() string {
			if p := s.saying.Load(); p != nil {
				return *p
			}
			return ""
		}
	}
	lease, k := s.c.Keep(ctx, o)
	return lease, k.Stop
}

// holdLate renews when nine tenths of the term are over.
func (s *shift) holdLate(ctx context.Context) (context.Context, func()) {
	lease, lost := context.WithCancelCause(ctx)
	run, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for wait(run, time.Duration(s.ttl)*time.Second*9/10) {
			if _, err := s.do(run, acop.Act{Verb: acop.VerbRenew, ClaimID: s.claim.ClaimID, TTLSeconds: s.ttl}); err != nil && run.Err() == nil {
				lost(err)
				return
			}
		}
	}()
	return lease, func() { stop(); <-done; lost(context.Canceled) }
}

// errStopped is why a worker stopped, in words for the blackboard.
type errStopped struct{ by, what, why string }

func (e *errStopped) Error() string { return e.what }

// pause waits for one step and hears what happens to the item meanwhile; a
// non-nil result tells to stop.
func (s *shift) pause(lease context.Context, d time.Duration) error {
	t := time.NewTimer(d*3/4 + upTo(s.rng, d/2))
	defer t.Stop()
	for {
		select {
		case <-t.C:
			return nil
		case <-lease.Done():
			return context.Cause(lease)
		case e, ok := <-s.news:
			if !ok {
				s.news = nil // the renewals still tell
				continue
			}
			if stop := s.heard(&e); stop != nil {
				return stop
			}
		}
	}
}

// heard judges an event of the item.
func (s *shift) heard(e *acop.Event) error {
	switch acop.Verb(e.Verb) {
	case acop.VerbRevoke:
		if e.ClaimID == s.claim.ClaimID {
			return &errStopped{e.Actor, "claim revoked", e.Reason}
		}
	case acop.VerbCancel:
		return &errStopped{e.Actor, "item cancelled", e.Reason}
	case acop.VerbSupersede:
		return &errStopped{e.Actor, "item superseded", e.Reason}
	}
	return nil
}

// act is one step: a sign of life, and sometimes a word for the others.
func (s *shift) act(lease context.Context, n, total int) error {
	where := s.row.WorkItem.TargetBranch
	if p := s.row.WorkItem.OwnedPaths; len(p) > 0 {
		where = path.Clean(strings.TrimSuffix(p[0], "**"))
	}
	say := step(s.row.WorkItem.WorkKind, where, n, total)
	if s.habit == spinner {
		say = "thinking"
	}
	s.saying.Store(&say)
	if _, err := s.do(lease, acop.Act{Verb: acop.VerbHeartbeat, ClaimID: s.claim.ClaimID, Reason: say}); err != nil && ends(err) {
		return err
	}
	switch die := s.rng.IntN(100); {
	case s.habit == spinner:
	case s.habit == consulter && n == 2 && s.buyer != nil:
		s.ask(lease)
	case die < 12, n == 1 && s.shifts == 1:
		r := someRemark(s.rng)
		e := acop.BlackboardEntry{EntryKind: r.kind, Summary: r.summary, Details: r.details}
		if r.confidence > 0 {
			e.Confidence = &r.confidence
		}
		id := s.post(lease, s.item(), e)
		if r.kind == acop.EntryHypothesis {
			s.lastNote = id
		}
	}
	return nil
}

// ends reports whether a refusal means that the claim is over.
func ends(err error) bool {
	switch codeOf(err) {
	case acop.CodeLeaseExpired, acop.CodeClaimReleased, acop.CodeClaimRevoked, acop.CodeItemCancelled,
		acop.CodeItemSuperseded, acop.CodeUnauthorizedWorker, acop.CodeClaimNotFound:
		return true
	}
	return false
}

// ask has a provider read the diff and posts what it found.
func (s *shift) ask(lease context.Context) {
	select { // an outcome of an earlier shift
	case <-s.results:
	default:
	}
	ctx, cancel := context.WithTimeout(lease, 15*time.Second)
	defer cancel()
	data, err := json.Marshal("diff of " + s.row.WorkItem.TargetBranch)
	if err != nil {
		return
	}
	_, err = s.buyer.Invoke(ctx, acmp.Invocation{Provider: s.st.Providers[0].Name, Params: acmp.InvokeParams{
		Capability: capSentiment, Input: &acmp.Payload{Type: "text", Data: data}, TimeoutMS: 15000, OutputType: "text",
	}})
	if err != nil {
		s.log.Debug("consulting failed", "error", err)
		return
	}
	select {
	case e := <-s.results:
		if e.Result != nil && e.Result.Output != nil {
			var text string
			if json.Unmarshal(e.Result.Output.Data, &text) == nil {
				s.note(lease, s.item(), acop.EntryFinding, "a second opinion on the review thread", text)
			}
		}
	case <-ctx.Done():
	}
}

// finish completes with evidence; sometimes it forgets it at first.
func (s *shift) finish(ctx, lease context.Context) {
	ev := &acop.CompletionEvidence{ValidationResults: s.needs, ArtifactIDs: []string{"artifact:" + s.row.WorkItem.TargetBranch}}
	first := ev
	if s.rng.IntN(100) < 20 && len(s.needs) > 0 {
		first = &acop.CompletionEvidence{}
	}
	_, err := s.do(lease, acop.Act{Verb: acop.VerbComplete, ClaimID: s.claim.ClaimID, Evidence: first})
	if codeOf(err) == acop.CodeValidationRequired {
		s.note(lease, s.item(), acop.EntryPartialResult, "done, but the evidence was missing; running the checks", "")
		if why := s.pause(lease, 2*s.pace); why != nil {
			s.stopped(ctx, 1, 1, why)
			return
		}
		_, err = s.do(lease, acop.Act{Verb: acop.VerbComplete, ClaimID: s.claim.ClaimID, Evidence: ev})
	}
	if err != nil {
		s.stopped(ctx, 1, 1, err)
		return
	}
	if s.lastNote != "" {
		s.post(ctx, s.item(), acop.BlackboardEntry{EntryKind: acop.EntryFinding, Summary: "the hypothesis held: fixed and tested",
			SupersedesEntryIDs: []string{s.lastNote}})
	}
}

// stopped says on the blackboard that the worker stopped and why, and leaves the
// item alone for a while.
func (s *shift) stopped(ctx context.Context, n, total int, why error) {
	s.avoid[s.item()] = time.Now().Add(90 * time.Second)
	if ctx.Err() != nil {
		return // the demo is over
	}
	stop := &errStopped{what: "claim lost"}
	if !errors.As(why, &stop) {
		switch codeOf(why) {
		case acop.CodeClaimRevoked:
			stop = &errStopped{what: "claim revoked"}
		case acop.CodeLeaseExpired:
			stop = &errStopped{what: "lease lapsed"}
		}
	}
	summary := fmt.Sprintf("%s stopped: %s", s.actor.id, stop.what)
	if stop.by != "" {
		summary += " by " + stop.by
	}
	details := fmt.Sprintf("Work up to step %d of %d is on branch %s.", n, total, s.row.WorkItem.TargetBranch)
	if stop.why != "" {
		details = "Reason: " + stop.why + "\n" + details
	}
	s.note(ctx, s.item(), acop.EntryIntegrationNote, summary, details)
	s.between(ctx, 3*time.Second, 6*time.Second)
}

// hangsAt is the step at which a silent worker falls silent.
const hangsAt = 2

// hang does nothing at all until the lease is long over, then finds out.
func (s *shift) hang(ctx context.Context) {
	if !wait(ctx, time.Until(s.granted)+time.Duration(s.ttl*2)*time.Second+upTo(s.rng, 3*time.Second)) {
		return
	}
	_, err := s.do(ctx, acop.Act{Verb: acop.VerbComplete, ClaimID: s.claim.ClaimID})
	if err != nil {
		s.stopped(ctx, hangsAt, hangsAt, err)
	}
}

// giveUp releases the claim and asks the others for help.
func (s *shift) giveUp(ctx context.Context) {
	s.avoid[s.item()] = time.Now().Add(2 * time.Minute)
	_, err := s.do(ctx, acop.Act{Verb: acop.VerbRelease, ClaimID: s.claim.ClaimID, Reason: "I need somebody who knows this part"})
	if err == nil {
		s.note(ctx, s.item(), acop.EntryReviewRequest, "who knows this part?", "I released the item; my notes are on the branch.")
	}
}
