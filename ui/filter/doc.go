// Package filter reads the filter line that every screen shares and matches rows
// against it: words are and-ed, field:value narrows a field, a leading minus
// turns a term around.
//
//	status:ready repo:api agent:worker-7 kind:review blocker:decision older:1h -docs
//
// Values match anywhere in the field, without regard to case; commas separate
// alternatives (status:ready,blocked), quotes keep blanks together. A word whose
// part before the colon is no field is a plain word, because ids hold colons. The
// words of single screens name the same fields: verb: and capability: are kind:,
// author: and actor: are agent:, state: and outcome: are status:.
//
// It knows nothing of screens and styles.
//
// # Concurrency
//
// A [Query] is immutable and may be shared.
//
// # Testing
//
// Tables; no state.
package filter
