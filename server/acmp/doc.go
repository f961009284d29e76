// Package acmp is the provider: it serves capabilities to buyers over ACMP
// layer 1, on MCP's Streamable HTTP and on stdio.
//
// It owns the task table (one entry per task_id, executed at most once), the
// streams of chunks and heartbeats that belong to a running invoke, and the
// processes that serve a capability. The Go MCP SDK carries the requests; the
// four notifications of ACMP, which the SDK does not know, travel beside it: a
// handler in front of the SDK's on HTTP, a filter on lines on stdio. Both write
// through the same guarded writer as the SDK, so that messages never mix.
//
//	invoke --SDK--> checks (D-09) --> table --attach--> task <-- handler (goroutine)
//	                                    ^                |
//	cancel, inputChunk --front/filter---+                +--> waiters: chunks, beats, outcome
//
// A task has one handler and any number of waiters: one per JSON-RPC request
// that asked for it. A waiter comes and goes with its connection; the task lives
// on for its grace time and is found again by its task_id (D-01, D-02).
//
//	running --handler--> completed | failed      first event wins, the rest is
//	   |----cancel----> cancelled                dropped; the outcome is kept
//	   +--deadline----> failed (timeout)
//
// It must not know of buyers, of the owner, of command lines or of screens.
//
// # Concurrency
//
// A [Provider] and a [Task] are safe for concurrent use. A [Handler] runs on a
// goroutine of its own and may block; [Task.Emit] blocks while a slow caller is
// far behind. Everything ends through the context it was given; Close waits for
// it, bounded.
//
// # Testing
//
// Over real sockets and real processes with raw JSON-RPC messages; see the
// harness in harness_test.go.
package acmp
