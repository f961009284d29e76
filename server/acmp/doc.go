// Package acmp is the provider: it serves capabilities to buyers over ACMP
// layer 1, on MCP's Streamable HTTP and on stdio.
//
// It owns the task table (one entry per task_id, executed at most once), the
// streams of chunks and heartbeats that belong to a running invoke, the processes
// that serve a capability, the journal that keeps outcomes over a restart (D-12) and
// the quotes of layer 6. It reads ACMP's own messages itself, before the Go MCP SDK,
// which answers all the rest of MCP: a handler in front of the SDK's on HTTP, a filter
// on lines on stdio. Both write through the same guarded writer as the SDK, so that
// messages never mix. [Program] runs a command without a task, with the same guard
// against what might outlive it.
//
//	invoke --envelope, enter--> table --launch: checks (D-09)--> task <-- handler (goroutine)
//	                              ^                                |
//	cancel, inputChunk -----------+                                +--> waiters: chunks, beats, outcome
//
// A task has one handler and any number of waiters: one per JSON-RPC request
// that asked for it. A waiter comes and goes with its connection; the task lives
// on for its grace time and is found again by its task_id (D-01, D-02). With a data
// folder a task runs only once its begin is on the disk, and its answer goes out only
// once its end is; an offer is accepted only once that is.
//
//	running --handler--> completed | failed      first event wins, the rest is
//	   |----cancel----> cancelled                dropped; the outcome is kept
//	   +--deadline----> failed (timeout)
//
// It must not know of buyers, of the owner, of command lines or of screens.
//
// # Concurrency
//
// [Provider.Reload] replaces what is served as a whole; a task keeps what it began
// with. A [Provider] and a [Task] are safe for concurrent use. A [Handler] runs on a
// goroutine of its own and may block; [Task.Emit] blocks while a slow caller is
// far behind. Everything ends through the context it was given; Close waits for
// it, bounded.
//
// # Testing
//
// Over real sockets and real processes with raw JSON-RPC messages; see the
// harness in harness_test.go.
package acmp
