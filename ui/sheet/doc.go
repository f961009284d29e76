// Package sheet shows everything about one work item: state and history,
// blockers both ways, operations, artifacts, requirements beside evidence,
// claims then and now, entries and events.
//
// What the state knows is drawn at once and stays live; what only the owner
// knows (ended claims, the item's events) is drawn once the frame has fetched it
// and is marked with the revision it is as of.
//
// All calls come from the event loop.
package sheet
