package acop

import (
	"net/url"
	"strings"
	"testing"

	core "signalbox/model/acop"
)

// TestIDsFitIntoAnAddress shows that no object can be made that could not be
// named again: the longest id accepted is read back by its path, whatever its
// bytes, and one byte more is refused (C-010, B72).
func TestIDsFitIntoAnAddress(t *testing.T) {
	b := newBox(t, nil)
	for _, unit := range []string{"a", "/", "é"} {
		longest := strings.Repeat(unit, core.MaxIDBytes/len(unit))
		b.want(b.put(longest, nil, nil), 201, "")
		b.want(b.do("GET", "work-items/"+url.PathEscape(longest), "lead-01", nil), 200, "")
		b.want(b.do("PUT", "work-items", "lead-01", body(m{"work_item": workItem(longest+unit, nil)})), 400, "schema_violation")
	}
	entry := m{"work_item_id": strings.Repeat("a", core.MaxIDBytes), "entry_id": strings.Repeat("e", core.MaxIDBytes+1), "entry_kind": "finding",
		"author_agent_uid": "lead-01", "created_at_utc": "2026-05-16T19:10:00Z", "status": "active"}
	b.want(b.do("POST", "blackboard", "lead-01", body(m{"entry": entry})), 400, "schema_violation")
}
