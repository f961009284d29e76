package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/maphash"
	"time"

	"signalbox/model/acop"
)

// answerKeep is how long answers are remembered: the 24 h of the binding with a
// margin for a clock that is set forward (H-014, D-56).
const answerKeep = 25 * time.Hour

// answers knows which requests with an Idempotency-Key were answered, and where
// the answer stands in the log. The answers themselves stay there: a box of many
// agents gives hundreds of thousands a day and is hardly ever asked for one again.
type answers struct {
	byScope map[answerID]answer
	queue   []answerKey // in order of the log, for forgetting
}

// answerID is the start of a hash of a scope.
type answerID [16]byte

func answerOf(scope string) answerID {
	h := sha256.Sum256([]byte(scope))
	return answerID(h[:16])
}

// answer is where a remembered answer stands.
type answer struct {
	own, act uint64 // revisions of its record and of the act
	content  uint64 // tells two answers apart within this process
}

type answerKey struct {
	id  answerID
	own uint64
	at  int64 // Unix milliseconds
}

var contentSeed = maphash.MakeSeed()

func contentOf(rec *Idempotency) uint64 {
	var h maphash.Hash
	h.SetSeed(contentSeed)
	fmt.Fprint(&h, rec.Status, " ")
	_, _ = h.WriteString(rec.Fingerprint)
	_, _ = h.Write(rec.Body)
	return h.Sum64()
}

func newAnswers() answers { return answers{byScope: map[answerID]answer{}} }

// add remembers the answer in the record at revision own of an act, and forgets
// what is too old beside it. The time of the records counts: the machine's clock
// may have been set, and nothing grew older by that.
func (a *answers) add(rec *Idempotency, own, act uint64, at acop.Time) {
	id := answerOf(rec.Scope)
	a.byScope[id] = answer{own: own, act: act, content: contentOf(rec)}
	a.queue = append(a.queue, answerKey{id: id, own: own, at: at.Std().UnixMilli()})
	a.forget(at.Std().Add(-answerKeep))
}

// forget drops what was answered before limit.
func (a *answers) forget(limit time.Time) {
	for len(a.queue) > 0 && a.queue[0].at < limit.UnixMilli() {
		k := a.queue[0]
		a.queue = a.queue[1:]
		if a.byScope[k.id].own == k.own {
			delete(a.byScope, k.id)
		}
	}
}

// Idempotent returns the remembered answer to a request and the revision that
// belongs to it. Answers are kept for at least 24 h, also over a restart
// (H-014). [ErrUnavailable] means that there is one, and that it cannot be read
// from the log now.
func (s *Store) Idempotent(ctx context.Context, scope string) (rec Idempotency, revision uint64, ok bool, err error) {
	s.mu.RLock()
	a, ok := s.p.answers.byScope[answerOf(scope)]
	s.mu.RUnlock()
	if !ok {
		return Idempotency{}, 0, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, engineWait)
	defer cancel()
	found, err := s.readAnswer(ctx, a.own)
	if err == nil && (found == nil || found.Scope != scope) {
		err = fmt.Errorf("the record at revision %d holds another answer", a.own)
	}
	if err != nil {
		return Idempotency{}, 0, false, fmt.Errorf("%w: read a remembered answer: %w", ErrUnavailable, err)
	}
	return *found, a.act, true, nil
}

// readAnswer reads the answer in the record with this revision.
func (s *Store) readAnswer(ctx context.Context, rev uint64) (*Idempotency, error) {
	seq, there := s.seqOf(rev)
	if !there {
		return nil, fmt.Errorf("revision %d is not kept", rev)
	}
	raw, err := s.engine().stream.GetMsg(ctx, seq)
	if err != nil {
		return nil, err
	}
	m, err := check(raw)
	if err != nil {
		return nil, err
	}
	return idemOf(m.payload), nil
}
