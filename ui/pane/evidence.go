package pane

import (
	"slices"

	"signalbox/model/acop"
)

// AlsoGiven lists the validation results that whoever completed the item named and
// nobody required, raw and in their order. A lead who accepts on evidence sees them,
// too: the worker may have called a requirement by another name.
func AlsoGiven(it *acop.Item) []string {
	if it.Completion == nil {
		return nil
	}
	var out []string
	for _, id := range it.Completion.Evidence.ValidationResults {
		if !slices.ContainsFunc(it.ValidationRequirements, func(r acop.ValidationRequirement) bool { return r.RequirementID == id }) {
			out = append(out, id)
		}
	}
	return out
}
