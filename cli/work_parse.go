package cli

import (
	"encoding/json"
	"maps"
	"slices"

	"signalbox/model/acop"
	"signalbox/model/text"
)

// placeholders stand in the check for what a document may leave out and is filled
// in later.
var placeholders = map[string]any{
	"protocol_version": acop.ProtocolVersion, "work_kind": string(acop.KindImplement),
	"created_at_utc": "2026-01-01T00:00:00.000Z", "producer": "-", "status": string(acop.StatusReady),
	"priority": string(acop.PriorityMedium), "actionability_score": json.Number("0"),
}

// parseDocument checks one document against the schema and reads it. A missing
// score is marked by -1: zero is a score. empty are the members of the work item that
// are given as empty text, which is something else than leaving them out (D-40).
func parseDocument(s *source) (d *acop.Document, empty []string, err error) {
	head, ok := s.value.(map[string]any)
	if !ok {
		return nil, nil, s.errorf(nil, "a document must be a mapping with a work_item, not %s", shown(s.value))
	}
	doc, flat, err := wholeDocument(s, head)
	if err != nil {
		return nil, nil, err
	}
	item, isMapping := doc["work_item"].(map[string]any)
	at := []string{"work_item"}
	if flat {
		at = nil
	}
	if isMapping {
		if id, there := item["work_item_id"]; !there || id == "" {
			needs := "work_item_id"
			if item["work_kind"] == nil {
				needs += " and work_kind"
			}
			return nil, nil, s.errorf(at, "a work item needs %s", needs)
		}
	}
	if err := checkDocument(s, filledIn(doc, item), flat); err != nil {
		return nil, nil, err
	}
	for _, name := range []string{"claim_intent", "claim", "lease_heartbeat"} {
		if _, there := doc[name]; there {
			return nil, nil, s.errorf([]string{name}, "%s cannot be put: the owner makes it when a worker claims", name)
		}
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, nil, s.errorf(nil, "%w", err)
	}
	d = &acop.Document{WorkItem: acop.WorkItem{ActionabilityScore: -1}}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, nil, s.errorf(nil, "the document cannot be read: %s", text.Line(err.Error()))
	}
	for name, v := range item {
		if v == "" {
			empty = append(empty, name)
		}
	}
	slices.Sort(empty)
	return d, empty, nil
}

// wholeDocument gives a work item that stands alone its document. That is what a
// mapping is that has no work_item and a member of one.
func wholeDocument(s *source, head map[string]any) (doc map[string]any, flat bool, err error) {
	if _, whole := head["work_item"]; whole {
		return head, false, nil
	}
	for name := range head {
		if name != "protocol_version" && slices.Contains(workItemMembers(), name) {
			flat = true
		}
	}
	if !flat {
		return nil, false, s.errorf(nil, "work_item is missing; a work item needs work_item_id and work_kind")
	}
	return map[string]any{"work_item": head}, true, nil
}

// filledIn is a copy of doc with placeholders for what is left out.
func filledIn(doc, item map[string]any) map[string]any {
	whole := maps.Clone(doc)
	if _, there := whole["protocol_version"]; !there {
		whole["protocol_version"] = acop.ProtocolVersion
	}
	if item != nil {
		item = maps.Clone(item)
		for name, v := range placeholders {
			if _, there := item[name]; !there {
				item[name] = v
			}
		}
		whole["work_item"] = item
	}
	return whole
}
