package store

import (
	"sync"

	"github.com/nats-io/nats.go"
)

// sent holds the records that are on their way into the log, as they were read
// back from their encoding, so that the follower need not decode the writes of
// its own process again. The checksum is the name: it covers every byte.
type sent struct{ bySum sync.Map } // sum -> *Record

func (s *sent) keep(m *nats.Msg, rec *Record) {
	var k sum
	if k.parse(m.Header.Get(headerSum)) {
		s.bySum.Store(k, rec)
	}
}

// take gives a record away; it is the taker's alone.
func (s *sent) take(k sum) (*Record, bool) {
	v, ok := s.bySum.LoadAndDelete(k)
	if !ok {
		return nil, false
	}
	rec, ok := v.(*Record)
	return rec, ok
}

// drop forgets what did not come back through the log.
func (s *sent) drop(ms []*nats.Msg) {
	for _, m := range ms {
		var k sum
		if k.parse(m.Header.Get(headerSum)) {
			s.bySum.Delete(k)
		}
	}
}
