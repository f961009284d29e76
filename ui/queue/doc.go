// Package queue is the home screen: everything that waits for a person, ranked
// by a stated rule, with the context to decide beside it and the live tasks
// below.
//
// It holds cursors and the filter; the asks are derived from the state on every
// call. Nothing here acts: the row under the cursor is the frame's target.
//
// All calls come from the event loop. Tests build a screen.Ctx and read View.
package queue
