// Package log is the sixth screen: the owner's events, this program's own acts
// and its notes in one list, refused acts too, with filter, follow and export.
//
// The list is as long as the read model keeps it; a filter looks at each line
// once, and at all of them again when an own act was answered.
//
// # Concurrency
//
// Everything belongs to the event loop.
//
// # Testing
//
// Build a screen.Ctx, call Update, read View; see log_test.go.
package log
