package agents

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/pane/worlds"
	"signalbox/ui/screen"
	"signalbox/ui/uitest"
)

// H-096, house rule 31.
func TestSweep(t *testing.T) { worlds.Sweep(t, func() screen.Screen { return New() }) }

// B93: state can be read without colour and without more than ASCII.
func TestPlain(t *testing.T) { worlds.Plain(t, func() screen.Screen { return New() }) }

func press(s *Screen, c *screen.Ctx, keys ...string) {
	for _, k := range keys {
		s.Update(c, uitest.Key(k))
	}
}

func view(s *Screen, c *screen.Ctx) string { return ansi.Strip(s.View(c)) }

// C-049: lease, renewal, heartbeat and progress are four things.
func TestWorker(t *testing.T) {
	st := worlds.One()
	c := worlds.Ctx(st, 238, 30)
	s := New()
	if !s.Select(c, screen.Target{Kind: screen.KindAgent, ID: "worker-2"}) {
		t.Fatal("no worker-2")
	}
	got := s.Target(c)
	if got.Kind != screen.KindClaim || got.WorkItemID != "work:ui:table" || got.Revision == 0 || got.Worker != "worker-2" {
		t.Errorf("target %+v", got)
	}
	v := view(s, c)
	for _, want := range []string{"renew late", "48s left", "renewed", "claim beat 20s ago", "progress   3m ago", "columns measured", "renew in this window"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is missing:\n%s", want, v)
		}
	}
}

// A request can be granted from here: the row names the intent.
func TestRequest(t *testing.T) {
	c := worlds.Ctx(worlds.One(), 118, 24)
	s := New()
	if !s.Select(c, screen.Target{Kind: screen.KindAgent, ID: "worker-7"}) {
		t.Fatal("no worker-7")
	}
	if got := s.Target(c); got.Kind != screen.KindIntent || got.ID != "int_1" || got.WorkItemID != "work:http:seam" || got.Worker != "worker-7" {
		t.Errorf("target %+v", got)
	}
	if v := view(s, c); !strings.Contains(v, "? asks") || !strings.Contains(v, "g grants, waits 3m") {
		t.Errorf("request:\n%s", v)
	}
}

// The grant is no progress: who only took an item has shown none yet.
func TestProgressOfAFreshClaim(t *testing.T) {
	st := worlds.Empty()
	it := worlds.Item("work:fresh", func(i *acop.Item) {
		worlds.Hold(i, "worker-4", 500*time.Second, "")
		i.Lease.Claim.GrantedAtUTC = acop.NewTime(worlds.Now.Add(-3 * time.Second))
		i.Lease.ProgressAtUTC = acop.Time{}
	})
	st.Apply(fleet.OwnerEvent{At: worlds.Now, Event: acop.Event{Family: acop.FamilyClaimGrant, Revision: 1900, Last: true, AtUTC: acop.NewTime(worlds.Now), Verb: "claim", WorkItemID: it.ID(), Item: it}})
	if v := view(New(), worlds.Ctx(st, 158, 30)); !strings.Contains(v, "progress   none yet") {
		t.Errorf("the grant is told as progress:\n%s", v)
	}
}

func TestNoProgress(t *testing.T) {
	st := worlds.Empty()
	it := worlds.Item("work:slow", func(i *acop.Item) {
		worlds.Hold(i, "worker-4", 500*time.Second, "")
		i.Lease.Claim.GrantedAtUTC = acop.NewTime(worlds.Now.Add(-time.Hour))
		i.Lease.ProgressAtUTC = acop.NewTime(worlds.Now.Add(-25 * time.Minute))
	})
	st.Apply(fleet.OwnerEvent{At: worlds.Now, Event: acop.Event{Family: acop.FamilyClaimGrant, Revision: 1900, Last: true, AtUTC: acop.NewTime(worlds.Now), Verb: "claim", WorkItemID: it.ID(), Item: it}})
	v := view(New(), worlds.Ctx(st, 158, 30))
	if !strings.Contains(v, "no progress") {
		t.Errorf("a worker that renews without progress says so:\n%s", v)
	}
}

func TestProvidersAndMoves(t *testing.T) {
	st := worlds.One()
	c := worlds.Ctx(st, 158, 30)
	s := New()
	press(s, c, "end")
	if got := s.Target(c); got.Kind != screen.KindProvider || got.ID != "far" {
		t.Errorf("last is %+v", got)
	}
	v := view(s, c)
	for _, want := range []string{"○ unreachable", "connection refused", "● reachable", "2 running, 1 done, 1 failed"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is missing:\n%s", want, v)
		}
	}
	press(s, c, "home")
	if got := s.Target(c); got.Kind == screen.KindNone || got.Kind == screen.KindProvider {
		t.Errorf("first is %+v", got)
	}
	s.SetFilter("kind:provider")
	if n := len(s.Shown(c)); n != 2 {
		t.Errorf("%d providers shown", n)
	}
}

// A worker with two items is named and counted once; each item keeps its row, and
// a row whose first one has scrolled away names its worker.
func TestTwoItemsOneWorker(t *testing.T) {
	st := worlds.Empty()
	for n, id := range []string{"work:one", "work:two"} {
		it := worlds.Item(id, func(i *acop.Item) { worlds.Hold(i, "worker-4", 500*time.Second, "") })
		st.Apply(fleet.OwnerEvent{At: worlds.Now, Event: acop.Event{Family: acop.FamilyClaimGrant, Revision: uint64(1900 + n), Last: true, AtUTC: acop.NewTime(worlds.Now), Verb: "claim", WorkItemID: id, Item: it}})
	}
	c := worlds.Ctx(st, 118, 30)
	s := New()
	v := view(s, c)
	list, _, _ := strings.Cut(v, "─ WORKER")
	if !strings.Contains(v, "WORKERS 1") || strings.Count(list, "worker-4") != 1 || !strings.Contains(list, "work:one") || !strings.Contains(list, "work:two") {
		t.Errorf("named or counted wrongly:\n%s", v)
	}
	if n := len(s.Shown(c)); n != 2 {
		t.Errorf("%d rows can be acted on", n)
	}
	c = worlds.Ctx(st, 78, 2)
	press(s, c, "end")
	if v := view(s, c); !strings.Contains(v, "worker-4") {
		t.Errorf("nobody knows whose row this is:\n%s", v)
	}
}

func BenchmarkView(b *testing.B) {
	st := worlds.Many(10000, 200, 50)
	c := worlds.Ctx(st, 238, 66)
	s := New()
	n := int64(1)
	for b.Loop() {
		worlds.Chunk(st, st.TaskOrder[0], n, "x\n")
		n++
		s.View(c)
	}
}

// TestDump prints views for a person to read: SIGNALBOX_DUMP=1 go test -run Dump -v.
func TestDump(t *testing.T) {
	if os.Getenv("SIGNALBOX_DUMP") == "" {
		t.Skip("set SIGNALBOX_DUMP to read the views")
	}
	for _, size := range [][2]int{{78, 20}, {118, 24}, {238, 30}} {
		s := New()
		c := worlds.Ctx(worlds.One(), size[0], size[1])
		s.Select(c, screen.Target{Kind: screen.KindAgent, ID: "worker-2"})
		t.Log("\n" + view(s, c))
	}
	s := New()
	c := worlds.Ctx(worlds.One(), 158, 24)
	press(s, c, "end", "k")
	t.Log("\n" + view(s, c))
	t.Log("\n" + view(New(), worlds.Ctx(worlds.Empty(), 78, 14)))
}

// What a worker did last is told as done, and what was done to it as lost.
func TestEndedClaimsInWords(t *testing.T) {
	for verb, want := range map[acop.Verb]string{
		acop.VerbComplete: "completed work:gone 2m ago",
		acop.VerbRelease:  "released work:gone 2m ago",
		acop.VerbRevoke:   "lost work:gone 2m ago, revoked",
		acop.VerbExpire:   "lost work:gone 2m ago, the lease ran out",
		acop.VerbCancel:   "lost work:gone 2m ago, cancelled",
		"unheard_of":      "ended work:gone 2m ago",
	} {
		st := worlds.Empty()
		at := acop.NewTime(worlds.Now.Add(-2 * time.Minute))
		st.Apply(fleet.OwnerEvent{At: worlds.Now, Event: acop.Event{Family: acop.FamilyClaimGrant, Revision: st.Revision + 1, Last: true, AtUTC: at,
			Verb: string(verb), WorkItemID: "work:gone",
			Claim: &acop.Claim{ClaimID: "claim:1", WorkItemID: "work:gone", WorkerAgentUID: "worker-8", ClaimStatus: acop.ClaimReleased}}})
		if v := view(New(), worlds.Ctx(st, 158, 30)); strings.Count(v, want) != 2 {
			t.Errorf("%s: %q stands %d times, want in the row and in the details:\n%s", verb, want, strings.Count(v, want), v)
		}
	}
}

// The order can put what needs a look, or what ends soonest, first; the row under the
// cursor stays selected, and a worker's rows stay together.
func TestOrder(t *testing.T) {
	c := worlds.Ctx(worlds.Many(200, 150, 0), 238, 40)
	s := New()
	if !s.Select(c, screen.Target{Kind: screen.KindAgent, ID: "worker-007"}) {
		t.Fatal("no worker-007")
	}
	at := s.Target(c)
	first := map[string]bool{}
	for by, title := range map[string]string{"name": "NAME↓", "trouble": "STATE↓", "time left": "LEFT↓"} {
		for s.order.String() != by {
			press(s, c, "o")
		}
		if v := view(s, c); !strings.Contains(v, title) {
			t.Errorf("the order is not told:\n%s", v)
		}
		if got := s.Target(c); got != at {
			t.Errorf("by %s the cursor moved from %+v to %+v", by, at, got)
		}
		var words []string
		lefts := []time.Duration{}
		for _, r := range s.rows(c) {
			if r.item != nil {
				words = append(words, lifeWord(c, &r))
				lefts = append(lefts, r.item.Lease.Claim.ExpiresAtUTC.Std().Sub(c.OwnerNow()))
			}
		}
		if len(words) < 2 {
			t.Fatalf("too few claims to be put in order: %q", words)
		}
		if by == "trouble" && words[0] == "held" && slices.ContainsFunc(words, func(w string) bool { return slices.Contains(troubles, w) }) {
			t.Errorf("by trouble: %q", words)
		}
		if by == "time left" && !slices.IsSorted(lefts) {
			t.Errorf("by time left: %v", lefts)
		}
		first[fmt.Sprint(lefts)] = true
	}
	if len(first) < 3 {
		t.Errorf("two orders are the same: %v", first)
	}
}
