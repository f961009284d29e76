// Package agents is the fifth screen: the workers with their leases and signs of
// life, and the providers with their reachability, tasks and cost.
//
// For a worker four things are kept apart (C-049): what is left of the lease,
// the last renewal, the last claim heartbeat with its text, and the last evidence
// of progress. A worker that renews and shows no progress says so.
//
// # Concurrency
//
// Everything belongs to the event loop.
//
// # Testing
//
// Build a screen.Ctx, call Update, read View; see agents_test.go.
package agents
