// Package dialog is the form that stands between a key and an act: what the act
// hits, what it needs to know, and the buttons that answer it.
//
// A Dialog is view state. It knows nothing of owners, tasks or acts: the frame
// fills it, hands it keys and reads the answer. A dialog that opened by itself
// takes no key until none has come for [Quiet]; the frame owns that timer and
// calls [Dialog.Arm].
//
// # Concurrency
//
// All calls come from the event loop.
//
// # Testing
//
// Build a Dialog, call Key, read the Outcome; View is a pure function of it.
package dialog
