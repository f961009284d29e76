// Package acop is the owner: the one place that says which work exists, who
// holds it and until when. It serves the ACOP HTTP+JSON binding, the extension
// verbs a lead needs, the reads and the event stream.
//
// # Inside
//
// Three layers, each of which knows only the one below:
//
//	HTTP edge    route, credentials, strict JSON, version, idempotency key  (edge*.go, reads*.go, events.go)
//	service      read the projection, decide, commit, decide again          (service.go, sweep.go)
//	decisions    pure: state + caller + act + time -> records or a refusal  (decide*.go)
//
// The log and its projection are signalbox/server/store. Mutual exclusion is the
// log's: a decision names the revision it was based on, and whoever was second
// decides again on the new state.
//
// # What it must not know
//
// No screen, no client, no NATS. Decisions know neither HTTP nor the clock.
//
// # Time
//
// There is one clock, the owner's: the wall clock at start, moved by real time
// that passed since then, so that a step of the wall clock neither ends nor
// prolongs a lease ([Clock]). A lease has ended at the instant its term is over,
// judged at every request; the sweeper only writes that down for everyone.
//
// # Concurrency
//
// A [Server] is safe for use by any number of goroutines. [Server.Run] blocks
// until its context ends; [Server.Close] ends the event streams and refuses new
// acts, so that an http.Server can shut down in bounded time.
//
// # Testing
//
// Decisions are tested as tables over a map. Everything else is tested through
// real sockets on a real log in a temporary folder; time is the [Clock].
package acop
