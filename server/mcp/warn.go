package mcp

import (
	"fmt"

	"signalbox/model/text"
)

// contradiction tells a holder that what it said last does not go with what the
// owner holds true, "" when it does.
func contradiction(h *Held) string {
	if h.Lease == nil {
		return ""
	}
	said := h.Lease.Contradiction()
	if said == "" {
		return ""
	}
	return fmt.Sprintf("%s is %s, but you said %q; complete or release it with %s, or send a heartbeat that says how it stands",
		text.ID(h.Claim.WorkItemID), h.Status, text.Clip(text.Line(said), 60), toolUpdate)
}
