// Package acmp is the buyer: it reaches ACMP providers over Streamable HTTP or
// stdio, invokes their capabilities and tells what happens to each task as a
// sequence of [signalbox/model/acmp.TaskEvent].
//
// It owns the connections and child processes, the life of a task between the
// first send and its one outcome, the transcripts, the journal and the cost
// ledger on disk. It must know nothing of the dashboard, of the owner or of the
// command line.
//
// # How messages travel
//
// MCP's own work (headers, versions, errors, server/discover) is done by the
// MCP SDK. Beneath it a filter reads the bytes of each answer first, takes
// acmp/streamChunk and acmp/heartbeat out, and lets through nothing but
// responses; so a hostile or faulty message ends one task at most, never the
// connection of the others.
//
//	provider --bytes--> filter --responses--> SDK --> runner (one per task)
//	                      \--chunks, heartbeats--> queue (bounded) --> Events
//
// # Concurrency
//
// All methods of [Buyer] may be called from any goroutine. Events of one task
// are delivered in order by one goroutine; events of different tasks at the same
// time. A consumer that stalls stalls the stream it reads from; no chunk is
// dropped. A provider on stdio has one pipe, so there a stalled consumer stalls
// all tasks of that provider.
//
// # Streamed input
//
// A chunk of input has its seq for good once [Buyer.Input] has taken it: it is on
// disk before it is sent, and sent until the provider confirms it, over breaks of the
// link, new sends of the invoke and restarts of the program. The provider ignores
// what it has already, so that nothing is lost and nothing doubled.
//
// # Crashes
//
// The program may be killed at any instant. A journal is written before the first
// send and goes after the outcome is in the ledger; in between, the next run takes the
// task up by sending the same invoke again.
//
// # Testing
//
// The tests use real sockets with a server that writes raw events, and real
// child processes (the test binary itself); what holds over both transports is
// tested over both (overBoth). What depends on time alone runs in
// testing/synctest.
package acmp
