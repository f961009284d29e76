package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"signalbox/cli/demo"
	buyer "signalbox/client/acmp"
	client "signalbox/client/acop"
	"signalbox/model/acmp"
	"signalbox/model/acop"
)

// witness remembers what the world did.
type witness struct {
	mu     sync.Mutex
	events []acop.Event
	kinds  map[acmp.EventKind]int
}

func (w *witness) count(match func(*acop.Event) bool) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for i := range w.events {
		if match(&w.events[i]) {
			n++
		}
	}
	return n
}

func verb(v acop.Verb) func(*acop.Event) bool {
	return func(e *acop.Event) bool { return e.Verb == string(v) }
}

// until polls cond with a deadline.
func until(t *testing.T, within time.Duration, what string, cond func() bool) {
	t.Helper()
	began := time.Now()
	defer func() { t.Logf("%6.1fs  %s", time.Since(began).Seconds(), what) }()
	deadline := began.Add(within)
	for !cond() {
		if time.Now().After(deadline) {
			t.Errorf("not seen within %s: %s", within, what)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestDemoWorld runs the simulated world against a real owner and real providers:
// everything a lead must be able to see happens, and a revoked
// worker stops and says so (H-091).
func TestDemoWorld(t *testing.T) {
	if testing.Short() {
		t.Skip("runs some seconds of the demo")
	}
	t.Parallel()
	r := newWorkRig(t)
	providers, err := demo.OpenProviders(t.Context(), demo.ProviderOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := providers.Close(ctx); err != nil {
			t.Errorf("close the providers: %v", err)
		}
	})
	saw := &witness{kinds: map[acmp.EventKind]int{}}
	lead := leadBuyer(t, providers, saw)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	started := time.Now()
	go func() {
		ended <- demo.Run(ctx, demo.World{
			OwnerURL: r.box.URL, Token: r.box.AddToken, Providers: providers.At, Seed: 7, Invoke: lead.Invoke,
		})
	}()
	c := r.client()
	go func() {
		_ = c.Events(ctx, client.EventQuery{}, func(events []acop.Event) error {
			saw.mu.Lock()
			defer saw.mu.Unlock()
			saw.events = append(saw.events, events...)
			return nil
		}, nil)
	}()

	until(t, 3*time.Second, "an ask", func() bool {
		return saw.count(func(e *acop.Event) bool { return e.To == acop.StatusRequiresAttention }) > 0
	})
	t.Logf("first ask after %s", time.Since(started).Round(time.Millisecond))
	overlapSeen(t, c)
	for what, match := range map[string]func(*acop.Event) bool{
		"a claim": verb(acop.VerbClaim), "a heartbeat": verb(acop.VerbHeartbeat), "a renewal": verb(acop.VerbRenew),
		"a post": verb(acop.VerbPost), "a completion": verb(acop.VerbComplete), "an expiry": verb(acop.VerbExpire),
		"a request that waits": func(e *acop.Event) bool { return e.Intent != nil && e.Intent.State == acop.IntentWaiting },
	} {
		until(t, 40*time.Second, what, func() bool { return saw.count(match) > 0 })
	}
	revokedStops(t, c, saw)
	for _, kind := range []acmp.EventKind{acmp.EventSent, acmp.EventChunk, acmp.EventHeartbeat, acmp.EventResult, acmp.EventStalled} {
		until(t, 40*time.Second, "task event "+string(kind), func() bool {
			saw.mu.Lock()
			defer saw.mu.Unlock()
			return saw.kinds[kind] > 0
		})
	}
	cancel()
	stopping := time.Now()
	if err := <-ended; err != nil {
		t.Errorf("the demo ended with %v", err)
	}
	if took := time.Since(stopping); took > 3*time.Second {
		t.Errorf("stopping took %s", took)
	}
}

// client is the lead's own client.
func (r *workRig) client() *client.Client {
	r.t.Helper()
	g := &globals{sys: Sys{Env: func(string) string { return "" }}, server: r.box.URL, tokenFile: r.lead}
	c, err := g.connect(r.t.Context(), nil, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

func leadBuyer(t *testing.T, p *demo.Providers, saw *witness) *buyer.Buyer {
	t.Helper()
	var specs []buyer.ProviderSpec
	for _, at := range p.At {
		specs = append(specs, buyer.ProviderSpec{Name: at.Name, URL: at.URL})
	}
	b, err := buyer.New(buyer.Options{Providers: specs, KeepSilent: true, Events: func(e acmp.TaskEvent) {
		saw.mu.Lock()
		defer saw.mu.Unlock()
		saw.kinds[e.Kind]++
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = b.Close(ctx)
	})
	return b
}

// overlapSeen wants two live claims, or a claim and a waiting request, on the
// same paths.
func overlapSeen(t *testing.T, c *client.Client) {
	t.Helper()
	until(t, 40*time.Second, "an overlap", func() bool {
		snap, err := c.Snapshot(t.Context())
		if err != nil {
			return false
		}
		for i, a := range snap.Items {
			for _, b := range snap.Items[i+1:] {
				if touched(a) && touched(b) {
					if p, s := acop.Overlaps(a, b); len(p)+len(s) > 0 {
						return true
					}
				}
			}
		}
		return false
	})
}

// touched: somebody holds the item or asks for it.
func touched(i *acop.Item) bool {
	return i.Lease != nil || slices.ContainsFunc(i.Intents, func(n acop.Intent) bool { return n.State == acop.IntentWaiting })
}

// revokedStops revokes a steady worker's claim as the lead.
func revokedStops(t *testing.T, c *client.Client, saw *witness) {
	t.Helper()
	for range 20 {
		snap, err := c.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range snap.Items {
			if h := i.Holder(); h != "agent:heron" && h != "agent:otter" && h != "agent:badger" {
				continue
			}
			worker := i.Holder()
			_, err := c.Do(t.Context(), acop.Act{Verb: acop.VerbRevoke, WorkItemID: i.ID(), ClaimID: i.Lease.Claim.ClaimID,
				Reason: "wrong branch", IfRevision: i.Revision})
			var e *acop.Error
			if errors.As(err, &e) {
				break // it moved on: look again
			}
			if err != nil {
				t.Fatal(err)
			}
			until(t, 15*time.Second, worker+" says that it stopped", func() bool {
				return saw.count(func(e *acop.Event) bool {
					return e.Entry != nil && e.Actor == worker && e.WorkItemID == i.ID() &&
						strings.Contains(e.Entry.Summary, "stopped: claim revoked") && strings.Contains(e.Entry.Details, "wrong branch")
				}) > 0
			})
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Error("no steady worker held a claim")
}
