package acop

import "slices"

// EvidenceRow sets one requirement beside what was given for it.
type EvidenceRow struct {
	Requirement ValidationRequirement
	Met         bool
	// Artifacts are those of the requirement's artifact ids that the evidence
	// names too. They are shown, not enforced (D-52).
	Artifacts []string
}

// EvidenceMatch is a completion's evidence held against an item's requirements.
type EvidenceMatch struct {
	Rows []EvidenceRow // in the item's order
	Met  int
	// Extra are results that no requirement asks for.
	Extra []string
}

// Complete reports whether every requirement is met; true when there are none
// (C-030, C-031).
func (m EvidenceMatch) Complete() bool { return m.Met == len(m.Rows) }

// MatchEvidence holds ev against item's requirements: one is met if and only if
// its id is among the validation results (D-52).
func MatchEvidence(item *Item, ev CompletionEvidence) EvidenceMatch {
	m := EvidenceMatch{Rows: make([]EvidenceRow, 0, len(item.ValidationRequirements))}
	asked := make(map[string]bool, len(item.ValidationRequirements))
	for _, r := range item.ValidationRequirements {
		row := EvidenceRow{Requirement: r, Met: slices.Contains(ev.ValidationResults, r.RequirementID)}
		for _, a := range r.ArtifactIDs {
			if slices.Contains(ev.ArtifactIDs, a) {
				row.Artifacts = append(row.Artifacts, a)
			}
		}
		if row.Met {
			m.Met++
		}
		asked[r.RequirementID] = true
		m.Rows = append(m.Rows, row)
	}
	for _, r := range ev.ValidationResults {
		if !asked[r] {
			m.Extra = append(m.Extra, r)
		}
	}
	return m
}

// Evidence holds the evidence an item was completed with against its
// requirements; nothing counts as met before it was completed.
func (i *Item) Evidence() EvidenceMatch {
	if i.Completion == nil {
		return MatchEvidence(i, CompletionEvidence{})
	}
	return MatchEvidence(i, i.Completion.Evidence)
}
