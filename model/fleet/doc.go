// Package fleet is the one read model of the program: every screen draws from a
// [State], and a State changes only by [State.Apply] of a [Fact] that came from
// outside. The asks of the queue are derived from it by pure functions.
//
// It does no I/O, starts no goroutine and never reads the clock: "now" is an
// argument. A State has one writer and no lock; in the dashboard that is the
// event loop.
package fleet
