package acop

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	core "signalbox/model/acop"
)

// player lets the owner and the little model do the same and compares.
type player struct {
	*rapid.T
	b *box
	l *little
	// run keeps the ids of one sequence apart from those of all others.
	run    string
	script *script
	// lie is the end of a path about which the model is wrong on purpose.
	lie string
}

func newPlayer(t *rapid.T, b *box, lie string) *player {
	run := fmt.Sprint(sequences.Add(1), " ")
	return &player{T: t, b: b, l: &little{items: map[string]*littleItem{}, claims: map[string]*littleClaim{}}, run: run,
		script: &script{run: run, claims: map[string]string{}}, lie: lie}
}

// fail ends the sequence and leaves it behind as a fixture; of all failures of
// a run the last one is the shortest. What differs from run to run, such as ids,
// must not stand in the failure itself, or rapid takes it for another one and
// does not shrink.
func (p *player) fail(format string, args ...any) {
	path, err := p.script.write(p.l)
	if err != nil {
		p.Logf("the sequence could not be kept: %v", err)
	}
	p.Logf(format, args...)
	p.Fatalf("owner and model disagree; as a fixture, for testdata/fixtures once it is mended: %s", path)
}

var sequences atomic.Int64

func (p *player) id(label string) string {
	return p.run + rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(p.T, label)
}

func (p *player) who() string {
	return rapid.SampledFrom([]string{"worker-http", "worker-other", "lead-01", "fixture-producer"}).Draw(p.T, "who")
}

// ask sends a request and demands the answer that the model says.
func (p *player) ask(method, path, who string, body any, want said) reply {
	if p.lie != "" && strings.HasSuffix(path, p.lie) && want.status == 200 {
		want = said{409, core.CodeClaimReleased}
	}
	p.script.ask(method, path, who, body, want)
	r, err := p.b.try(method, path, who, body)
	if err != nil {
		p.fail("%v", err)
	}
	if r.status != want.status || r.code() != string(want.code) {
		p.fail("%s %s as %s: got %d %q, the model says %d %q: %s", method, path, who, r.status, r.code(), want.status, want.code, r.raw)
	}
	return r
}

func (p *player) put(*rapid.T) {
	who := rapid.SampledFrom([]string{"lead-01", "fixture-producer", "worker-other"}).Draw(p.T, "who")
	id := p.id("item")
	st := rapid.SampledFrom([]core.Status{core.StatusReady, core.StatusReady, core.StatusReady, core.StatusBlocked, core.StatusRequiresAttention,
		core.StatusCancelled, core.StatusClaimed}).Draw(p.T, "status")
	p.ask("PUT", "work-items", who, body(m{"work_item": workItem(id, m{"status": string(st)})}), p.l.put(who, id, st))
}

func (p *player) claim(*rapid.T) {
	who := rapid.SampledFrom([]string{"worker-http", "worker-other", "lead-01"}).Draw(p.T, "who")
	id := p.id("item")
	want := p.l.claim(who, id)
	r := p.ask("POST", "claims", who, claimBody(id, who, 60), want)
	if want.status == 201 {
		p.l.granted(who, id, r.text("claim.claim_id"))
		p.script.granted(r.text("claim.claim_id"))
	}
}

func (p *player) onClaim(*rapid.T) {
	if len(p.l.claims) == 0 {
		p.Skip("there is no claim yet")
	}
	claim := rapid.SampledFrom(slices.Sorted(maps.Keys(p.l.claims))).Draw(p.T, "claim")
	verb := rapid.SampledFrom([]string{"renew", "heartbeat", "release", "complete", "complete", "revoke"}).Draw(p.T, "verb")
	who := p.who()
	if verb != "revoke" && rapid.Bool().Draw(p.T, "as holder") {
		who = p.l.claims[claim].worker
	}
	members := m{}
	if verb == "revoke" {
		members["reason"] = "r"
	}
	p.ask("POST", "claims/"+claim+"/"+verb, who, body(members), p.l.onClaim(verb, who, claim))
}

func (p *player) accept(*rapid.T) {
	who, id := p.who(), p.id("item")
	p.ask("POST", "work-items/"+escaped(id)+"/accept", who, body(nil), p.l.accept(who, id))
}

func (p *player) onItem(*rapid.T) {
	who, id, other := p.who(), p.id("item"), p.id("other")
	verb := rapid.SampledFrom([]string{"cancel", "supersede", "consume", "requeue", "resolve", "block", "depend", "depend", "unblock"}).Draw(p.T, "verb")
	path, members := verb, m{}
	switch verb {
	case "cancel":
		members["reason"] = "r"
	case "supersede":
		members["superseded_by_work_item_id"] = other
	case "resolve":
		members["decision"], members["note"] = "ready", "n"
	case "block":
		members["blocker"] = m{"blocker_code": core.BlockerReviewRequired, "severity": "low", "summary": "s"}
	case "depend":
		path, members["blocker"] = "block", dependsOn(other)
	case "unblock":
		members["blocker_code"] = core.BlockerReviewRequired
	}
	p.ask("POST", "work-items/"+escaped(id)+"/"+path, who, body(members), p.l.onItem(verb, who, id, other))
}

func (p *player) expire(*rapid.T) {
	p.b.clock.advance(61 * time.Second)
	p.script.advance(61)
	p.l.expire()
}

// compare holds the whole state of the owner against the model's.
func (p *player) compare(*rapid.T) {
	for id, want := range p.l.items {
		r, err := p.b.try("GET", "work-items/"+escaped(id), "reader-01", nil)
		if err != nil || r.status != 200 {
			p.fail("item %s: %v %s", id, err, r.raw)
		}
		got := fmt.Sprint(r.text("item.work_item.status"), " ", r.text("item.lease.claim.claim_id"), " ", len(r.at("item.blockers").([]any)))
		n := len(want.deps)
		if want.review {
			n++
		}
		if says := fmt.Sprint(want.status, " ", want.claim, " ", n); got != says {
			p.fail("item %s is %q, the model says %q: %s", id, got, says, r.raw)
		}
		active := 0
		for _, c := range r.at("claims").([]any) {
			c := c.(m)
			if st := c["claim_status"]; st != string(p.l.claims[c["claim_id"].(string)].state) {
				p.fail("claim %v, the model says %s", c, p.l.claims[c["claim_id"].(string)].state)
			}
			if c["claim_status"] == "active" {
				active++
			}
		}
		if active > 1 {
			p.fail("two active claims: %s", r.raw)
		}
	}
}

// play lets one random sequence run.
func (p *player) play() {
	p.Repeat(map[string]func(*rapid.T){
		"put": p.put, "put again": p.put, "claim": p.claim, "claim again": p.claim, "claim verb": p.onClaim, "claim verb again": p.onClaim,
		"accept": p.accept, "item verb": p.onItem, "expire": p.expire, "": p.compare,
	})
}

// randomBox is an owner without the limits that random sequences would meet.
func randomBox(t *testing.T) *box {
	return newBox(t, func(o *Options) {
		o.Config.RateLimit = RateLimit{PerSecond: 1e6, Burst: 1e6}
		o.Config.AttemptsLimit = -1
	})
}

// TestAgainstModel lets random sequences of acts of several people run against
// the owner and a small model of its rules (C-050, C-052, C-053, C-055, C-058..C-065,
// H-025..H-027, H-031, H-032, H-036..H-038, H-042, H-043, H-053, H-055, H-079).
// What it finds it leaves as a fixture.
func TestAgainstModel(t *testing.T) {
	b := randomBox(t)
	if f := flag.Lookup("rapid.checks"); f != nil && f.Value.String() == f.DefValue {
		withFlags(t, map[string]string{"rapid.checks": "25"}) // each is some dozens of durable acts
	}
	rapid.Check(t, func(rt *rapid.T) { newPlayer(rt, b, "").play() })
}
