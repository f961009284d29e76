// Package tasks is the third screen: the tasks of this program with their signs
// of life, progress, deadline and cost, and the output of the selected one.
//
// Four things that are often mixed up are drawn apart (promise 3): the sign of
// life (age of the last chunk or heartbeat against three intervals), progress
// (what the provider says), the deadline (time left until timeout_ms) and the
// state. A task that beats without getting on, one that is silent, one that
// counts as dead and one whose stream broke differ in word and glyph, not in
// colour alone. What was not advertised is drawn as absent.
//
// Output keeps its place per task; see package pane.
//
// # Concurrency
//
// Everything belongs to the event loop.
//
// # Testing
//
// Build a screen.Ctx, call Update, read View; see tasks_test.go.
package tasks
