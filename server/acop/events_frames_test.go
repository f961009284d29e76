package acop

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	core "signalbox/model/acop"
)

// TestFramesAreShared renders an act once for all its readers and holds no more
// than its bounds, however large the acts are.
func TestFramesAreShared(t *testing.T) {
	t.Parallel()
	c := &frameCache{}
	act := func(rev uint64, size int) []core.Event {
		return []core.Event{{Family: core.FamilyWorkUpdate, Revision: rev, AtUTC: testNow, Reason: strings.Repeat("x", size)},
			{Family: core.FamilyWorkOffer, Revision: rev, Index: 1, Last: true, AtUTC: testNow}}
	}
	var wg sync.WaitGroup
	got := make([][]byte, 50)
	for i := range got {
		wg.Go(func() { got[i] = c.of(act(7, 10)) })
	}
	wg.Wait()
	for _, b := range got {
		if !bytes.Equal(b, frames(act(7, 10))) || &b[0] != &got[0][0] {
			t.Fatalf("a reader got bytes of its own: %s", b)
		}
	}
	for rev := range uint64(3 * mostFrames) {
		if b := c.of(act(100+rev, 1)); !bytes.Equal(b, frames(act(100+rev, 1))) {
			t.Fatalf("act %d: %s", rev, b)
		}
	}
	if len(c.byRev) != mostFrames || len(c.order) != mostFrames {
		t.Errorf("%d and %d frames are held", len(c.byRev), len(c.order))
	}
	live := c.of(act(100+3*mostFrames-1, 1))
	for rev := range uint64(2 * mostFrames) { // a reader of old history beside the live ones
		if b := c.of(act(1+rev, 1)); !bytes.Equal(b, frames(act(1+rev, 1))) {
			t.Fatalf("act %d: %s", rev, b)
		}
	}
	if b := c.of(act(100+3*mostFrames-1, 1)); &b[0] != &live[0] {
		t.Error("old history pushed out the newest act")
	}
	if len(c.byRev) != mostFrames || len(c.order) != mostFrames {
		t.Errorf("beside old history %d and %d frames are held", len(c.byRev), len(c.order))
	}
	for rev := range uint64(20) {
		c.of(act(1000+rev, mostFrameBytes/3))
		if c.bytes > mostFrameBytes || len(c.byRev) != len(c.order) {
			t.Fatalf("%d bytes in %d frames, %d known", c.bytes, len(c.order), len(c.byRev))
		}
	}
	c.of(act(2000, 2*mostFrameBytes))
	if len(c.order) != 1 || len(c.byRev) != 1 {
		t.Errorf("beside an act above the bound %d frames are held", len(c.order)-1)
	}
}
