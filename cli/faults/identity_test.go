package faults

import (
	"context"
	"testing"
	"time"

	buyer "signalbox/client/acmp"
	"signalbox/model/acmp"
)

// the buyer learns what a provider calls itself before it has any result.
func TestProviderTellsItsID(t *testing.T) {
	seen := make(chan acmp.Provider, 16)
	b, err := buyer.New(buyer.Options{
		Providers:    []buyer.ProviderSpec{{Name: "p", URL: serve(t, &runs{})}},
		ProviderSeen: func(p acmp.Provider) { seen <- p },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.WithoutCancel(t.Context())) })
	for {
		select {
		case p := <-seen:
			if p.Reachable == nil {
				continue // not looked yet
			}
			if !*p.Reachable || p.ProviderID != "agent:faults:local" {
				t.Errorf("seen: %+v", p)
			}
			return
		case <-time.After(time.Minute):
			t.Fatal("the provider was not seen")
		}
	}
}
