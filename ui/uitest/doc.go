// Package uitest runs a Bubble Tea program on an emulated terminal and fakes the
// dashboard's ports. It is used by tests alone.
//
// [Start] must be called inside a synctest bubble: the program then runs on a
// fake clock, so that waiting costs nothing and every run is the same. The
// package does not import ui, so that ui's own tests can use it.
//
// # Concurrency
//
// A [Term] belongs to the test's goroutine. The fakes may be called from many.
package uitest
