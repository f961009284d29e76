// Package feed is the fourth screen: the blackboard's entries as they come, the
// newest at the bottom, with the selected one in full.
//
// Whether an entry is superseded follows from links, not from the status it was
// posted with (C-041): a superseded entry is dimmed and says so, and both ends of
// a link lead to each other.
//
// # Concurrency
//
// Everything belongs to the event loop.
//
// # Testing
//
// Build a screen.Ctx, call Update, read View; see feed_test.go.
package feed
