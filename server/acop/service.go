package acop

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

const (
	// commitPatience bounds one act at the log; it goes on although the caller
	// hung up, so that a retry with the same key finds the outcome (B61).
	commitPatience = 10 * time.Second
	// mostTries bounds deciding again after somebody else was first.
	mostTries = 64
	// mostItem is how many bytes an item can grow to by what its producer says, over
	// several requests. What workers and leads add, and the answer that is kept
	// beside it, still fit into one record.
	mostItem = 3 << 20
)

// service carries out acts: read, decide, commit, and decide again when
// somebody was first.
type service struct {
	store    *store.Store
	clock    *ownerClock
	policy   Policy
	defaults core.Settings
	log      *slog.Logger
	flights  flights
	settling sync.Mutex // one at a time writes down what has ended
	owed     owed
	steady   sync.RWMutex // held for reading while an act depends on the clock
	count    *metrics
}

// outcome is a finished act as the edge answers it.
type outcome struct {
	status   int
	revision uint64 // of the act
	object   uint64 // of the object the answer is about; 0 = about none
	body     []byte // without revision
	claimID  string // where Location points, if anywhere
	replayed bool
}

// idemKey names a request that may come twice (D-56).
type idemKey struct {
	scope       string // identity, method, path, key
	fingerprint string // of the canonical body
	seed        string // identity and key: ids are derived from it
}

// settings are the ones in force.
func (s *service) settings() core.Settings {
	if set := s.store.Settings(); set.Revision > 0 {
		return set
	}
	return s.defaults
}

func (s *service) desk(c Caller, key *idemKey) *desk {
	return &desk{
		now: s.clock.stamp(), caller: c, policy: s.policy, settings: s.settings(), book: s.store, newID: s.ids(key),
	}
}

// do carries out one act for a caller. The context bounds only waiting in line:
// what has begun is finished.
func (s *service) do(ctx context.Context, c Caller, r *request, key *idemKey) (*outcome, *core.Error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitPatience)
	defer cancel()
	for try := range mostTries {
		v, out, refused, err := s.attempt(ctx, c, r, key)
		switch {
		case refused != nil:
			if refused.HTTPStatus() == http.StatusConflict {
				s.settle(ctx) // what was told to have ended stays so, also for an owner started anew with the clock set back (H-084)
			}
			s.remember(ctx, c, r, refused)
			return nil, refused
		case errors.Is(err, store.ErrConflict):
			s.count.conflicts.Add(1)
			pause(ctx, try)
			continue
		case errors.Is(err, store.ErrTooLarge):
			return nil, core.Errorf(core.CodeTooLarge, "the work item would become larger than this owner can keep; nothing was done").
				With("work_item_id", r.WorkItemID)
		case err != nil:
			s.log.Error("commit", "verb", r.Verb, "error", err)
			return nil, unavailable("the owner cannot write its log now; ask again")
		case v.refuse != nil:
			return nil, v.refuse
		}
		if r.Verb == core.VerbClaim || r.Verb == core.VerbGrant {
			s.count.claims.Add(1)
		}
		s.followUp(ctx, r)
		return out, nil
	}
	return nil, unavailable("too many others change the same thing; ask again")
}

// attempt decides once on the present state and commits what was decided.
func (s *service) attempt(ctx context.Context, c Caller, r *request, key *idemKey) (*verdict, *outcome, *core.Error, error) {
	s.steady.RLock()
	defer s.steady.RUnlock()
	v, refused := decide(s.desk(c, key), r)
	if refused != nil {
		return nil, nil, refused, nil
	}
	out, err := s.commit(ctx, r, v, key)
	return v, out, nil, err
}

func unavailable(msg string) *core.Error {
	e := core.Errorf(core.CodeUnavailable, "%s", msg)
	e.RetryAfterSeconds = 1
	return e
}

// pause lets the projection catch up with whoever was first.
func pause(ctx context.Context, try int) {
	t := time.NewTimer(time.Duration(min(try+1, 20)) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// commit writes what was decided; with nothing to write it answers at once.
func (s *service) commit(ctx context.Context, r *request, v *verdict, key *idemKey) (*outcome, error) {
	body, err := json.Marshal(v.answer)
	if err != nil {
		return nil, err
	}
	out := &outcome{status: v.answer.status, body: body, claimID: v.answer.claimID}
	n := len(v.changes)
	if n == 0 {
		out.revision, out.object = s.store.Revision(), s.revisionOf(r, v)
		return out, nil
	}
	if r.Verb == core.VerbPut && len(body) > mostItem {
		return nil, store.ErrTooLarge
	}
	if key != nil && v.refuse == nil {
		v.changes[n-1].Record.Idem = &store.Idempotency{
			Scope: key.scope, Fingerprint: key.fingerprint, Status: out.status, Body: body,
			Header: map[string]string{headClaim: out.claimID, headBack: strconv.Itoa(n - 1 - v.main)},
		}
	}
	if n == 1 {
		out.revision, err = s.store.Commit(ctx, v.changes[0])
	} else {
		out.revision, err = s.store.CommitAll(ctx, v.changes)
	}
	out.object = out.revision - uint64(n-1-v.main)
	return out, err
}

// The members of a remembered answer's header.
const (
	headClaim = "claim_id"
	headBack  = "object_back" // how far the object's revision lies before the act's
)

// revisionOf is the revision of the object that an answer without a change is
// about.
func (s *service) revisionOf(r *request, v *verdict) uint64 {
	switch {
	case v.answer.Entry != nil && r.Verb == core.VerbPost:
		p, _ := s.store.Entry(v.answer.Entry.EntryID)
		return p.Revision
	case v.answer.WorkItem != nil:
		return s.itemRevision(v.answer.WorkItem.WorkItemID)
	case v.answer.Claim != nil:
		return s.itemRevision(v.answer.Claim.WorkItemID)
	}
	return 0
}

func (s *service) itemRevision(id string) uint64 {
	if it, known := s.store.Item(id); known {
		return it.Revision
	}
	return 0
}

// replay answers a request that was carried out before (H-012). Both results
// are nil when it is new.
func (s *service) replay(ctx context.Context, key *idemKey) (*outcome, *core.Error) {
	rec, rev, known, err := s.store.Idempotent(ctx, key.scope)
	if err != nil {
		s.log.Error("read a remembered answer", "error", err)
		return nil, unavailable("the owner cannot read its log now; ask again")
	}
	if !known {
		return nil, nil
	}
	if rec.Fingerprint != key.fingerprint {
		return nil, core.Errorf(core.CodeKeyReused, "this Idempotency-Key was used with another body; nothing was done")
	}
	back, _ := strconv.ParseUint(rec.Header[headBack], 10, 64)
	return &outcome{status: rec.Status, revision: rev, object: rev - min(back, rev), body: rec.Body,
		claimID: rec.Header[headClaim], replayed: true}, nil
}

// remember writes down that a lead's act was refused; it changes no object.
func (s *service) remember(ctx context.Context, c Caller, r *request, refused *core.Error) {
	if !c.Role.LeadVerbs() || refused.HTTPStatus() == http.StatusBadRequest {
		return
	}
	id := "audit:" + randomID()
	now := s.clock.stamp()
	itemID := r.WorkItemID
	if itemID == "" && r.ClaimID != "" {
		if cl, known := s.store.Claim(r.ClaimID); known {
			itemID = cl.WorkItemID
		}
	}
	_, err := s.store.Commit(ctx, store.Change{Record: store.Record{
		ProtocolVersion: core.ProtocolVersion, Kind: store.KindAudit, ID: id, AtUTC: now,
		Events: []core.Event{{Family: core.FamilyWorkUpdate, AtUTC: now, Actor: c.Identity, Verb: string(core.VerbRefused),
			RefusedVerb: string(r.Verb), Code: string(refused.Code), Reason: refused.Message, WorkItemID: itemID, ClaimID: r.ClaimID}},
	}})
	if err != nil {
		s.log.Warn("a refused act was not written down", "verb", r.Verb, "error", err)
	}
}

// ids makes ids for one decision. With an idempotency key they are derived from
// it, so that two owners cannot make two of them for one request.
func (s *service) ids(key *idemKey) func(string) string {
	return func(prefix string) string {
		if key != nil {
			h := sha256.Sum256([]byte(prefix + "\x00" + key.seed))
			if id := prefix + ":" + base64.RawURLEncoding.EncodeToString(h[:15]); !s.known(id) {
				return id
			}
		}
		return prefix + ":" + randomID()
	}
}

// known tells whether an id is taken: a key may come again after it was
// forgotten, and ids are never reused (C-065).
func (s *service) known(id string) bool {
	if _, taken := s.store.Claim(id); taken {
		return true
	}
	if _, taken := s.store.Entry(id); taken {
		return true
	}
	if _, taken := s.store.ItemOfIntent(id); taken {
		return true
	}
	_, taken := s.store.Item(id)
	return taken
}

func randomID() string {
	b := make([]byte, 15)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// flights lets simultaneous requests with one key pass one after the other, so
// that the second finds the outcome of the first (H-013).
type flights struct {
	mu   sync.Mutex
	busy map[string]chan struct{}
}

// enter waits until nobody else is in flight with this scope. The caller must
// call leave.
func (f *flights) enter(ctx context.Context, scope string) (leave func(), err error) {
	for {
		f.mu.Lock()
		if f.busy == nil {
			f.busy = make(map[string]chan struct{})
		}
		done, taken := f.busy[scope]
		if !taken {
			done = make(chan struct{})
			f.busy[scope] = done
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				delete(f.busy, scope)
				f.mu.Unlock()
				close(done)
			}, nil
		}
		f.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
