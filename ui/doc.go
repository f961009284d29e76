// Package ui is the dashboard: the only package family that imports charm.land.
//
// It owns the frame around the six screens, the registry of actions, the dialogs
// in front of them and the acts under way. It must not know how the owner or a
// provider is reached: it sees the ports [Owner] and [Buyer] and the read model
// model/fleet.
//
// # How data flows
//
// Facts come in as [FactsMsg] from one pump and change the state; nothing else
// does. A key goes to the dialog, the input line, the screen or the registry, in
// that order. An action opens a dialog or sends an act through a port, carrying
// the id and the revision that were on screen. Its answer is a message; the act
// is shown as requested until the owner's own event confirms it.
//
// A decision is about what was seen: when the target changes while a dialog is
// open, the answer is not taken and the dialog shows what is true now. Renewals
// and heartbeats are no such change, although they move the revision.
//
// # Concurrency
//
// The Model belongs to the event loop. Update and View are pure: no I/O, no
// clock, no goroutine, no lock. Commands read the clock and call the ports, each
// with a deadline.
//
// # Testing
//
// Parts are tested as values; the whole runs on an emulated terminal on a fake
// clock, see ui/uitest.
package ui
