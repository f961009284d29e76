// Package acop holds the values and rules of ACOP core: work items, claims,
// blockers, evidence and blackboard entries, the two state machines, the error
// vocabulary and the acts a person or an agent can ask of the owner.
//
// It knows nothing of HTTP, storage, goroutines or the clock: every rule that
// depends on time takes the instant as an argument. The same types are what the
// owner stores, what travels on the wire and what the dashboard reads, so that
// there is one truth on every surface.
//
// # Concurrency
//
// Values are plain data. An [Item] that came out of the owner's projection or
// out of an event is shared and must be treated as immutable: copy it with
// [Item.Clone] before changing it. All functions are pure and safe for
// concurrent use.
//
// # Testing
//
// The state machines are data ([Transitions]) and are tested cell by cell
// against testdata/workitem_matrix.json.
package acop
