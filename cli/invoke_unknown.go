package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	buyer "signalbox/client/acmp"
	"signalbox/model/acmp"
)

// shownCapabilities is how many capabilities a sentence names at most.
const shownCapabilities = 8

// otherCapabilities words what providers list instead of a capability that none of
// them has, the likeliest first; "" where they list nothing, or list it.
func otherCapabilities(asked string, sets ...*acmp.Settings) string {
	var have []string
	for _, set := range sets {
		if _, listed := set.Capability(asked); listed {
			return ""
		}
		if set != nil {
			for _, c := range set.Features.Capabilities {
				have = append(have, c.Name)
			}
		}
	}
	slices.Sort(have)
	have = slices.Compact(have)
	slices.SortStableFunc(have, func(a, b string) int { return cmp.Compare(distance(asked, a), distance(asked, b)) })
	more := ""
	if n := len(have) - shownCapabilities; n > 0 {
		have, more = have[:shownCapabilities], fmt.Sprintf(" and %d more", n)
	}
	for i := range have {
		have[i] = cell(have[i])
	}
	return strings.Join(have, ", ") + more
}

// instead words what the provider has in place of a capability that it refused as
// unknown, as far as it says so within the moment that this may take; else "".
func instead(ctx context.Context, b *buyer.Buyer, asked string, ev *acmp.TaskEvent) string {
	if ev.Err == nil || ev.Err.Code != acmp.CodeCapabilityNotFound {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	set, err := b.Settings(ctx, ev.Provider)
	if err != nil {
		return ""
	}
	have := otherCapabilities(asked, set)
	if have == "" {
		return ""
	}
	return fmt.Sprintf("; %s has %s", cell(ev.Provider), have)
}
